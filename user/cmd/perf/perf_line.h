/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_line.h - the command line of perf record, as far as krait must understand it: where the command begins, and what
 * krait must not add. Which options take a value says the perf that is installed ("perf record -h").
 */
#ifndef KRAIT_CMD_PERF_PERF_LINE_H
#define KRAIT_CMD_PERF_PERF_LINE_H

#include <stdbool.h>

struct perf_line {
	char *const *args; /* what follows "record", NULL-terminated */
	int cnt;
	int command; /* the index of the first word of the command; cnt: there is none */
	int separator; /* the index of "--" before it; cnt: there is none */
	bool controlled; /* --control, or a --delay of several times: perf's events are not krait's to enable */
	int delay_ms; /* --delay: how long after the start they count; -1: when the user says so */
	bool has_clock, has_chains;
	const char *output; /* -o; NULL: not given */
	const char *unfit; /* an option whose files krait cannot put frames into; NULL: none */
};

/* help: the text of "perf record -h". */
void perf_line_parse(struct perf_line *ret, char *const args[], const char *help);

#endif /* KRAIT_CMD_PERF_PERF_LINE_H */
