/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_endpoint.h - what clients may ask krait agent over HTTP: metrics, health and profiles.
 *
 * Must hold: profiles need a token or a socket in the file system. Nothing here waits for a client.
 */
#ifndef KRAIT_CMD_AGENT_AGENT_ENDPOINT_H
#define KRAIT_CMD_AGENT_AGENT_ENDPOINT_H

#include "agent/agent.h"
#include "agent/metrics.h"
#include "cmd/agent/agent_options.h"

struct agent_outputs;
struct keep;
struct pprof_pull;
struct resources;
struct server;

struct agent_endpoint {
	struct server *server; /* NULL: no endpoint */
	struct pprof_pull *pull;
	struct metrics metrics;
	const struct agent_outputs *outputs; /* borrowed, for their metrics */
	const struct keep *keep; /* borrowed, for its metrics; NULL: nothing is kept */
	struct agent *agent; /* borrowed; NULL: not yet connected */
	__u64 published_ns;
	bool ready;
};

/*
 * Does nothing if no address is given. Returns 0, or a negative result with *err filled; must be
 * closed in either case.
 */
int agent_endpoint_open(struct agent_endpoint *e, const struct agent_options *options,
			struct resources *resources, const struct agent_outputs *outputs,
			struct agent_config *config, struct error *err)
	__attribute__((warn_unused_result));
/* Call before the first sample. keep: NULL if nothing is kept. */
void agent_endpoint_connect(struct agent_endpoint *e, struct agent *agent, const struct keep *keep);
/* As agent_outputs_disconnect(). */
void agent_endpoint_disconnect(struct agent_endpoint *e);
void agent_endpoint_close(struct agent_endpoint *e);

#endif /* KRAIT_CMD_AGENT_AGENT_ENDPOINT_H */
