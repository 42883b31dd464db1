/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_targets.h - what krait record, top and agent take samples of: all, processes, a command, and what
 * chooses among all. What makes no sense ends krait with the usage (arguments_refuse()).
 */
#ifndef KRAIT_CMD_RECORD_TARGETS_H
#define KRAIT_CMD_RECORD_TARGETS_H

#include <argp.h>

#include "cmd/record_options.h"

/* Beside 'a', 'p' and 'u'. */
enum target_key {
	TARGET_NAME = 512,
	TARGET_CGROUP,
	TARGET_USER,
	TARGET_THREAD,
};

/* 0; ARGP_ERR_UNKNOWN: none of these. The texts must live as long as the options. */
error_t record_targets_option(struct record_options *o, int key, const char *arg,
			      struct argp_state *state);
/* All options are there: exactly one kind of target. */
void record_targets_settle(struct record_options *o, struct argp_state *state);

#define RECORD_TARGETS_TEXT 512
/*
 * Why there were none to sample, in words: unwanted Python processes ran, and are not what was asked for. As much
 * of that as has room.
 */
void record_targets_explain(char buf[RECORD_TARGETS_TEXT], const struct record_options *o,
			    unsigned unwanted);

#endif /* KRAIT_CMD_RECORD_TARGETS_H */
