/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.h - bounded reads of an untrusted ELF file.
 *
 * Reads only what is needed, with pread(): no mmap (a file truncated while mapped is SIGBUS), no
 * allocation, and nothing that grows with a number from the file. Every read is paid from one
 * budget per file, so whatever its headers say, examining it ends soon. Accepts only 64-bit files
 * of our own byte order: krait attaches to nothing else.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_FILE_H
#define KRAIT_PROCESS_ELF_ELF_FILE_H

#include <elf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Linkers make about 15. */
#define ELF_PHDRS_MAX 64
/* Bytes to read from one file; the largest unstripped symbol tables seen are about 60 MiB. */
#define ELF_READ_BUDGET (128U << 20)
/* What a read costs besides its bytes, which bounds the number of reads, too. */
#define ELF_READ_COST 512

struct elf_file {
	int fd; /* borrowed */
	__u64 size;
	__u64 budget;
	Elf64_Ehdr ehdr;
	unsigned phdr_cnt;
	Elf64_Phdr phdrs[ELF_PHDRS_MAX];
};

/* Returns 0; -ENOEXEC: not a regular file or not an acceptable ELF file; -errno if reading fails. */
int elf_file_init(struct elf_file *ret, int fd) __attribute__((warn_unused_result, nonnull));

/* Reads exactly len bytes at off. Returns 0; -ENODATA: past the end, -E2BIG: over budget, -errno. */
int elf_file_read(struct elf_file *f, __u64 off, void *buf, size_t len)
	__attribute__((warn_unused_result, nonnull));

/* The loadable segment that contains vaddr, in memory but not necessarily in the file; or NULL. */
const Elf64_Phdr *elf_file_segment(const struct elf_file *f, __u64 vaddr) __attribute__((nonnull));

/* The file offset of vaddr, and how many bytes of its segment follow in the file. */
bool elf_file_offset(const struct elf_file *f, __u64 vaddr, __u64 *ret_off, __u64 *ret_len)
	__attribute__((nonnull));

/* Reads at a link-time address. As elf_file_read(); -ENODATA if the file has no such bytes. */
int elf_file_read_vaddr(struct elf_file *f, __u64 vaddr, void *buf, size_t len)
	__attribute__((warn_unused_result, nonnull));

/* Section header i. -ENODATA past the last one. */
int elf_file_section(struct elf_file *f, unsigned i, Elf64_Shdr *ret)
	__attribute__((warn_unused_result, nonnull));

/* Does the NUL-terminated string at file offset off equal s? s shorter than 256 bytes. */
bool elf_file_string_is(struct elf_file *f, __u64 off, const char *s) __attribute__((nonnull));
/*
 * The next section of that name, from number *i on, which becomes the number after it. Returns 0; -ENOENT: there are no more, or
 * no names; -ENODATA: malformed; -errno.
 */
int elf_file_section_named(struct elf_file *f, const char *name, unsigned *i, Elf64_Shdr *ret)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_ELF_ELF_FILE_H */
