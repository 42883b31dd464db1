/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quota.h - who holds how much of a limited resource.
 *
 * An owner is a bucket of processes by host uid; 0 is root's. bpf/share.h defines who may take what
 * and how uids map to buckets: the largest holder is refused first, root keeps a reserve, a
 * newcomer finds room.
 *
 * Must hold: the sum of all holdings never exceeds the total.
 */
#ifndef KRAIT_BASE_SHARE_QUOTA_H
#define KRAIT_BASE_SHARE_QUOTA_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/share.h"

/* Formats "root", "user 1000" or, if several share the bucket, "user 1000 and others". */
void owner_name(const struct owner_table *t, unsigned owner, char *buf, size_t size);

/* A new table in which nobody can foresee the places. */
void owner_table_init(struct owner_table *t);

struct quota;

/* All owners but root leave root_reserve of the total to root. Returns NULL if out of memory. */
struct quota *quota__new(__u64 total, __u64 root_reserve);
void quota__free(struct quota *q);

/*
 * Takes n for the owner. Returns -EDQUOT, and counts the refusal, if the owner may not have that
 * much at present: it must give something back first.
 */
int quota__take(struct quota *q, unsigned owner, __u64 n) __attribute__((warn_unused_result));
void quota__give(struct quota *q, unsigned owner, __u64 n);

__u64 quota__total(const struct quota *q);
__u64 quota__held(const struct quota *q, unsigned owner);
__u64 quota__held_by_all(const struct quota *q);
/* Returns how often the owner was refused. */
__u64 quota__refused(const struct quota *q, unsigned owner);
/* Does the owner hold something of any quota, or was it ever refused any? */
bool quota_knows(unsigned owner);

#endif /* KRAIT_BASE_SHARE_QUOTA_H */
