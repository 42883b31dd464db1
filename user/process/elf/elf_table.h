/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_table.h - a table that an ELF file publishes in a section of its own (published.h).
 *
 * Must hold: these are claims of a file, as in elf_runtime.h.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_TABLE_H
#define KRAIT_PROCESS_ELF_ELF_TABLE_H

#include "python/layout/published.h"

struct elf_file;

struct elf_table {
	__u64 vaddr; /* link-time address of the table */
	__u64 load_vaddr; /* of file offset 0 */
	__u32 len; /* as published_infos says */
	__u32 unused;
	__u8 bytes[PUBLISHED_SIZE_MAX];
};

/*
 * The link-time address of a loaded, writable section with that name. Returns 0, -ENOENT, or
 * -errno.
 */
int elf_section_find(struct elf_file *f, const char *name, __u64 *ret_vaddr)
	__attribute__((warn_unused_result, nonnull));
/*
 * The link-time address at which file offset 0 is mapped. The kernel and the loader map whole
 * pages, so a segment covers offset 0 if it begins within the first page. Returns 0 or -ENOENT.
 */
int elf_load_vaddr(const struct elf_file *f, __u64 *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * Returns 0; -ENOEXEC: not an acceptable ELF file, -ENOENT: no such table, -ENODATA: malformed,
 * -errno.
 */
int elf_table_read(int fd, enum published_kind kind, struct elf_table *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_ELF_ELF_TABLE_H */
