/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - the live line on a terminal: time, samples, rate, processes, loss.
 *
 * Must hold: never writes to a terminal that a launched command reads or writes; stays in one row,
 * cut to the terminal's current width.
 */
#ifndef KRAIT_CMD_RECORD_PROGRESS_H
#define KRAIT_CMD_RECORD_PROGRESS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct progress {
	double seconds;
	__u64 samples, interrupts, lost;
	double rate; /* samples per second, recently */
	unsigned processes;
	bool command; /* Ctrl-C belongs to the launched command */
};

/* Tells whether the descriptor is a terminal fit for the line. command: krait launches one. */
bool progress_suits(int fd, bool command);
/* Formats the line, without a newline, for a terminal of so many columns. */
void progress_format(const struct progress *p, bool stoppable, unsigned columns, char *buf,
		     size_t size);

/* Overwrites the previous line; prints no newline. */
void progress_print(FILE *out, const struct progress *p);
/* Erases the line. */
void progress_clear(FILE *out);

#endif /* KRAIT_CMD_RECORD_PROGRESS_H */
