/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - the agent's metrics for Prometheus: samples by outcome and reason, krait's cost, how far
 * the budget has lowered the detail, which processes there are, and what CPU time they have used.
 *
 * Must hold: counters cover finished windows, so they agree with what was passed on.
 */
#ifndef KRAIT_AGENT_METRICS_H
#define KRAIT_AGENT_METRICS_H

#include <linux/types.h>
#include <stdio.h>

#include "agent/cpu_totals.h"
#include "agent/sink.h"

struct resources;
struct session;

struct metrics {
	struct resources *resources; /* borrowed */
	const struct session *session; /* borrowed; NULL: not yet */
	struct cpu_totals cpu;
	struct accounts accounts[KRAIT_MAX_EVENTS];
	const char *events[KRAIT_MAX_EVENTS];
	unsigned event_cnt;
	__u64 windows, samples, dropped, levels_changed;
	__u64 cpu_ns, kernel_ns, server_ns; /* of krait */
	__u64 starved_ns, unseen, names_put_off, names_left_out; /* as struct window_price */
	struct window_price price; /* from the last window */
	__u64 ended_unix_ns;
};

/* The sink that takes each window. */
struct agent_sink metrics_sink(struct metrics *m) __attribute__((nonnull));
void metrics_write(const struct metrics *m, FILE *out) __attribute__((nonnull));
/* Frees what it holds, not *m. */
void metrics_free(struct metrics *m) __attribute__((nonnull));

#endif /* KRAIT_AGENT_METRICS_H */
