/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.h - how much the agent may cost, and what it does without when that is not enough: first rate, then depth, then
 * native frames; and back, one step at a time, when there is room again. A lower rate that saves next to nothing is
 * given back, and not tried again for a while: what costs then is not samples, but processes that start. These are looked
 * at later then, each step twice as late as the one before: most have ended by then, and are not looked at at all.
 *
 * Before any of that comes a hard stop. What was used is met against what it may be all the time, over a window and
 * what was overdrawn before: while it is overdrawn, nothing is to be done that can wait (starving): no process is looked at,
 * no file read. That ends when it is paid back. Only what that does not save lowers the rate.
 *
 * It measures nothing and changes nothing by itself: it is told what was used, and says how to go on.
 *
 * Must hold: over any time, what is used beyond the budget is what is used while starving; if that is too much, the level
 * is lower in the next window; a level that did not last is not tried again at once.
 */
#ifndef KRAIT_AGENT_BUDGET_H
#define KRAIT_AGENT_BUDGET_H

#include <linux/types.h>
#include <stdbool.h>

#include "session/session.h"

#define BUDGET_LEVELS_MAX 32
/* Seconds: what starts is looked at half a second later, 1, 2, 4, 8. */
#define BUDGET_SPARING_MAX SESSION_SPARING_MAX

/* How the agent samples. */
struct detail {
	__u64 frequency; /* Hz */
	__u32 frames_max;
	bool natives;
};

struct budget_config {
	struct detail wanted;
	double cpu; /* of one CPU: 0.005; 0 no bound */
	__u64 memory_bytes; /* 0 no bound */
	__u64 interval_ns; /* of a window */
};

struct budget {
	struct budget_config config;
	struct detail levels[BUDGET_LEVELS_MAX]; /* from what is wanted to the least */
	unsigned level_cnt, level;
	__u64 from_ns, from_used_ns; /* since when the level is judged */
	bool warm; /* what the start costs is over */
	unsigned calm; /* windows with room for the next better level */
	unsigned patience; /* so many of these it takes; doubles when a level did not last */
	unsigned trial; /* windows for which the level, gone back to, is on trial still */
	__u64 lowered, raised; /* how often */
	double share; /* of a CPU, in what was judged last */
	double before; /* the same in front of the last step to a lower rate, while that is on trial; else 0 */
	unsigned before_level;
	unsigned stalled; /* windows for which no lower rate is tried, as the last one saved nothing */
	unsigned stall_next; /* so many it will be the next time */
	double stalled_share; /* what it cost then */
	unsigned sparing; /* how much later what starts is looked at: 0 at once, to BUDGET_SPARING_MAX */
	bool spared_all; /* a lower rate has been tried since that is the most */
	/* The hard stop: */
	__u64 meter_ns, meter_used_ns; /* when that was met last, and what was used by then */
	double credit_ns; /* that may still be used; below 0: so much is overdrawn */
	bool starving;
	__u64 starving_since_ns;
	__u64 starved_ns, starved_window_ns; /* in all, and in what is judged */
	__u64 starved_used_ns; /* of CPU time, in the latter */
};

void budget_init(struct budget *b, const struct budget_config *config) __attribute__((nonnull));
/* The same for one that has been in use, with other limits: what it has counted since the start goes on. */
void budget_renew(struct budget *b, const struct budget_config *config) __attribute__((nonnull));
const struct detail *budget_detail(const struct budget *b) __attribute__((nonnull));
/* So much CPU time was used until now. True: it is overdrawn, nothing is to be done that can wait. */
bool budget_meter(struct budget *b, __u64 now_ns, __u64 used_ns) __attribute__((nonnull));
/* What was used until now is not judged. */
void budget_pardon(struct budget *b, __u64 now_ns, __u64 used_ns) __attribute__((nonnull));
/*
 * So much CPU time was used until now since the agent began, so much memory is in use. at_end: of a window; else it is
 * asked in between. True: the level has changed.
 */
bool budget_judge(struct budget *b, __u64 now_ns, __u64 used_ns, __u64 rss_bytes, bool at_end)
	__attribute__((nonnull));

#endif /* KRAIT_AGENT_BUDGET_H */
