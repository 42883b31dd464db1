/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - what krait itself takes: its own process and those that it has started, with theirs.
 *
 * Must hold: CPU time only grows, but for what a helper of a helper has used that ended unseen.
 */
#ifndef KRAIT_AGENT_USAGE_H
#define KRAIT_AGENT_USAGE_H

#include <linux/types.h>

struct usage {
	__u64 cpu_ns; /* since krait began */
	__u64 rss_bytes; /* now; pages that several share count for each */
	unsigned processes;
};

void usage_read(struct usage *ret) __attribute__((nonnull));

#endif /* KRAIT_AGENT_USAGE_H */
