/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent.h - the always-on profiler of a host: a session without end, cut into windows, each of which goes to the sinks
 * when it is over; between two windows the dictionary forgets what nobody holds.
 *
 * Life: new -> run -> free. A signal ends the run: what was sampled until then is a last, shorter window.
 *
 * Must hold: each sample is in exactly one window, and in the accounts of the one in which it came; windows follow
 * each other without a gap, whatever the sinks do; memory does not grow with time.
 */
#ifndef KRAIT_AGENT_AGENT_H
#define KRAIT_AGENT_AGENT_H

#include <linux/types.h>
#include <stddef.h>

#include "agent/sink.h"
#include "session/session.h"
#include "util/clock.h"
#include "util/error.h"

#define AGENT_SINKS_MAX 16

struct agent;
struct resources;

struct agent_config {
	struct session_config session; /* without on_sample: that is the agent's */
	__u64 interval_ns; /* of a window */
	double cpu_budget; /* of one CPU; 0 no bound */
	__u64 memory_bytes; /* 0 no bound */
	struct resources *resources; /* borrowed; learns of every process that is sampled */
	struct agent_sink sinks[AGENT_SINKS_MAX];
	unsigned sink_cnt;
	/* NULL, or: SIGHUP has come. */
	void (*reload)(void *ctx);
	void *reload_ctx;
};

void agent_config_add(struct agent_config *config, struct agent_sink sink);

/* NULL with *err filled. *config stays valid until free. Opens the session's kernel side. */
struct agent *agent__new(struct agent_config *config, struct error *err);
void agent__free(struct agent *a);
/* The session, from new on: for what sinks want to ask. */
struct session *agent__session(struct agent *a);
#define AGENT_BURST_HZ_MAX 1000U
#define AGENT_BURST_NS_MAX (60 * NS_PER_SEC)
/* For so long at that rate and in full detail, whatever the budget is; then on as before. A later burst replaces it. */
void agent__burst(struct agent *a, __u64 frequency, __u64 ns);
/* Until a signal. 0 or a negative result with *err filled. */
int agent__run(struct agent *a, struct error *err) __attribute__((warn_unused_result));
/*
 * What the configuration says by now of interval, budget and rate (of session.sampler.events[0]); the window that is
 * open goes by the new interval.
 */
void agent__reconfigure(struct agent *a);

#endif /* KRAIT_AGENT_AGENT_H */
