/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_targets.h - what krait record, top and agent sample: everything, processes, or a command,
 * and the filters among all processes. Invalid arguments end krait with the usage message
 * (arguments_refuse()).
 */
#ifndef KRAIT_CMD_RECORD_RECORD_TARGETS_H
#define KRAIT_CMD_RECORD_RECORD_TARGETS_H

#include <argp.h>

#include "cmd/record/record_options.h"

/* In addition to 'a', 'p' and 'u'. */
enum target_key {
	TARGET_NAME = 512,
	TARGET_CGROUP,
	TARGET_USER,
	TARGET_THREAD,
};

/* Returns 0, or ARGP_ERR_UNKNOWN for other options. Texts must live as long as the options. */
error_t record_targets_option(struct record_options *o, int key, const char *arg,
			      struct argp_state *state);
/* Call after all options: makes sure that there is exactly one kind of target. */
void record_targets_settle(struct record_options *o, struct argp_state *state);

struct session;

/* What there was, where no sample is wanted. */
struct record_nothing {
	unsigned processes, unwanted; /* as in struct session_stats */
	const char *threads; /* that ran, and do not match (session__say_unwanted()); "": none */
};

#define RECORD_TARGETS_TEXT 768
/* Explains why there are no samples, although no interrupt was lost. Cut to the buffer. */
void record_targets_explain(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
			    const struct record_nothing *there);
/* The same for a session that has ended. */
void record_targets_explain_session(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
				    const struct session *session);

#endif /* KRAIT_CMD_RECORD_RECORD_TARGETS_H */
