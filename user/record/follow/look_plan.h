/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_plan.h - when to look again at a process for something that it may get later: first when it
 * is tracked, then whenever it maps code, or at intervals if nobody reports mappings. Where reports
 * were lost, it looks once more.
 *
 * Must hold: one plan has at most one pending look, one owner's processes (bpf/share.h) have a
 * bounded number of looks a second, and pauses grow while looks find nothing.
 */
#ifndef KRAIT_RECORD_FOLLOW_LOOK_PLAN_H
#define KRAIT_RECORD_FOLLOW_LOOK_PLAN_H

#include <linux/types.h>
#include <stdbool.h>

struct process;
struct processes;

/* All zero: no look is planned. */
struct look_plan {
	bool asked; /* a look is pending */
	bool outdated; /* there is a reason for another one */
	bool told; /* and it is a mapping */
	__u64 next_ns; /* not before this; 0: never */
	/* a report may have been lost: look at that time anyway; 0: none was lost */
	__u64 missed_ns;
	__u64 pause_ns; /* until the look after that; doubles up to the longest */
};

/* The first look is due now. */
void look_plan_begin(struct look_plan *plan, struct processes *ps);
/* Begins a plan for a fork: everything mapped so far has been looked at in the parent. */
void look_plan_begin_settled(struct look_plan *plan);
/*
 * Has nothing been mapped since the last look, here or in a child forked since, and did that look
 * find everything?
 */
bool look_plan_is_settled(const struct look_plan *plan, const struct processes *ps);
/* The process has mapped code. */
void look_plan_outdate(struct look_plan *plan, struct processes *ps);
/*
 * It may have mapped code. However many reports are lost, it is looked at no more often than if
 * nobody reported any.
 */
void look_plan_missed(struct look_plan *plan, struct processes *ps, __u64 now_ns);
/*
 * There is an urgent reason: the next look is due now. False: it is due anyway, or there will be
 * none.
 */
bool look_plan_hurry(struct look_plan *plan, struct processes *ps, __u64 now_ns);
/* Should the process be looked at now? Then the caller asks, and sets asked. */
bool look_plan_is_due(struct look_plan *plan, struct processes *ps, const struct process *p,
		      __u64 now_ns);
/* When to ask look_plan_is_due() again; 0: not before something changes. */
__u64 look_plan_next(const struct look_plan *plan);
/* The answer to the look has come. */
void look_plan_answered(struct look_plan *plan, struct processes *ps);
/* No further look, whatever changes. */
void look_plan_end(struct look_plan *plan);
/* Is a look pending or planned? */
bool look_plan_is_open(const struct look_plan *plan);

#endif /* KRAIT_RECORD_FOLLOW_LOOK_PLAN_H */
