/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_chain.h - converts a stack of the dictionary to a sample's call chain: addresses leaf
 * first, with perf's markers where it changes between kernel and user.
 *
 * A frame that has an address keeps it; the DSO assigns one to any other. The last stack is
 * remembered: the next one is often the same, or has the same callers.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_WRITE_CHAIN_H
#define KRAIT_CAPTURE_PERFDATA_WRITE_CHAIN_H

#include <linux/types.h>
#include <stdbool.h>

#include "capture/dso/kernel_names.h"
#include "capture/dso/native_names.h"

struct chain_step;
struct dict;
struct dso;
struct space;

/* All zero initially. */
struct chain {
	__u64 *list; /* list[0] is a marker; stored at the end of room */
	__u32 cnt;
	__u64 *room, *leaves; /* leaves: the new part, while it is built */
	struct chain_step *path; /* indexed by depth */
	__u32 cap; /* of these three */
	__u32 node, depth; /* of the stack */
	__u32 image; /* frame of the process, which differs if its name has changed */
	__u32 max_depth; /* over all so far, including markers */
	bool has_kernel; /* some chain had kernel addresses */
	bool in_user; /* the last address was not the kernel's */
	/* Names met so far, for readers who may not be able to find them later. */
	struct kernel_names kernel_names;
	struct native_names native_names;
};

/*
 * Builds the chain of that node, which has at least one address. space: of the process, NULL:
 * unknown. Returns 0 or -ENOMEM.
 */
int chain_build(struct chain *c, const struct dict *dict, struct dso *dso,
		const struct space *space, __u32 node) __attribute__((warn_unused_result));
void chain_free(struct chain *c);
/* Names met so far, plus names that became known later: only grows. */
__u32 chain_name_cnt(const struct chain *c, const struct dict *dict);

#endif /* KRAIT_CAPTURE_PERFDATA_WRITE_CHAIN_H */
