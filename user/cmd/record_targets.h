/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_targets.h - what krait record takes samples of: all, processes, a command, and what chooses
 * among all. What makes no sense ends krait with the usage (argp_error()).
 */
#ifndef KRAIT_CMD_RECORD_TARGETS_H
#define KRAIT_CMD_RECORD_TARGETS_H

#include <argp.h>

#include "cmd/record_options.h"

/* "12,34" */
void record_targets_pids(struct record_options *o, const char *text, struct argp_state *state);
/* The texts must live as long as the options. */
void record_targets_name(struct record_options *o, const char *text, struct argp_state *state);
void record_targets_cgroup(struct record_options *o, const char *text, struct argp_state *state);
/* A name or a number. */
void record_targets_user(struct record_options *o, const char *text, struct argp_state *state);
/* All options are there: exactly one kind of target. */
void record_targets_settle(struct record_options *o, struct argp_state *state);

#endif /* KRAIT_CMD_RECORD_TARGETS_H */
