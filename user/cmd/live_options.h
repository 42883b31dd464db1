/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_options.h - session options common to krait top and krait agent: rate, what to take with
 * each sample, whose stack it is, and duration.
 */
#ifndef KRAIT_CMD_LIVE_OPTIONS_H
#define KRAIT_CMD_LIVE_OPTIONS_H

#include <argp.h>

#include "cmd/record_options.h"

/* In addition to 'd', 'r' and 'F'. */
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

/* Rows for the option tables of both. */
#define LIVE_NATIVE_OPTIONS                                                                        \
	{ "native", LIVE_NATIVE, 0, 0,                                                             \
	  "also native functions; otherwise time in C counts for the "                             \
	  "Python caller. Their names are from files on this machine: "                            \
	  "only record and readers of captures ask debuginfod servers" },                          \
	{                                                                                          \
		"kernel", LIVE_KERNEL, 0, 0, "also kernel functions"                               \
	}

/*
 * As record_options_defaults(), but without native and kernel frames: they cost time, and nobody
 * looks at every one.
 */
void live_options_defaults(struct record_options *ret);
/*
 * Handles these options and those of record_targets_option(). Returns 0, or ARGP_ERR_UNKNOWN for
 * others.
 */
error_t live_option(struct record_options *o, int key, const char *arg, struct argp_state *state);

#endif /* KRAIT_CMD_LIVE_OPTIONS_H */
