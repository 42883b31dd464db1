/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - the live line on a terminal: time, samples, rate, processes, loss.
 *
 * Must hold: it keeps off a terminal that a launched command reads or writes, and stays in one row: it is
 * cut to the width that the terminal has now.
 */
#ifndef KRAIT_CMD_PROGRESS_H
#define KRAIT_CMD_PROGRESS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct progress {
	double seconds;
	__u64 samples, interrupts, lost;
	double rate; /* samples per second, recently */
	unsigned processes;
	bool command; /* Ctrl-C is the command's */
};

/* Is the descriptor a terminal for such a line? command: krait launches one. */
bool progress_suits(int fd, bool command);
/* The line, without its end, for a terminal of so many columns. */
void progress_format(const struct progress *p, bool stoppable, unsigned columns, char *buf,
		     size_t size);

/* Writes the line over the last one; without a line feed. */
void progress_print(FILE *out, const struct progress *p);
/* Wipes it. */
void progress_clear(FILE *out);

#endif /* KRAIT_CMD_PROGRESS_H */
