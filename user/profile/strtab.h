/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtab.h - distinct strings, numbered from 1; 0 is the empty string.
 *
 * Must hold: a text does not move until strtab_free(), so callers may keep pointers to it.
 */
#ifndef KRAIT_PROFILE_STRTAB_H
#define KRAIT_PROFILE_STRTAB_H

#include <linux/types.h>
#include <stddef.h>

#include "profile/idindex.h"

/* What a string takes up besides its text: its place in the list and in the index. */
#define STRTAB_OVERHEAD 32

struct strtab_block;

struct strtab {
	const char **texts; /* by id */
	__u8 *owners; /* by id: who paid */
	__u32 cnt, cap; /* ids assigned, including 0 */
	struct idindex index;
	struct strtab_block *blocks; /* newest first; they contain the bytes */
	__u64 seed; /* random, so that no target can choose colliding names */
};

/* Returns 0 or -ENOMEM; free it in either case. */
int strtab_init(struct strtab *t);
void strtab_free(struct strtab *t);
/* The id; 0: not present (or empty). */
__u32 strtab_find(const struct strtab *t, const char *text, size_t len);
/* The id; 0 for the empty string, and if out of memory. Has no limit of its own. */
__u32 strtab_add(struct strtab *t, const char *text, size_t len, unsigned owner);
const char *strtab_text(const struct strtab *t, __u32 id);

#endif /* KRAIT_PROFILE_STRTAB_H */
