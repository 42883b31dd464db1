/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwanted.h - processes or threads that a filter leaves out, for the message that says which there
 * were when it leaves nothing.
 */
#ifndef KRAIT_PROFILE_UNWANTED_H
#define KRAIT_PROFILE_UNWANTED_H

#include <linux/types.h>
#include <stddef.h>

/* Those that are named; of the others only the number is said. */
#define UNWANTED_NAMED 5

/* All zero: none. */
struct unwanted {
	struct unwanted_one {
		int id;
		char name[64];
		__u64 samples;
	} most[UNWANTED_NAMED + 1]; /* most samples first; the last element no longer counts */
	unsigned cnt;
};

/* name: printable; samples: 0: it does not count. */
void unwanted_add(struct unwanted *u, int id, const char *name, __u64 samples)
	__attribute__((nonnull));
void unwanted_join(struct unwanted *u, const struct unwanted *more) __attribute__((nonnull));
/* "12 python3, 34 cron and 5 more" */
void unwanted_say(const struct unwanted *u, char *buf, size_t size) __attribute__((nonnull));

#endif /* KRAIT_PROFILE_UNWANTED_H */
