/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtab.h - distinct strings, numbered from 1; 0 is the empty string.
 *
 * Must hold: a text keeps its address until strtab_free(), so callers may hold on to it.
 */
#ifndef KRAIT_PROFILE_STRTAB_H
#define KRAIT_PROFILE_STRTAB_H

#include <linux/types.h>
#include <stddef.h>

#include "profile/idindex.h"

/* What one string takes up beside its text: its place in the list, and in the index. */
#define STRTAB_OVERHEAD 32

struct strtab_block;

struct strtab {
	const char **texts; /* by id */
	__u8 *owners; /* by id: who paid for it */
	__u32 cnt, cap; /* ids given out, 0 included */
	struct idindex index;
	struct strtab_block *blocks; /* the newest first; they hold the bytes */
	__u64 seed; /* so that no target can choose names that collide */
};

/* 0 or -ENOMEM; to be freed in any case. */
int strtab_init(struct strtab *t);
void strtab_free(struct strtab *t);
/* The id, 0 when it is not there (or empty). */
__u32 strtab_find(const struct strtab *t, const char *text, size_t len);
/* The id; 0 for the empty string, and when out of memory. Nothing here limits what is added. */
__u32 strtab_add(struct strtab *t, const char *text, size_t len, unsigned owner);
const char *strtab_text(const struct strtab *t, __u32 id);

#endif /* KRAIT_PROFILE_STRTAB_H */
