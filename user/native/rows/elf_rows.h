/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_rows.h - the rows of an ELF file, by offset in the file: from its .eh_frame, the one from
 * before BOLT, and .debug_frame for what these lack.
 *
 * Must hold: the file is untrusted, and may change while it is read: bounded reads (elf_file.h), a
 * private copy, bounded instructions. krait calls it in a parser only.
 */
#ifndef KRAIT_NATIVE_ROWS_ELF_ROWS_H
#define KRAIT_NATIVE_ROWS_ELF_ROWS_H

#include "native/rows/row_table.h"

/* The largest sections have 40 MiB. */
#define ELF_ROWS_SECTION_MAX (96U << 20)

/*
 * Returns 0; -ENODATA: it has no such section; -ENOEXEC: not an ELF file; -E2BIG: too much of
 * something; -errno.
 */
int elf_rows(int fd, struct row_table *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_NATIVE_ROWS_ELF_ROWS_H */
