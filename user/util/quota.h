/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quota.h - who holds how much of something that there is only so much of.
 *
 * An owner is a bucket for the processes of one host uid, 0 is root's. The rule of who may take what,
 * and which uid has which bucket, are those of bpf/share.h: the largest holder is refused first, root
 * keeps a reserve, a newcomer finds room.
 *
 * Must hold: what is held by all is the sum of what each holds, and never more than the total.
 */
#ifndef KRAIT_UTIL_QUOTA_H
#define KRAIT_UTIL_QUOTA_H

#include <linux/types.h>
#include <stddef.h>

#include "share.h"

/* "root", "user 1000" or, where several share the bucket, "user 1000 and others". */
void owner_name(const struct owner_table *t, unsigned owner, char *buf, size_t size);

struct quota;

/* All owners but root leave root_reserve of the total to it. NULL when out of memory. */
struct quota *quota__new(__u64 total, __u64 root_reserve);
void quota__free(struct quota *q);

/*
 * Takes n for the owner. -EDQUOT when that is more than it may have now, and counts that: either it
 * gives something back, or the caller takes it from quota__largest().
 */
int quota__take(struct quota *q, unsigned owner, __u64 n) __attribute__((warn_unused_result));
void quota__give(struct quota *q, unsigned owner, __u64 n);

/* Whoever holds most, of those who hold anything; the owner with the lower number of several. */
unsigned quota__largest(const struct quota *q);
__u64 quota__total(const struct quota *q);
__u64 quota__held(const struct quota *q, unsigned owner);
__u64 quota__held_by_all(const struct quota *q);
/* How many times the owner was refused. */
__u64 quota__refused(const struct quota *q, unsigned owner);

#endif /* KRAIT_UTIL_QUOTA_H */
