/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grids.h - the timers of a clock on one CPU, and how their rates wander.
 *
 * A program can keep in step with a timer without wanting to: a CPU that handles a timer's interrupt
 * also wakes whoever is due by then or in the next moment (up to 50 us: timer slack). A thread that
 * is woken in this way and works for less than a period has gone when the next tick comes, and if
 * it sleeps as long each time, no tick ever finds it; others are found too often. So a clock with a
 * rate has several timers, and each changes its rate and phase from time to time: what one timer's
 * tick starts, the others' ticks find, and no rhythm of a program suits all of them, or one for
 * long.
 *
 * Must hold: together the timers tick as often as the configured rate says; their periods differ.
 */
#ifndef KRAIT_BASE_SYSTEM_GRIDS_H
#define KRAIT_BASE_SYSTEM_GRIDS_H

#include <linux/types.h>

struct event_spec;

/* Range of a timer's rate, from its lowest to its highest, in thousandths: by default; for --jitter. */
#define GRIDS_WANDER 60
#define GRIDS_JITTER 250

/* Timers on each CPU. 1: the event is no clock with a rate, or too fast for timers to take turns. */
unsigned grids_of(const struct event_spec *event) __attribute__((nonnull));
/*
 * The mean period of one of cnt timers that together tick every period_ns on average. Its lowest
 * bits are the timer's number (KRAIT_GRID_MASK, bpf/abi.h).
 */
__u64 grids_period_ns(__u64 period_ns, unsigned cnt, unsigned number);
/* How far apart two ticks of a clock can be while a thread runs on, if each stands for period_ns. */
__u64 grids_gap_ns(__u64 period_ns);

/*
 * The most that the number of ticks of such a clock that hit a thread can vary (variance), if its
 * work does not depend on the ticks: it had that CPU time, and left a CPU so often.
 */
double grids_variance(__u64 period_ns, __u64 cpu_ns, __u64 switches);

/* A timer that keeps its period since started_ns. */
struct grid {
	__u64 mean_ns; /* mean period */
	__u64 period_ns, started_ns;
	double owed; /* ticks that the mean period has called for so far and that did not come */
};

/* The ticks of its present period so far; no period is shorter than TICK_NS_MIN. */
__u64 grid_ticks(const struct grid *g, __u64 now_ns) __attribute__((nonnull));
/*
 * Is it time to change? The caller does so with grid_change() and starts the timer anew, which costs
 * half a tick on average: grid_next_ns() makes up for it, and for what changes that came late have
 * cost. range: as GRIDS_WANDER. random: any 32 bits.
 */
int grid_is_due(const struct grid *g, __u64 now_ns, unsigned range) __attribute__((nonnull));
__u64 grid_next_ns(const struct grid *g, __u64 now_ns, unsigned range, __u32 random)
	__attribute__((nonnull));
void grid_change(struct grid *g, __u64 now_ns, __u64 period_ns) __attribute__((nonnull));

#endif /* KRAIT_BASE_SYSTEM_GRIDS_H */
