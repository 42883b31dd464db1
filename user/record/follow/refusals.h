/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusals.h - why Python processes were not sampled, each reason once, for the closing report.
 */
#ifndef KRAIT_RECORD_FOLLOW_REFUSALS_H
#define KRAIT_RECORD_FOLLOW_REFUSALS_H

#include <linux/types.h>
#include <stdio.h>
#include <sys/types.h>

#include "process/probe/unread.h"

/* Distinct reasons remembered. */
#define REFUSALS_MAX 16

struct refusal {
	char why[256];
	unsigned cnt;
	pid_t pid; /* one example */
};

/* All zeroes initially. */
struct refusals {
	unsigned cnt;
	__u64 process_cnt;
	struct refusal list[REFUSALS_MAX];
	struct unread unread;
};

/* err: -EACCES if the process may not be read; 0: it is sampled, but not all of it; why and comm as in struct py_process. */
void refusals_note(struct refusals *r, int err, const char *why, pid_t pid, const char *comm);
/* Processes that are not sampled, for whatever reason. */
__u64 refusals_cnt(const struct refusals *r);
/* One line per distinct reason. */
void refusals_print(const struct refusals *r, FILE *out);

#endif /* KRAIT_RECORD_FOLLOW_REFUSALS_H */
