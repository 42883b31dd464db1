/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_runtime.h - what an ELF file says about the Python runtime in it.
 *
 * A file has a runtime if it has a section .PyRuntime or defines the symbol _PyRuntime; its name
 * does not matter. From 3.13 on the runtime begins with the table of debug offsets, whose bytes the
 * linker wrote, so they can be read without any process.
 *
 * Must hold: these are claims of a file; check them against live memory before use.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_RUNTIME_H
#define KRAIT_PROCESS_ELF_ELF_RUNTIME_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "process/elf/elf_entries.h"
#include "process/proc/file_id.h"
#include "python/layout/py_offsets.h"

/* GNU ld writes 20 bytes, lld up to 20, Go and custom linkers up to 32. */
#define ELF_BUILD_ID_MAX 32

struct elf_runtime {
	struct file_id id; /* set by elf_cache.h */
	__u64 runtime_vaddr; /* link-time address of _PyRuntime */
	__u64 load_vaddr; /* link-time address of file offset 0 */
	__u64 code_vaddr; /* corresponds to mm->start_code: the lowest executable segment */
	__u64 table_off; /* of the table, in the file */
	__u32 entry_cnt; /* of entries: functions that start a library's interpreter */
	struct elf_entry entries[ELF_ENTRIES_MAX];
	__u32 py_version; /* PY_VERSION_HEX (elf_version.h), 0 unknown; only if there is no table */
	bool debug; /* built --with-pydebug: counts references */
	bool alone; /* the interpreter is all that the file has (elf_runtime.c) */
	__u32 table_len; /* bytes in table; 0 if the file does not contain them */
	__u32 build_id_len;
	__u8 build_id[ELF_BUILD_ID_MAX];
	__u8 table[PY_TABLE_MAX];
	/* Not from the file: offsets without a table that a process has proved (elf_cache__keep()). */
	struct py_offsets proved;
	enum py_source proved_by;
};

struct elf_file;

/* Fills in only the build ID, if there is one. Returns 0 or -errno. */
int elf_runtime_build_id(struct elf_file *f, struct elf_runtime *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * Reads all from a descriptor, which stays open. *ret is undefined on failure.
 *  0         *ret is filled
 *  -ENOEXEC  not an acceptable ELF file
 *  -ENOENT   no runtime in it
 *  -ENODATA  malformed; or -errno
 */
int elf_runtime_read(int fd, struct elf_runtime *ret) __attribute__((warn_unused_result, nonnull));

/* The address of the runtime if file offset 0 is mapped at base_addr. */
static inline __u64 elf_runtime_addr(const struct elf_runtime *e, __u64 base_addr)
{
	return base_addr + (e->runtime_vaddr - e->load_vaddr);
}

#endif /* KRAIT_PROCESS_ELF_ELF_RUNTIME_H */
