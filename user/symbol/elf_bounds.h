/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_bounds.h - is a file too large for elfutils, which reads every symbol that a file claims to have and unpacks
 * all compressed sections?
 *
 * Must hold: reads headers only, and 64 KiB of the end of what is packed.
 */
#ifndef KRAIT_SYMBOL_ELF_BOUNDS_H
#define KRAIT_SYMBOL_ELF_BOUNDS_H

#include <stdbool.h>

/* The largest files have 300,000 symbols, and distributions' .gnu_debugdata has 1 MiB unpacked. */
#define ELF_SYMBOLS_MAX 1000000
#define ELF_DEBUGDATA_MAX (64U << 20)

/* Of a file, and of one with its debug information, or -1. What is no ELF file is not too much. */
bool elf_bounds_exceeded(int fd, int debug_fd);

#endif /* KRAIT_SYMBOL_ELF_BOUNDS_H */
