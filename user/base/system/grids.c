/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/grids.h"

#include "bpf/abi.h"
#include "base/system/clock.h"
#include "base/system/event.h"

/*
 * Simulated with threads that sleep 0.3 to 1.3 ms and work 40 to 100 us (tests/unit/test_grids.c): a
 * single timer finds 0 to 1.8 of their time, two that wander 0.6 to 1.3, four 0.8 to 1.3, eight no
 * better. The more there are, the less even is the number of ticks in a given time. With shorter
 * periods than this, one timer's interrupt would make the next one late.
 */
#define GRIDS 4
#define SHORTEST_NS 50000
/* Mean rates of timers differ by at most that much, in thousandths. */
#define SPREAD 160
/* A timer keeps its rate for that many ticks; with a wider range only for that time, or so many ticks. */
#define KEEP_TICKS 128
#define KEEP_NS (250 * 1000000ULL)
#define KEEP_TICKS_MIN 16

static unsigned cnt_of(__u64 period_ns)
{
	return period_ns < SHORTEST_NS ? 1 : GRIDS;
}

unsigned grids_of(const struct event_spec *event)
{
	return event_is_clock(event) && event->frequency ? cnt_of(NS_PER_SEC / event->frequency) :
							   1;
}

/* The timer's rate against the mean of all, in thousandths: steps of the golden ratio are never even. */
static double offset_of(unsigned cnt, unsigned number)
{
	double sum = 0, own = 0;

	for (unsigned i = 0; i < cnt; i++) {
		double at = i * 0.6180339887;

		at -= (double)(unsigned)at;
		sum += at;
		own = i == number ? at : own;
	}
	return SPREAD * (own - sum / cnt);
}

__u64 grids_period_ns(__u64 period_ns, unsigned cnt, unsigned number)
{
	double ns = (double)(cnt * period_ns);

	if (cnt == 1)
		return period_ns;
	ns /= 1 + offset_of(cnt, number) / 1000;
	return ((__u64)ns & ~(__u64)KRAIT_GRID_MASK) | number;
}

__u64 grids_gap_ns(__u64 period_ns)
{
	const unsigned cnt = cnt_of(period_ns);

	/* The longest period, while it is longest; and a tick may be late by half of a mean period. */
	return cnt * period_ns * (1000 + (SPREAD + GRIDS_WANDER) / 2) / 1000 + period_ns / 2;
}

double grids_variance(__u64 period_ns, __u64 cpu_ns, __u64 switches)
{
	const double cnt = cnt_of(period_ns), ticks = (double)cpu_ns / (double)period_ns;
	/* One standard deviation of an even spread is 1 / sqrt(12) of its range: of the rate until it changes. */
	const double kept = cnt > 1 ? KEEP_TICKS + (double)KEEP_NS / (cnt * (double)period_ns) : 0;
	const double wander = kept * GRIDS_WANDER / 1000;
	/* Each stay on a CPU adds a quarter at most for each timer. */
	const double most = cnt * ((double)(switches + 1) / 4 + 2 * wander * wander / 12);

	return ticks < most ? ticks : most;
}

__u64 grid_ticks(const struct grid *g, __u64 now_ns)
{
	const __u64 period_ns = g->period_ns > TICK_NS_MIN ? g->period_ns : TICK_NS_MIN;

	return now_ns > g->started_ns ? (now_ns - g->started_ns) / period_ns : 0;
}

static __u64 keep_ns(const struct grid *g, unsigned range)
{
	const __u64 ns = KEEP_TICKS * g->mean_ns, least_ns = KEEP_TICKS_MIN * g->mean_ns;

	if (range == GRIDS_WANDER || ns < KEEP_NS)
		return ns;
	return least_ns > KEEP_NS ? least_ns : KEEP_NS;
}

int grid_is_due(const struct grid *g, __u64 now_ns, unsigned range)
{
	return now_ns - g->started_ns >= keep_ns(g, range);
}

static double owed_by(const struct grid *g, __u64 now_ns)
{
	return g->owed + (double)(now_ns - g->started_ns) / (double)g->mean_ns -
	       (double)grid_ticks(g, now_ns);
}

__u64 grid_next_ns(const struct grid *g, __u64 now_ns, unsigned range, __u32 random)
{
	const double part = (double)range / 1000;
	/* Changes may come late: if what is owed came too soon, too much would have come by then. */
	const double ns = 2 * (double)(now_ns - g->started_ns);
	const double mean = ns / (double)g->mean_ns, most = mean * part / 2;
	/* The rate is random, not the period, so that its mean is the configured one. */
	const double ticks = mean * (1 + part * ((double)random / 0xffffffff - 0.5));
	const double more = owed_by(g, now_ns) + 0.5;

	if (now_ns <= g->started_ns)
		return g->mean_ns;
	return (__u64)(ns / (ticks + (more < -most ? -most : more > most ? most : more)));
}

void grid_change(struct grid *g, __u64 now_ns, __u64 period_ns)
{
	g->owed = owed_by(g, now_ns);
	g->started_ns = now_ns;
	g->period_ns = period_ns;
}
