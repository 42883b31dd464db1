/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_report.h - what krait record prints at its end: the hottest functions, --stats, and
 * warnings about losses and cost; and the resulting exit code.
 */
#ifndef KRAIT_CMD_RECORD_RECORD_REPORT_H
#define KRAIT_CMD_RECORD_RECORD_REPORT_H

#include "record/run/session.h"

struct outputs;
struct record_options;

struct record_report {
	const struct record_options *options;
	struct session *session; /* closed */
	const struct outputs *outputs;
	struct session_stats stats;
	bool tabled; /* a table has said how many samples there are */
};

/*
 * Prints the summary unless quiet, then the numbers of --stats. Returns EXIT_CODE_OUTPUT after a
 * message if it could not be printed.
 */
int record_report_print(struct record_report *r);
/* Prints warnings. Returns the exit code if nothing else decides it. */
int record_report_judge(const struct record_report *r);

#endif /* KRAIT_CMD_RECORD_RECORD_REPORT_H */
