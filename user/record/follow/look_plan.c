/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/look_plan.h"

#include "record/follow/process_table.h"
#include "kernel/sampler/sampler.h"
#include "base/share/allowance.h"
#include "base/system/clock.h"

#define PAUSE_LONGEST_NS NS_PER_SEC
/* Likewise, for looks that no mapping has caused. */
#define BLIND_LONGEST_NS (16 * NS_PER_SEC)

void look_plan_begin(struct look_plan *plan, struct processes *ps)
{
	plan->outdated = true;
	plan->next_ns = clock_monotonic_ns();
	processes_due(ps, plan->next_ns);
}

void look_plan_begin_settled(struct look_plan *plan)
{
	plan->outdated = false;
	plan->next_ns = clock_monotonic_ns();
}

/*
 * perf's reports come ahead of the fork's record, when nobody knows the child yet: what the child maps
 * then goes unheard. Only the sampler's own reports come in order with it.
 */
static bool hears_in_order(const struct processes *ps)
{
	return sampler__reports_mappings(ps->config.sampler);
}

bool look_plan_is_settled(const struct look_plan *plan, const struct processes *ps)
{
	return hears_in_order(ps) && plan->next_ns && !plan->outdated && !plan->missed_ns &&
	       !plan->asked;
}

void look_plan_outdate(struct look_plan *plan, struct processes *ps)
{
	__u64 latest_ns = clock_monotonic_ns() + PAUSE_LONGEST_NS;

	plan->outdated = plan->told = true;
	/* It may be far in the future after looks without a reason. */
	if (plan->next_ns > latest_ns)
		plan->next_ns = latest_ns;
	processes_due(ps, plan->next_ns);
}

void look_plan_missed(struct look_plan *plan, struct processes *ps, __u64 now_ns)
{
	if (!plan->next_ns || plan->missed_ns)
		return;
	plan->missed_ns = now_ns + BLIND_LONGEST_NS;
	processes_due(ps, plan->missed_ns);
}

bool look_plan_hurry(struct look_plan *plan, struct processes *ps, __u64 now_ns)
{
	if (plan->asked || plan->next_ns <= now_ns)
		return false;
	plan->outdated = true;
	plan->next_ns = now_ns;
	processes_due(ps, now_ns);
	return true;
}

bool look_plan_is_due(struct look_plan *plan, struct processes *ps, const struct process *p,
		      __u64 now_ns)
{
	struct allowance *budget = &ps->table_looks[p->owner % OWNER_CNT];
	__u64 next_ns = look_plan_next(plan);
	__u64 longest = plan->told ? PAUSE_LONGEST_NS : BLIND_LONGEST_NS;

	if (!next_ns || now_ns < next_ns)
		return false;
	plan->outdated = true;
	plan->missed_ns = 0;
	plan->next_ns = now_ns + plan->pause_ns;
	plan->pause_ns = 2 * plan->pause_ns < longest ? 2 * plan->pause_ns : longest;
	if (!allowance_has(budget))
		return false;
	allowance_take(budget);
	plan->outdated = !processes_hear_mappings(ps);
	plan->told = false;
	return true;
}

__u64 look_plan_next(const struct look_plan *plan)
{
	__u64 next_ns = plan->outdated ? plan->next_ns : 0;

	if (plan->asked || !plan->next_ns)
		return 0;
	return plan->missed_ns && (!next_ns || plan->missed_ns < next_ns) ? plan->missed_ns :
									    next_ns;
}

void look_plan_answered(struct look_plan *plan, struct processes *ps)
{
	plan->asked = false;
	processes_due(ps, plan->next_ns);
}

void look_plan_end(struct look_plan *plan)
{
	plan->next_ns = 0;
}

bool look_plan_is_open(const struct look_plan *plan)
{
	return plan->asked || (plan->next_ns && (plan->outdated || plan->missed_ns));
}
