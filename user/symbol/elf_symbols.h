/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_symbols.h - names of the code in one ELF file, by offset in that file.
 *
 * elfutils finds them: the symbol table, the one inside .gnu_debugdata, and separate debug files by
 * build ID or debug link. Nothing is fetched from the network. Stubs for functions of other files are
 * "memcpy@plt" (plt.h).
 */
#ifndef KRAIT_SYMBOL_ELF_SYMBOLS_H
#define KRAIT_SYMBOL_ELF_SYMBOLS_H

#include <linux/types.h>
#include <stdbool.h>

#define BUILD_ID_MAX 20

struct elf_symbols;

/* Of the file that path leads to; name: what it is called, for debug links. 0 or -errno. */
int elf_symbols__new(struct elf_symbols **ret, const char *path, const char *name)
	__attribute__((warn_unused_result, nonnull));
void elf_symbols__free(struct elf_symbols *s);

/* The symbol that covers the offset, as it is in the file, or NULL; valid until free. */
const char *elf_symbols__find(struct elf_symbols *s, __u64 file_offset, __u64 *ret_start)
	__attribute__((nonnull));

/*
 * Where the return address is when the code at that offset has not made a frame of its own: words
 * above the stack pointer. -1 where it has, or nothing is known (.eh_frame).
 */
int elf_symbols__return_word(struct elf_symbols *s, __u64 file_offset) __attribute__((nonnull));

/* Bytes of the build ID, up to BUILD_ID_MAX; 0 none. */
unsigned elf_symbols__build_id(struct elf_symbols *s, __u8 ret[BUILD_ID_MAX])
	__attribute__((nonnull));

#endif /* KRAIT_SYMBOL_ELF_SYMBOLS_H */
