/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mentions.h - a few of many processes or threads, for a message that names them: those that a
 * filter leaves out, say, where it leaves nothing.
 */
#ifndef KRAIT_BASE_TEXT_MENTIONS_H
#define KRAIT_BASE_TEXT_MENTIONS_H

#include <linux/types.h>
#include <stddef.h>

/* Those that are named; of the others only the number is said. */
#define MENTIONS_NAMED 5

/* All zero: none. */
struct mentions {
	struct mention {
		int id;
		char name[64];
		__u64 weight;
	} most[MENTIONS_NAMED + 1]; /* by weight; the last element no longer counts */
	unsigned cnt;
};

/* name: printable; weight: its samples, say; 0: it does not count. */
void mentions_add(struct mentions *m, int id, const char *name, __u64 weight)
	__attribute__((nonnull));
void mentions_join(struct mentions *m, const struct mentions *more) __attribute__((nonnull));
/* "12 python3, 34 cron and 5 more" */
void mentions_say(const struct mentions *m, char *buf, size_t size) __attribute__((nonnull));

#endif /* KRAIT_BASE_TEXT_MENTIONS_H */
