/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent.h - the always-on profiler of a host: a session without end, cut into windows. Each
 * finished window goes to the sinks; between windows the dictionary forgets what nobody holds.
 *
 * Life: new -> run -> free. A signal ends the run: what was sampled until then is a last, shorter
 * window.
 *
 * Must hold: each sample is in exactly one window, and in the accounts of the one in which it came;
 * windows follow each other without a gap, whatever the sinks do; memory does not grow with time.
 */
#ifndef KRAIT_AGENT_AGENT_H
#define KRAIT_AGENT_AGENT_H

#include <linux/types.h>
#include <stddef.h>

#include "agent/payers.h"
#include "agent/sink.h"
#include "record/run/session.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define AGENT_SINKS_MAX 16

struct agent;
struct resources;

struct agent_config {
	struct session_config session; /* without on_sample, which the agent uses */
	__u64 interval_ns; /* length of a window */
	double cpu_budget; /* in CPUs; 0: unlimited */
	__u64 memory_bytes; /* 0: unlimited */
	struct payers_config payers; /* what names of one owner may take */
	struct resources *resources; /* borrowed; learns about every sampled process */
	struct agent_sink sinks[AGENT_SINKS_MAX];
	unsigned sink_cnt;
	/* NULL, or called on SIGHUP. */
	void (*reload)(void *ctx);
	void *reload_ctx;
	/* NULL, or called on SIGUSR2, which otherwise ends the run. */
	void (*on_user_signal)(void *ctx);
	void *on_user_signal_ctx;
};

void agent_config_add(struct agent_config *config, struct agent_sink sink);

/* NULL with *err filled. *config must stay valid until free. Opens the session's kernel side. */
struct agent *agent__new(struct agent_config *config, struct error *err);
void agent__free(struct agent *a);
/* The session, for questions of sinks; exists from new on. */
struct session *agent__session(struct agent *a);
#define AGENT_BURST_HZ_MAX 1000U
#define AGENT_BURST_NS_MAX (60 * NS_PER_SEC)
/*
 * For that long, samples at that rate and in full detail, whatever the budget is; then returns to
 * what was before. A later burst replaces it.
 */
void agent__burst(struct agent *a, __u64 frequency, __u64 ns);
/*
 * The pid of krait's HTTP server, whose cost is told, but takes nothing from what sampling may cost:
 * strangers decide how often it is asked, and it bounds that itself. 0: there is none now.
 */
void agent__set_server(struct agent *a, pid_t pid);
/* Runs until a signal. Returns 0 or a negative result with *err filled. */
int agent__run(struct agent *a, struct error *err) __attribute__((warn_unused_result));
/*
 * Applies what the configuration now says about interval, budget and rate (of
 * session.sampler.events[0]); the open window gets the new interval, too.
 */
void agent__reconfigure(struct agent *a);

#endif /* KRAIT_AGENT_AGENT_H */
