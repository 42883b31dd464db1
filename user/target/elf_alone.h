/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_alone.h - is the interpreter all there is in a file that has a Python runtime?
 *
 * The file's name says nothing: interpreters are copied and renamed, and a program that embeds
 * Python may be called anything. A library is libpython if its own build called it so (DT_SONAME).
 * A program is the interpreter if its main() does nothing but call Py_BytesMain() or Py_Main(), as
 * CPython's Programs/python.c. Everything else may have code of its own besides.
 */
#ifndef KRAIT_TARGET_ELF_ALONE_H
#define KRAIT_TARGET_ELF_ALONE_H

#include <stdbool.h>

struct elf_file;

/* False: no, or it cannot be told (main() is found on x86-64 only). */
bool elf_is_alone(struct elf_file *f) __attribute__((nonnull));

#endif /* KRAIT_TARGET_ELF_ALONE_H */
