/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_totals.h - CPU time by service and by process since the agent began, for /metrics: few rows,
 * whatever processes there are.
 *
 * Must hold: all rows and what was left out add up to all that was added. A service that a user's
 * processes claim to be is that user's: it shares no row with another's. Who has most rows loses
 * one first, so that no user's processes drive out those of others.
 */
#ifndef KRAIT_AGENT_CPU_TOTALS_H
#define KRAIT_AGENT_CPU_TOTALS_H

#include <linux/types.h>
#include <stdio.h>
#include <sys/types.h>

/* Rows of each kind: Prometheus keeps a series for each. */
#define CPU_TOTALS_MAX 256U

struct cpu_total {
	char *service;
	uid_t uid;
	int pid; /* 0: a service's row */
	__u64 ns;
	__u64 window; /* in which it was last seen */
	unsigned held; /* rows of its user in this table */
};

struct cpu_table {
	struct cpu_total rows[CPU_TOTALS_MAX];
	unsigned cnt;
	__u64 left_out_ns; /* of rows that were dropped, and of what found no room */
};

/* Zero initially. */
struct cpu_totals {
	struct cpu_table services, processes;
	__u64 window; /* the current one */
};

/* ns of CPU time of a process, in this window. */
void cpu_totals_add(struct cpu_totals *t, const char *service, uid_t uid, int pid, __u64 ns)
	__attribute__((nonnull));
/* A window has ended: forgets processes that have had no CPU time for long. */
void cpu_totals_end_window(struct cpu_totals *t) __attribute__((nonnull));
void cpu_totals_write(const struct cpu_totals *t, FILE *out) __attribute__((nonnull));
void cpu_totals_free(struct cpu_totals *t) __attribute__((nonnull));

#endif /* KRAIT_AGENT_CPU_TOTALS_H */
