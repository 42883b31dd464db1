/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/look_plan.h"

#include "follow/process_table.h"
#include "sampler/sampler.h"
#include "symbol/look_budget.h"
#include "util/clock.h"

#define PAUSE_LONGEST_NS NS_PER_SEC
/* The same if nobody reports mappings. */
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

bool look_plan_is_settled(const struct look_plan *plan)
{
	return plan->next_ns && !plan->outdated && !plan->asked;
}

void look_plan_outdate(struct look_plan *plan, struct processes *ps)
{
	plan->outdated = true;
	processes_due(ps, plan->next_ns);
}

bool look_plan_hurry(struct look_plan *plan, struct processes *ps, __u64 now_ns)
{
	if (plan->asked || plan->next_ns <= now_ns)
		return false;
	plan->next_ns = now_ns;
	look_plan_outdate(plan, ps);
	return true;
}

bool look_plan_is_due(struct look_plan *plan, struct processes *ps, const struct process *p,
		      __u64 now_ns)
{
	struct look_budget *budget = &ps->table_looks[p->owner % OWNER_CNT];
	bool reported = sampler__reports_mappings(ps->config.sampler);
	__u64 longest = reported ? PAUSE_LONGEST_NS : BLIND_LONGEST_NS;

	if (!look_plan_next(plan) || now_ns < plan->next_ns)
		return false;
	plan->next_ns = now_ns + plan->pause_ns;
	plan->pause_ns = 2 * plan->pause_ns < longest ? 2 * plan->pause_ns : longest;
	if (!look_budget_has(budget))
		return false;
	look_budget_take(budget);
	plan->outdated = !reported;
	return true;
}

__u64 look_plan_next(const struct look_plan *plan)
{
	return plan->outdated && !plan->asked ? plan->next_ns : 0;
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
	return plan->asked || (plan->next_ns && plan->outdated);
}
