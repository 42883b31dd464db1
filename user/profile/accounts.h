/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accounts.h - how every interrupt ended.
 *
 * Must hold at the end of a recording: interrupts = complete + truncated + lost, each the sum of
 * its reasons. accounts_balance() checks it, and every output prints the accounts. A tick that
 * never came, because the machine was too busy, is not an interrupt; missed ticks are reported
 * separately.
 */
#ifndef KRAIT_PROFILE_ACCOUNTS_H
#define KRAIT_PROFILE_ACCOUNTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "bpf/abi.h"

struct accounts {
	__u64 interrupts; /* of tracked processes, counted by the kernel */
	__u64 reasons[REASON_CNT]; /* how each of these ended */
	__u64 unknown_frames; /* distinct places in the tree with an <unknown function> */
	__u64 unknown_samples; /* samples with at least one such frame; they are not lost */
	/* interrupts of processes and threads that a filter excludes; not in interrupts */
	__u64 unwanted;
	__u64 events_dropped; /* process events lost: some processes may have been seen late */
	/* Timers of all CPUs, whatever they interrupted; 0 if the event is not a clock. */
	__u64 ticks_asked;
	/* Ticks that were due while tracked processes ran, but never came; not included above. */
	__u64 ticks_missed;
	/* Samples that stand for CPU time that no tick found (MARK_NOT_SAMPLED): no interrupts. */
	__u64 not_sampled;
	/* Time of threads' samples beyond the CPU time that the kernel says they had. */
	__u64 over_ns;
};

/* Adds those of other interrupts. */
void accounts_add(struct accounts *a, const struct accounts *more);
/* Leaves what has come since `less` was taken. */
void accounts_subtract(struct accounts *a, const struct accounts *less);

/* "python", "depth", "ring full", …: lower case, no punctuation; stable for scripts. */
const char *reason_name(enum reason reason);
const char *outcome_name(enum outcome outcome);

/* Every existing reason; the numbers between those of two outcomes are unused. */
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
/* interrupts minus all reasons; 0 if the accounts balance. */
__s64 accounts_balance(const struct accounts *a);
/* Share of interrupts lost, 0..1; 0 when there were none. */
double accounts_lost_share(const struct accounts *a);
/* Share of the tracked processes' due ticks that were missed, 0..1. */
double accounts_missed_share(const struct accounts *a);
/*
 * One line: "4970 interrupts = 4968 complete + 0 truncated + 2 lost (ring full 2); 30 of 5000 timer
 * ticks missed", the last part only for a clock. Writes at most size bytes, NUL-terminated.
 */
void accounts_format(const struct accounts *a, char *buf, size_t size);
/*
 * For people, beside a number of samples: "none lost", or "2 of 1,002 lost (0.2%)" and what else is
 * wrong: accounts that do not balance, 1% of the ticks that never came. Cut samples are not: a mark
 * stands in their stacks. Empty if there were no interrupts.
 */
void accounts_say(const struct accounts *a, char *buf, size_t size);

#endif /* KRAIT_PROFILE_ACCOUNTS_H */
