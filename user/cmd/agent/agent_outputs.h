/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_outputs.h - what krait agent hands its windows to: created from its options, shut down in
 * the order that loses nothing.
 */
#ifndef KRAIT_CMD_AGENT_AGENT_OUTPUTS_H
#define KRAIT_CMD_AGENT_AGENT_OUTPUTS_H

#include "agent/agent.h"
#include "cmd/agent/agent_endpoint.h"
#include "cmd/agent/agent_options.h"

struct exporter;
struct keep;
struct notify;
struct otlp_sink;
struct pprof_push;
struct resources;

struct agent_outputs {
	struct exporter *exporter; /* NULL: nothing is sent */
	struct otlp_sink *otlp;
	struct pprof_push *push; /* pprof, if a destination takes it; else NULL */
	struct notify *notify;
	struct agent_endpoint endpoint;
};

/*
 * Adds its sinks to *config. Returns 0, or a negative result with *err filled; must be closed in
 * either case.
 */
int agent_outputs_open(struct agent_outputs *o, const struct agent_options *options,
		       struct resources *resources, const char *host, struct agent_config *config,
		       struct error *err) __attribute__((warn_unused_result));
/* Call before the first sample. keep: NULL if nothing is kept. */
void agent_outputs_connect(struct agent_outputs *o, struct agent *agent, const struct keep *keep);
/*
 * Switches to new destinations; if they are unchanged, rereads their files, which may have changed.
 * Unsent windows stay in the spool. Returns 0, or a negative result with *err filled: then nothing
 * is sent.
 */
int agent_outputs_reload(struct agent_outputs *o, const struct agent_export_options *options,
			 bool same, struct error *err) __attribute__((warn_unused_result));
/*
 * Answers and forgets whoever waits for a profile: nothing of the session is needed any more. Call
 * before the agent is freed.
 */
void agent_outputs_disconnect(struct agent_outputs *o);
/* Spends some seconds sending what is left. */
void agent_outputs_close(struct agent_outputs *o);

#endif /* KRAIT_CMD_AGENT_AGENT_OUTPUTS_H */
