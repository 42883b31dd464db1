/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_chain.h - a stack of the dictionary as the call chain of a sample: addresses leaf first, with
 * perf's markers where it changes between kernel and user.
 *
 * A frame that has an address keeps it; to any other the DSO gives one. What stack it was is remembered:
 * mostly the next one is the same, or has the same callers.
 */
#ifndef KRAIT_PERFDATA_WRITE_CHAIN_H
#define KRAIT_PERFDATA_WRITE_CHAIN_H

#include <linux/types.h>
#include <stdbool.h>

#include "dso/kernel_names.h"
#include "dso/native_names.h"

struct chain_step;
struct dict;
struct dso;
struct space;

/* All zero at first. */
struct chain {
	__u64 *list; /* list[0] is a marker; in room, at its end */
	__u32 cnt;
	__u64 *room, *leaves; /* leaves: what is new, while it is made */
	struct chain_step *path; /* by depth */
	__u32 cap; /* of these three */
	__u32 node, depth; /* what it is of */
	__u32 image; /* frame of its process */
	__u32 max_depth; /* of all so far, markers included */
	bool has_kernel; /* one so far had addresses of the kernel */
	bool in_user; /* the last address was not the kernel's */
	/* That were met, for those who may not know later. */
	struct kernel_names kernel_names;
	struct native_names native_names;
};

/*
 * The chain of that node, which has at least one address. space: of the process, NULL unknown. 0 or
 * -ENOMEM.
 */
int chain_build(struct chain *c, const struct dict *dict, struct dso *dso,
		const struct space *space, __u32 node) __attribute__((warn_unused_result));
void chain_free(struct chain *c);
/* How many names it has met, and how many of them were known later: it only grows. */
__u32 chain_name_cnt(const struct chain *c, const struct dict *dict);

#endif /* KRAIT_PERFDATA_WRITE_CHAIN_H */
