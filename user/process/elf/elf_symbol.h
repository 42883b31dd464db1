/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_symbol.h - finds one symbol by name in an ELF file.
 *
 * First uses the hash table of the dynamic segment: it takes a few reads, and needs no section
 * headers. Then, for a program that exports nothing, scans .symtab; that reads the names once and
 * is linear.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_SYMBOL_H
#define KRAIT_PROCESS_ELF_ELF_SYMBOL_H

#include "process/elf/elf_file.h"

/* The definition of an object. Returns 0, -ENOENT, or -errno. */
int elf_symbol_dynamic(struct elf_file *f, const char *name, Elf64_Sym *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * The definition of a function that the file exports, in the version that programs are linked with today.
 * -EOPNOTSUPP: it is chosen at run time (IFUNC).
 */
int elf_symbol_function(struct elf_file *f, const char *name, Elf64_Sym *ret)
	__attribute__((warn_unused_result, nonnull));
int elf_symbol_tables(struct elf_file *f, const char *name, Elf64_Sym *ret)
	__attribute__((warn_unused_result, nonnull));
/* The definition of a function in .symtab. */
int elf_symbol_function_in_tables(struct elf_file *f, const char *name, Elf64_Sym *ret)
	__attribute__((warn_unused_result, nonnull));
/* All functions of that name in .symtab, up to max: static ones may share it. Returns their number, or -errno. */
int elf_symbol_functions_in_tables(struct elf_file *f, const char *name, Elf64_Sym *ret, int max)
	__attribute__((warn_unused_result, nonnull));
/* The first size - 1 bytes of DT_SONAME, NUL-terminated. Returns 0; -ENOENT: none; -errno. */
int elf_symbol_soname(struct elf_file *f, char *ret, size_t size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_ELF_ELF_SYMBOL_H */
