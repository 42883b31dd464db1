/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_options.h - the command line of krait agent as a struct.
 */
#ifndef KRAIT_CMD_AGENT_OPTIONS_H
#define KRAIT_CMD_AGENT_OPTIONS_H

#include "cmd/agent_memory_options.h"
#include "cmd/agent_export_options.h"
#include "cmd/record_options.h"
#include "serve/server.h"

struct agent_options {
	struct record_options record; /* targets, events, native frames */
	__u64 interval_ns; /* of a window */
	struct agent_memory_options memory;
	double cpu_budget; /* of one CPU; 0 none */
	__u64 memory_bytes; /* 0 none */
	struct agent_export_options export;
	const char *listen[SERVER_LISTENERS_MAX];
	unsigned listen_cnt; /* 0: nobody may ask */
	const char *listen_token_file; /* NULL none */
	bool check_config; /* and nothing else */
	bool log_json;
	const char *otlp_dir; /* windows become files there; NULL none */
};

/* Of krait agent: every long option is a key of its --config, too. */
extern const struct argp agent_argp;
/* As record_options_parse(). */
void agent_options_parse(struct agent_options *ret, int argc, char **argv);

#endif /* KRAIT_CMD_AGENT_OPTIONS_H */
