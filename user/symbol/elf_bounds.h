/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_bounds.h - is a file too large for elfutils, which reads every symbol that a file claims to
 * have and unpacks all compressed sections?
 *
 * Must hold: reads only headers, and the last 64 KiB of compressed data.
 */
#ifndef KRAIT_SYMBOL_ELF_BOUNDS_H
#define KRAIT_SYMBOL_ELF_BOUNDS_H

#include <stdbool.h>

/* The largest files have 300,000 symbols, and distributions' .gnu_debugdata unpacks to 1 MiB. */
#define ELF_SYMBOLS_MAX 1000000
#define ELF_DEBUGDATA_MAX (64U << 20)

/* For a file, and one with its debug information, or -1. What is not an ELF file is not too large. */
bool elf_bounds_exceeded(int fd, int debug_fd);

#endif /* KRAIT_SYMBOL_ELF_BOUNDS_H */
