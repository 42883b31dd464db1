/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_options.h - the command line of krait agent as a struct.
 */
#ifndef KRAIT_CMD_AGENT_AGENT_OPTIONS_H
#define KRAIT_CMD_AGENT_AGENT_OPTIONS_H

#include "cmd/agent/agent_memory_options.h"
#include "cmd/agent/agent_export_options.h"
#include "cmd/record/record_options.h"
#include "agent/serve/server.h"

struct agent_options {
	struct record_options record; /* targets, events, native frames */
	__u64 interval_ns; /* length of a window */
	struct agent_memory_options memory;
	double cpu_budget; /* share of one CPU; 0: none */
	__u64 memory_bytes; /* 0: none */
	struct agent_export_options export;
	const char *listen[SERVER_LISTENERS_MAX];
	unsigned listen_cnt; /* 0: no endpoint */
	const char *listen_token_file; /* NULL: none */
	bool check_config; /* then exit */
	bool log_json;
	const char *otlp_dir; /* write windows to files there; NULL: do not */
};

/* krait agent's parser: every long option is also a key of its --config. */
extern const struct argp agent_argp;
/* As record_options_parse() does. */
void agent_options_parse(struct agent_options *ret, int argc, char **argv);

#endif /* KRAIT_CMD_AGENT_AGENT_OPTIONS_H */
