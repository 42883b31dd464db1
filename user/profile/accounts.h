/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accounts.h - where every interrupt went.
 *
 * Must hold at the end of a recording: interrupts = complete + truncated + lost, each the sum of
 * its reasons. accounts_balance() says so, and every output prints the accounts. A tick that the machine
 * was too busy for is no interrupt; those that were missed are said beside.
 */
#ifndef KRAIT_PROFILE_ACCOUNTS_H
#define KRAIT_PROFILE_ACCOUNTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "abi.h"

struct accounts {
	__u64 interrupts; /* of tracked processes, counted by the kernel */
	__u64 reasons[REASON_CNT]; /* how each of them ended */
	__u64 unknown_frames; /* distinct places in the tree of <unknown function> */
	__u64 unknown_samples; /* samples with at least one such frame; not lost */
	__u64 unwanted; /* interrupts of processes that the filter excludes; not in interrupts */
	__u64 events_dropped; /* process events lost: a process may have been seen late */
	/* Of the timers of all CPUs, whatever ran there; 0 where the event is no clock. */
	__u64 ticks_asked, ticks_delivered;
	/* Interrupts that were due where the tracked processes ran, and never came; in none of the above. */
	__u64 ticks_missed;
};

/* Those of other interrupts, too. */
void accounts_add(struct accounts *a, const struct accounts *more);
/* What came since: less is as it was then. */
void accounts_subtract(struct accounts *a, const struct accounts *less);

/* "python", "depth", "ring full", …: lower case, no punctuation; stable for scripts. */
const char *reason_name(enum reason reason);
const char *outcome_name(enum outcome outcome);

/* Every reason that there is; between those of two outcomes there are numbers of none. */
#define for_each_reason(r) for (enum reason r = REASON_PYTHON; r < REASON_CNT; r = reason_after(r))

static inline enum reason reason_after(enum reason reason)
{
	do
		reason++;
	while (reason < REASON_CNT && !reason_is_known(reason));
	return reason;
}

/* Sum of the reasons of one outcome. */
__u64 accounts_total(const struct accounts *a, enum outcome outcome);
/* interrupts minus all reasons; 0 when the books balance. */
__s64 accounts_balance(const struct accounts *a);
/* Share of interrupts lost, 0..1; 0 when there were none. */
double accounts_lost_share(const struct accounts *a);
/* Share missed of the ticks that were due in the tracked processes, 0..1. */
double accounts_missed_share(const struct accounts *a);
/*
 * One line: "4970 interrupts = 4968 complete + 0 truncated + 2 lost (ring full 2); 30 of 5000 timer ticks
 * missed", the latter of a clock only. Writes at most size bytes, NUL-terminated.
 */
void accounts_format(const struct accounts *a, char *buf, size_t size);
/* For people: "all 552 samples complete" where none is missing, else as accounts_format(). Ticks that never came are said in both. */
void accounts_say(const struct accounts *a, char *buf, size_t size);

#endif /* KRAIT_PROFILE_ACCOUNTS_H */
