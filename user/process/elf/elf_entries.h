/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_entries.h - the functions of a file in which an interpreter starts.
 *
 * Must hold: uses only the file; a probe is placed there, in every process that maps it.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_ENTRIES_H
#define KRAIT_PROCESS_ELF_ELF_ENTRIES_H

#include <linux/types.h>

#define ELF_ENTRIES_MAX 6

struct elf_file;

struct elf_entry {
	__u64 offset; /* in the file */
	__u64 runtime_delta; /* &_PyRuntime - the function, modulo 2^64 */
};

/*
 * Finds every exported function through which a program can reach Py_InitializeFromConfig(), at
 * most ELF_ENTRIES_MAX. runtime_vaddr: link-time address of _PyRuntime. Returns their number.
 */
__u32 elf_entries_find(struct elf_file *f, __u64 runtime_vaddr, struct elf_entry *ret)
	__attribute__((nonnull));

#endif /* KRAIT_PROCESS_ELF_ELF_ENTRIES_H */
