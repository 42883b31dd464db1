/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt.h - the stubs of the procedure linkage table, through which code of one ELF file calls functions
 * of others. No symbol table has them; they are named as perf and objdump do: "memcpy@plt".
 *
 * A stub jumps to what a word of the global offset table has, and a relocation says whose address the
 * dynamic loader writes into that word. So the sections .plt, .plt.sec and .plt.got, of lazy and of
 * eager linking, with and without marks for indirect branches, are all read the same way. x86-64 only:
 * other machines' stubs have no names.
 */
#ifndef KRAIT_SYMBOL_PLT_H
#define KRAIT_SYMBOL_PLT_H

#include <gelf.h>
#include <stdbool.h>

struct plt;

/* Of a file that stays open at least as long. NULL when out of memory; a file without stubs has none. */
struct plt *plt__new(Elf *elf) __attribute__((warn_unused_result, nonnull));
void plt__free(struct plt *p);

/*
 * The name of the stub that has the address, which is one of the file's own, without load bias; NULL
 * none. Valid until free.
 */
const char *plt__find(struct plt *p, GElf_Addr address, GElf_Addr *ret_start)
	__attribute__((nonnull));

/* Is the address in one of those sections, named or not? */
bool plt__covers(const struct plt *p, GElf_Addr address) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_PLT_H */
