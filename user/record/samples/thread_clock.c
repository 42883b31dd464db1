/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/thread_clock.h"

#include <math.h>

#include "bpf/abi.h"
#include "base/system/grids.h"

/* Standard errors, and periods in any case, that may be chance. */
#define ERRORS 4
#define PERIODS 16

void thread_clock_tick(struct thread_clock *c, __u64 time_ns, __u64 period_ns, __u64 cnt)
{
	if (time_ns < c->since_ns)
		return;
	c->found_ns += period_ns * cnt;
	c->longest_ns = period_ns > c->longest_ns ? period_ns : c->longest_ns;
}

static void begin(struct thread_clock *c, const struct record_clock *record)
{
	c->known = true;
	if (record->flags & CLOCK_WHOLE)
		return;
	c->vague = record->flags & CLOCK_RUNNING;
	c->since_ns = record->time_ns;
	c->cpu_ns = record->cpu_ns;
	c->switches = record->switches;
	c->dropped = record->dropped;
	c->found_ns = 0;
}

/* What may be chance, and what the readings leave open. */
static __u64 slack_ns(const struct thread_clock *c, const struct record_clock *record, __u64 cpu_ns,
		      __u64 period_ns)
{
	const double variance = grids_variance(period_ns, cpu_ns, record->switches - c->switches);

	return (__u64)((ERRORS * sqrt(variance) + PERIODS) * (double)period_ns) +
	       (c->vague ? THREAD_CLOCK_LAG_NS : 0) + record->late_ns;
}

__u64 thread_clock_read(struct thread_clock *c, const struct record_clock *record, __u64 period_ns)
{
	__u64 cpu_ns, found_ns, chance_ns, lacks;

	if (!c->known)
		begin(c, record);
	if (!period_ns || record->cpu_ns < c->cpu_ns || record->dropped < c->dropped ||
	    record->switches < c->switches)
		return 0;
	cpu_ns = record->cpu_ns - c->cpu_ns;
	/* Any of its process's threads may have lost these. */
	found_ns = c->found_ns + (record->dropped - c->dropped) * period_ns;
	chance_ns =
		slack_ns(c, record, cpu_ns, c->longest_ns > period_ns ? c->longest_ns : period_ns);
	c->over_ns = 0;
	if (c->found_ns >
	    cpu_ns + chance_ns + (record->flags & CLOCK_RUNNING ? THREAD_CLOCK_LAG_NS : 0))
		c->over_ns = c->found_ns - cpu_ns;
	if (cpu_ns <= found_ns + chance_ns)
		return 0;
	lacks = (cpu_ns - found_ns) / period_ns;
	c->found_ns += lacks * period_ns;
	return lacks;
}
