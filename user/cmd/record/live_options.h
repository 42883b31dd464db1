/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_options.h - session options common to krait record, top and agent: rate, what to take with
 * each sample, whose stack it is, and duration.
 */
#ifndef KRAIT_CMD_RECORD_LIVE_OPTIONS_H
#define KRAIT_CMD_RECORD_LIVE_OPTIONS_H

#include <argp.h>

#include "cmd/record/record_options.h"
#include "record/run/session.h"

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

/*
 * The table: each one's name, key, argument and flags. A command adds what it means there:
 * { LIVE_ROW_ASYNC, "for asyncio programs ..." }.
 */
#define LIVE_ROW_DURATION "duration", 'd', "TIME", 0
#define LIVE_ROW_OFF_CPU "off-cpu", LIVE_OFF_CPU, "TIME", OPTION_ARG_OPTIONAL
#define LIVE_ROW_ASYNC "async", LIVE_ASYNC, "tasks|both", OPTION_ARG_OPTIONAL
#define LIVE_ROW_NO_ASYNC "no-async", LIVE_NO_ASYNC, 0, 0
#define LIVE_ROW_TASK_NAMES "task-names", LIVE_TASK_NAMES, 0, 0
#define LIVE_ROW_GREENLETS "greenlets", LIVE_GREENLETS, 0, 0
#define LIVE_ROW_NO_GREENLETS "no-greenlets", LIVE_NO_GREENLETS, 0, 0
#define LIVE_ROW_NO_REALTIME "no-realtime", LIVE_NO_REALTIME, 0, 0

/* Rows of top and agent. */
#define LIVE_NATIVE_OPTIONS                                                                        \
	{ "native", LIVE_NATIVE, 0, 0,                                                             \
	  "also native functions; otherwise time in C counts for the "                             \
	  "Python caller. Their names are from files on this machine: "                            \
	  "only record and readers of captures ask debuginfod servers" },                          \
	{                                                                                          \
		"kernel", LIVE_KERNEL, 0, 0, "also kernel functions"                               \
	}

/*
 * For top and agent: as record_options_defaults(), but without native and kernel frames: they cost
 * time, and nobody looks at every one.
 */
void live_options_defaults(struct record_options *ret);
/*
 * Handles these options and those of record_targets_option(). Returns 0, or ARGP_ERR_UNKNOWN for
 * others.
 */
error_t live_option(struct record_options *o, int key, const char *arg, struct argp_state *state);
/* The session that they and the targets ask for; samples go nowhere yet. Borrows from *o. */
struct session_config live_options_session(const struct record_options *o);

#endif /* KRAIT_CMD_RECORD_LIVE_OPTIONS_H */
