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

/* Bytes of text in one table: a million long names; what comes after has id 0. */
#define STRTAB_MAX_BYTES (256UL << 20)

struct strtab_block;

struct strtab {
	const char **texts; /* by id */
	__u32 cnt, cap; /* ids given out, 0 included */
	struct idindex index;
	struct strtab_block *blocks; /* the newest first; they hold the bytes */
	size_t bytes;
	__u64 seed; /* so that no target can choose names that collide */
};

int strtab_init(struct strtab *t);
void strtab_free(struct strtab *t);
/* The id; 0 for the empty string, and when out of memory. */
__u32 strtab_add(struct strtab *t, const char *text, size_t len);
const char *strtab_text(const struct strtab *t, __u32 id);

#endif /* KRAIT_PROFILE_STRTAB_H */
