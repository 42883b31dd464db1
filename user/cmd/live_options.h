/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_options.h - what krait top and krait agent ask of their session in the same words: its rate, what is taken
 * with each sample, whose stack it is, and for how long.
 */
#ifndef KRAIT_CMD_LIVE_OPTIONS_H
#define KRAIT_CMD_LIVE_OPTIONS_H

#include <argp.h>

#include "cmd/record_options.h"

/* Beside 'd', 'r' and 'F'. */
enum live_key {
	LIVE_OFF_CPU = 600,
	LIVE_NATIVE,
	LIVE_KERNEL,
	LIVE_NO_REALTIME,
	LIVE_ASYNC,
	LIVE_NO_ASYNC,
	LIVE_GREENLETS,
	LIVE_NO_GREENLETS,
	LIVE_TASK_NAMES,
};

/* As record_options_defaults(), but without native frames and the kernel's: they cost, and nobody looks at each. */
void live_options_defaults(struct record_options *ret);
/* One of these, or of record_targets_option(). 0; ARGP_ERR_UNKNOWN: neither. */
error_t live_option(struct record_options *o, int key, const char *arg, struct argp_state *state);

#endif /* KRAIT_CMD_LIVE_OPTIONS_H */
