/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - what krait itself uses: its own process, those that it has started, and their children.
 *
 * Must hold: CPU time only grows, except when a helper's helper has ended without being seen.
 */
#ifndef KRAIT_AGENT_USAGE_H
#define KRAIT_AGENT_USAGE_H

#include <linux/types.h>
#include <sys/types.h>

/* Probers, parsers, exporter, server: krait has some ten at most. */
#define USAGE_PROCESSES_MAX 64U

struct usage {
	/*
	 * The caller may name a child whose time is told apart, and another one once that has ended;
	 * 0: none. Zero initially.
	 */
	pid_t apart_pid;
	__u64 apart_ns; /* since krait began; as far as was seen before each one's end */
	__u64 apart_past_ns; /* the part of it that earlier ones have used */
	__u64 cpu_ns; /* since krait began, without what is told apart */
	__u64 rss_bytes; /* now; pages shared by several count for each */
	unsigned processes;
	pid_t pids[USAGE_PROCESSES_MAX];
	__u64 pid_ns[USAGE_PROCESSES_MAX]; /* each one's part of cpu_ns */
	/* a later process may get the same pid; 0 unknown */
	__u64 pid_start_ticks[USAGE_PROCESSES_MAX];
};

/* *usage: what was read last. */
void usage_read(struct usage *usage) __attribute__((nonnull));
/* Other children of krait's are told apart from now on. */
void usage_tell_apart(struct usage *usage, pid_t pid) __attribute__((nonnull));
/* The current value of cpu_ns for the processes known from last, at a twentieth of the cost. */
__u64 usage_glance(const struct usage *last) __attribute__((nonnull));

#endif /* KRAIT_AGENT_USAGE_H */
