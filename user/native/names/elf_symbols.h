/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_symbols.h - names of the code in one ELF file, by offset in that file.
 *
 * elfutils finds them: in the symbol table, the one inside .gnu_debugdata, and that of a separate
 * debug file. Nothing is opened or fetched here: both files come as descriptors. Stubs for
 * functions of other files are named "memcpy@plt" (plt.h).
 *
 * Must hold: the file is untrusted. It may be truncated while it is mapped, and make the parser run
 * for long or crash, so krait calls this in a parser only (parser_jobs.h); fuzzers and tests may.
 */
#ifndef KRAIT_NATIVE_NAMES_ELF_SYMBOLS_H
#define KRAIT_NATIVE_NAMES_ELF_SYMBOLS_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/data/source_frame.h"

#define BUILD_ID_MAX 20

struct elf_symbols;

/*
 * For an open file; debug_fd: a file with its debug information, used if it has the same build ID,
 * or -1. The caller keeps both. Returns 0; -ENOEXEC: not an ELF file, or too large; -errno.
 */
int elf_symbols__new(struct elf_symbols **ret, int fd, int debug_fd)
	__attribute__((warn_unused_result, nonnull));
void elf_symbols__free(struct elf_symbols *s);

/* What is the same for all offsets from start up to end. */
struct elf_place {
	__u64 start, end;
	const char *name; /* as in the file; NULL: none; valid until free */
	__u64 symbol_start; /* start of the symbol with that name */
	bool is_python; /* CPython's own code (symbol_ranges.c) */
};

/* What is at that offset; [start, end) always contains it. */
void elf_symbols__place(struct elf_symbols *s, __u64 file_offset, struct elf_place *ret)
	__attribute__((nonnull));

/* Source lines and inlined functions at that offset, as dwarf_source__find(). */
unsigned elf_symbols__source(struct elf_symbols *s, __u64 file_offset, struct source_frame *ret,
			     bool *ret_is_split) __attribute__((nonnull));

/* Has the file its own symbol table? */
bool elf_symbols__has_table(struct elf_symbols *s) __attribute__((nonnull));

/* The build ID, up to BUILD_ID_MAX bytes. Returns its length; 0: none. */
unsigned elf_symbols__build_id(struct elf_symbols *s, __u8 ret[BUILD_ID_MAX])
	__attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_ELF_SYMBOLS_H */
