/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - what krait itself takes: its own process and those that it has started, with theirs.
 *
 * Must hold: CPU time only grows, but for what a helper of a helper has used that ended unseen.
 */
#ifndef KRAIT_AGENT_USAGE_H
#define KRAIT_AGENT_USAGE_H

#include <linux/types.h>
#include <sys/types.h>

/* Probers, parser, exporter, server: krait has some ten at most. */
#define USAGE_PROCESSES_MAX 64U

struct usage {
	__u64 cpu_ns; /* since krait began */
	__u64 rss_bytes; /* now; pages that several share count for each */
	unsigned processes;
	pid_t pids[USAGE_PROCESSES_MAX];
	__u64 pid_ns[USAGE_PROCESSES_MAX]; /* what each has used of cpu_ns */
	__u64 pid_start_ticks[USAGE_PROCESSES_MAX]; /* another may have the pid later; 0 unknown */
};

void usage_read(struct usage *ret) __attribute__((nonnull));
/* What cpu_ns is by now, by the processes that there were, for a twentieth of the price. */
__u64 usage_glance(const struct usage *last) __attribute__((nonnull));

#endif /* KRAIT_AGENT_USAGE_H */
