/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tick.h - which ticks of a timer never came.
 *
 * The timer of cpu-clock runs on a grid: when the interrupt is late by more than a period, the kernel
 * moves on to the next point of the grid, and the ticks between are gone (hrtimer_forward_now() in
 * perf_swevent_hrtimer()). So from the time of one tick to that of the next, as many ticks were due as
 * points of the grid have passed. How late the interrupt is differs from tick to tick; the grid is known
 * from the ticks that were late least. Built for the host, too.
 *
 * Must hold: ticks that are late by less than a period are never counted as missed, but for one where the
 * timer was started anew.
 */
#ifndef KRAIT_TICK_H
#define KRAIT_TICK_H

/* Takes in a tick at now_ns; how many before it never came. */
static __always_inline __u64 tick_missed(struct tick *t, __u64 now_ns, __u64 period_ns)
{
	__u64 passed = now_ns - t->grid_ns, due;

	if (period_ns < TICK_NS_MIN)
		period_ns = TICK_NS_MIN;
	t->delivered++;
	if (!t->grid_ns || passed < period_ns || period_ns != t->period_ns) {
		/* The first one, or the grid is earlier than it seemed, or is another one. */
		t->period_ns = period_ns;
		t->grid_ns = now_ns;
		return 0;
	}
	if (passed < 2 * period_ns) {
		t->grid_ns += period_ns;
		return 0;
	}
	due = passed / period_ns;
	t->grid_ns += due * period_ns;
	t->missed += due - 1;
	return due - 1;
}

#endif /* KRAIT_TICK_H */
