/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - the live line on a terminal: time, samples, rate, processes, loss.
 */
#ifndef KRAIT_SESSION_PROGRESS_H
#define KRAIT_SESSION_PROGRESS_H

#include <linux/types.h>
#include <stdio.h>

struct progress {
	double seconds;
	__u64 samples, interrupts, lost;
	double rate; /* samples per second of late */
	unsigned processes;
};

/* Writes the line over the last one; without a line feed. */
void progress_print(FILE *out, const struct progress *p);
/* Wipes it. */
void progress_clear(FILE *out);

#endif /* KRAIT_SESSION_PROGRESS_H */
