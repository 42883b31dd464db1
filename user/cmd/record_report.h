/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_report.h - what krait record says at its end: the hottest functions, --stats, what the user should
 * hear of losses and cost; and the exit code that follows from it.
 */
#ifndef KRAIT_CMD_RECORD_REPORT_H
#define KRAIT_CMD_RECORD_REPORT_H

#include "session/session.h"

struct outputs;
struct record_options;

struct record_report {
	const struct record_options *options;
	struct session *session; /* closed */
	const struct outputs *outputs;
	struct session_stats stats;
};

/* The summary, unless quiet; then the numbers of --stats. EXIT_CODE_OUTPUT, after a message, if it could not be printed. */
int record_report_print(const struct record_report *r);
/* Warns; the exit code when nothing else decides it. */
int record_report_judge(const struct record_report *r);

#endif /* KRAIT_CMD_RECORD_REPORT_H */
