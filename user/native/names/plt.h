/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt.h - the stubs of the procedure linkage table, through which code of one ELF file calls
 * functions of others. They are in no symbol table; as in perf and objdump their names are like
 * "memcpy@plt".
 *
 * A stub jumps to the address in a word of the global offset table, and a relocation says whose
 * address the dynamic loader stores there. So the sections .plt, .plt.sec and .plt.got, for lazy
 * and eager linking, with and without branch-tracking marks, are all read the same way. x86-64
 * only: stubs on other machines have no names.
 */
#ifndef KRAIT_NATIVE_NAMES_PLT_H
#define KRAIT_NATIVE_NAMES_PLT_H

#include <gelf.h>
#include <stdbool.h>

struct plt;

/* For a file that outlives it. NULL: out of memory; a file without stubs has none. */
struct plt *plt__new(Elf *elf) __attribute__((warn_unused_result, nonnull));
void plt__free(struct plt *p);

/*
 * The name of the stub that contains the address (the file's own, without load bias); NULL: none.
 * Valid until free.
 */
const char *plt__find(struct plt *p, GElf_Addr address, GElf_Addr *ret_start)
	__attribute__((nonnull));

/* Is the address in one of those sections, whether the stub has a name or not? */
bool plt__covers(const struct plt *p, GElf_Addr address) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_PLT_H */
