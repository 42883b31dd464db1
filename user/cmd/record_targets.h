/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_targets.h - what krait record, top and agent sample: everything, processes, or a command,
 * and the filters among all processes. Invalid arguments end krait with the usage message
 * (arguments_refuse()).
 */
#ifndef KRAIT_CMD_RECORD_TARGETS_H
#define KRAIT_CMD_RECORD_TARGETS_H

#include <argp.h>

#include "cmd/record_options.h"

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

#define RECORD_TARGETS_TEXT 512
/*
 * Explains why nothing was sampled: so many unwanted Python processes ran that do not match. Cut to
 * the buffer.
 */
void record_targets_explain(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
			    unsigned unwanted);

#endif /* KRAIT_CMD_RECORD_TARGETS_H */
