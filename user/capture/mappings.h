/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.h - where in a process of a capture which object is.
 */
#ifndef KRAIT_CAPTURE_MAPPINGS_H
#define KRAIT_CAPTURE_MAPPINGS_H

#include <linux/types.h>

struct mapping {
	__u64 start, size, offset;
	__u32 object; /* its number, by objects__find() */
};

/* Of one process. All zero is none. */
struct mappings {
	struct mapping *list; /* by start; a later one takes the place of those it overlaps */
	unsigned cnt, cap;
};

/* 0, -ENOMEM, -E2BIG; -EINVAL: it makes no sense. */
int mappings_add(struct mappings *m, const struct mapping *new) __attribute__((warn_unused_result));
int mappings_copy(struct mappings *to, const struct mappings *from)
	__attribute__((warn_unused_result));
void mappings_free(struct mappings *m);
/* The one that has an address, NULL if there is none. */
const struct mapping *mappings_find(const struct mappings *m, __u64 address);

#endif /* KRAIT_CAPTURE_MAPPINGS_H */
