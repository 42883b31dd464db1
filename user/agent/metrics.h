/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - what the agent says of itself, as Prometheus reads it: samples by outcome and reason, what krait costs, how
 * far it has gone down for its budget, which processes there are.
 *
 * Must hold: counters are those of the windows that are over, so they agree with what was handed on.
 */
#ifndef KRAIT_AGENT_METRICS_H
#define KRAIT_AGENT_METRICS_H

#include <linux/types.h>
#include <stdio.h>

#include "agent/sink.h"

struct resources;
struct session;

struct metrics {
	const struct resources *resources; /* borrowed */
	const struct session *session; /* borrowed; NULL: not yet */
	struct accounts accounts[KRAIT_MAX_EVENTS];
	const char *events[KRAIT_MAX_EVENTS];
	unsigned event_cnt;
	__u64 windows, samples, dropped, levels_changed;
	__u64 cpu_ns, kernel_ns; /* of krait */
	__u64 starved_ns, unseen, names_put_off; /* as struct window_price */
	struct window_price price; /* of the last window */
	__u64 ended_unix_ns;
};

/* Takes each window. */
struct agent_sink metrics_sink(struct metrics *m) __attribute__((nonnull));
void metrics_write(const struct metrics *m, FILE *out) __attribute__((nonnull));

#endif /* KRAIT_AGENT_METRICS_H */
