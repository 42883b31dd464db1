/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.h - how much the agent may cost, and what it gives up when that is not enough: first stacks
 * of short waits, then rate, then depth, then native frames; and back, one step at a time, when there is room again. If
 * somebody has caused the cost who can pay for it alone (payers.h), nobody else gives up anything. If a
 * lower rate saves next to nothing it is restored, and not tried again for a while: then the cost
 * is not samples, but new processes. These are then looked at later, each step twice as late as the
 * one before: most have ended by then, and are never looked at.
 *
 * Before any of that comes a hard stop. What was used is constantly compared with what is allowed,
 * for a window plus earlier debt. While the budget is overdrawn, nothing that can wait is done
 * (starving): no process is looked at, no file read. That ends when the debt is paid back. Only
 * what this does not save lowers the rate.
 *
 * It measures and changes nothing itself: it is told what was used, and says how to go on.
 *
 * Must hold: over any time, only starving uses more than the budget; if that is too much, the level
 * is lower in the next window; a level that did not last is not tried again at once.
 */
#ifndef KRAIT_AGENT_BUDGET_H
#define KRAIT_AGENT_BUDGET_H

#include <linux/types.h>
#include <stdbool.h>

#include "record/run/session.h"

#define BUDGET_LEVELS_MAX 32
/* New processes are looked at half a second later, then 1, 2, 4, 8 seconds. */
#define BUDGET_SPARING_MAX SESSION_SPARING_MAX

/* How the agent samples. */
struct detail {
	__u64 frequency; /* Hz */
	__u32 frames_max;
	bool natives;
	__u64 wait_ns; /* every wait that long has its own stack; 0: waits are not sampled */
};

struct budget_config {
	struct detail wanted;
	double cpu; /* in CPUs, e.g. 0.005; 0: unlimited */
	__u64 memory_bytes; /* 0: unlimited */
	__u64 interval_ns; /* length of a window */
};

struct budget {
	struct budget_config config;
	struct detail levels[BUDGET_LEVELS_MAX]; /* from what is wanted down to the least */
	unsigned level_cnt, level;
	__u64 from_ns, from_used_ns; /* since when the level is judged, and usage then */
	bool warm; /* the start's cost is over */
	unsigned calm; /* windows with room for the next better level */
	unsigned patience; /* how many of these it takes; doubles when a level did not last */
	unsigned trial; /* remaining windows for which the restored level is on trial */
	__u64 lowered, raised; /* how often */
	double share; /* of a CPU, when last judged */
	/* the share before the last step to a lower rate, while that is on trial; else 0 */
	double before;
	unsigned before_level;
	/* remaining windows without trying a lower rate, because the last one saved nothing */
	unsigned stalled;
	unsigned stall_next; /* how many it will be the next time */
	double stalled_share; /* the cost at that time */
	/* how much later new processes are looked at: 0: at once, up to BUDGET_SPARING_MAX */
	unsigned sparing;
	/* The caller says whether somebody could pay alone; and is told when that is to be done. */
	bool has_payer, charges;
	__u64 charged_ns; /* when that was last; what is under way then is not judged */
	bool spared_all; /* a lower rate has been tried since sparing is at its maximum */
	/* The hard stop: */
	__u64 meter_ns, meter_used_ns; /* time of the last comparison, and usage then */
	double credit_ns; /* what may still be used; negative: overdrawn by this much */
	bool starving;
	__u64 starving_since_ns;
	__u64 starved_ns, starved_window_ns; /* in total, and in the judged time */
	__u64 starved_used_ns; /* CPU time used in the latter */
};

void budget_init(struct budget *b, const struct budget_config *config) __attribute__((nonnull));
/* The same for one that has been in use, with other limits: what it has counted since the start goes on. */
void budget_renew(struct budget *b, const struct budget_config *config) __attribute__((nonnull));
const struct detail *budget_detail(const struct budget *b) __attribute__((nonnull));
/* used_ns: CPU time so far. True: overdrawn, so nothing that can wait must be done. */
bool budget_meter(struct budget *b, __u64 now_ns, __u64 used_ns) __attribute__((nonnull));
/* Usage up to now is not judged. */
void budget_pardon(struct budget *b, __u64 now_ns, __u64 used_ns) __attribute__((nonnull));
/*
 * used_ns: CPU time since the agent began; rss_bytes: memory in use. at_end: of a window; otherwise
 * in between. True: the level has changed.
 */
bool budget_judge(struct budget *b, __u64 now_ns, __u64 used_ns, __u64 rss_bytes, bool at_end)
	__attribute__((nonnull));

#endif /* KRAIT_AGENT_BUDGET_H */
