/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch.h - which waits of a thread get a stack, and for how much time each stack stands.
 *
 * A wait of at least one period gets a stack and counts in full. Shorter waits share stacks as
 * interrupts of a clock share CPU time: a point is placed somewhere in each period of the time that
 * a thread has spent in short waits, and the wait that a point falls into gets a stack that stands
 * for that period. So a short wait gets a stack with probability length / period. The total is
 * right on average for each distinct stack, and right to within a period for the thread. The
 * position of a point in its period is random, so no rhythm of the program can stay in step with
 * it.
 *
 * A CPU that has spent too much on stacks makes its period longer, by powers of two. That changes
 * how many stacks there are, not what they add up to. A point keeps the period that it was placed
 * with: a thread that moves between CPUs with different periods is right to within the longest of
 * them. Also built for the host.
 *
 * Must hold: on each CPU switches and their stacks take no more than one part in SWITCH_SHARE of
 * the time. There are two exceptions: the first moments of a burst, and a rate of switches so high
 * that they alone take nearly as much: no switch may be skipped, as a long wait is known only if
 * its begin was noted. Which waits are taken does not depend on the future.
 */
#ifndef KRAIT_BPF_WAIT_SWITCH_H
#define KRAIT_BPF_WAIT_SWITCH_H

#include "bpf/types.h"

/* The period is a power of two, in ns: 1.05 ms by default; the others are the limits. */
#define SWITCH_PERIOD_SHIFT 20
#define SWITCH_PERIOD_SHIFT_MIN 13
#define SWITCH_PERIOD_SHIFT_MAX 30
/* 1/50 of the time: 2 %, stacks and all. */
#define SWITCH_SHARE 50
/*
 * For so long after the end of a recording a thread that comes back still gets the stack of the wait that was open at
 * the end, with its length up to the end. User space reads meanwhile the stacks of those that do not come.
 */
#define SWITCH_GRACE_NS 10000000000ULL
/*
 * The cost of a switch of a tracked thread without a stack: an initial guess; the part that the
 * deciding program cannot see (its own call) and the other program (docs/MEASUREMENTS.md); how
 * often a switch is measured, between two readings of the clock; and the longest believable cost:
 * anything longer was interrupted.
 */
#define SWITCH_FIXED_NS 60
#define SWITCH_AROUND_NS 60
#define SWITCH_MEASURED 64
#define SWITCH_MEASURED_MAX_NS 1000
/* Averages are kept in fractions of a nanosecond; each new measurement has this weight. */
#define SWITCH_MEASURED_SHIFT 4
/* At least this fraction of a share is for stacks, however many switches there are. */
#define SWITCH_STACKS_SHARE 16
/* The period is reviewed once per window, and at once if the whole window's share is spent. */
#define SWITCH_WINDOW_SHIFT 24
#define SWITCH_WINDOW_NS (1ULL << SWITCH_WINDOW_SHIFT)

/*
 * What a CPU adds to the scheduler's own clock to get CLOCK_MONOTONIC. Reading that clock is a
 * plain load, while asking the kernel for the time costs more than anything else at a switch. It
 * says when the scheduler decided on the switch, and the kernel's accounts of threads use it.
 */
struct switch_clock {
	__u64 ahead_ns; /* by how much CLOCK_MONOTONIC is ahead */
	__u64 compared_ns; /* CLOCK_MONOTONIC at the last comparison; 0 never */
	__u32 again; /* compare them at this many of the next switches, too */
	__u32 pad_;
};

/* A bound on the drift between the clocks: adjtimex(2) slews by at most 500 ppm. */
#define SWITCH_CLOCK_DRIFT_SHIFT 10
/* Compare at this many switches in a row, once a window has passed or after a pause. */
#define SWITCH_CLOCK_LOOKS 2
#define SWITCH_CLOCK_LOOKS_PAUSE 8

/* Is it time to compare the clocks? now_ns: by the last comparison. */
static __always_inline bool switch_clock_is_due(const struct switch_clock *c, __u64 now_ns)
{
	return c->again || now_ns - c->compared_ns >= SWITCH_WINDOW_NS;
}

/*
 * Compares the clocks. The scheduler's clock was read some time ago, and the difference is too
 * large by that time. So a smaller difference is believed at once, a larger one only as far as
 * clocks can drift. After a pause that is far, and at first there is no bound, so a switch whose
 * clock is stale (it dates from the wake-up before the switch, switch_cpu.h) would put the CPU's
 * time ahead until the next window. Hence several switches are compared: the remaining error is the
 * age of the freshest of them.
 */
static __always_inline void switch_clock_compare(struct switch_clock *c, __u64 scheduler_ns,
						 __u64 monotonic_ns)
{
	__s64 more_ns = (__s64)(monotonic_ns - scheduler_ns - c->ahead_ns);
	__u64 passed_ns = monotonic_ns - c->compared_ns;
	__s64 most_ns = (__s64)(passed_ns >> SWITCH_CLOCK_DRIFT_SHIFT);

	if (c->again)
		c->again--;
	else
		c->again = (passed_ns < 2 * SWITCH_WINDOW_NS ? SWITCH_CLOCK_LOOKS :
							       SWITCH_CLOCK_LOOKS_PAUSE) -
			   1;
	c->ahead_ns += c->compared_ns && more_ns > most_ns ? most_ns : more_ns;
	c->compared_ns = monotonic_ns;
}

/*
 * The time that has passed for a thread since *since_ns, which advances to now_ns. Each CPU
 * compares its clocks separately and corrects overestimates, so a moment may come before an earlier
 * one from another CPU, or from the same one. Then no time has passed, and counting resumes at the
 * old moment: a thread's times on and off the CPU add up, to the nanosecond, to the time between
 * its first and last moment.
 */
static __always_inline __u64 switch_passed(__u64 *since_ns, __u64 now_ns)
{
	__u64 ns = now_ns > *since_ns ? now_ns - *since_ns : 0;

	*since_ns += ns;
	return ns;
}

/* What one CPU has spent. User space reads it at the end, up to the last complete window. */
struct switch_budget {
	__u64 window_ns; /* when the window began */
	__u64 spent_ns; /* spent on stacks in this window, plus what earlier ones overspent */
	__u64 room_ns; /* for stacks in a whole window, judging by the switches of the last one */
	__u32 shift; /* the period is the shortest one << shift */
	__u32 switches; /* in this window */
	/* cost of a switch including reading the clock, by switch_learn(); 0 unknown */
	__u32 fixed;
	__u32 reading; /* cost of reading the clock */
	/*
	 * Totals: time of switches, time of stacks; time during which switches alone took more than
	 * the share, and what they took of it.
	 */
	__u64 switches_ns, stacks_ns, over_ns, over_switches_ns;
};

/* Adds a measurement to an average. */
static __always_inline void switch_learn(__u32 *average, __u64 ns)
{
	__u32 known = *average;

	if (ns > SWITCH_MEASURED_MAX_NS)
		ns = SWITCH_MEASURED_MAX_NS;
	*average = known ? known - (known >> SWITCH_MEASURED_SHIFT) + (__u32)ns :
			   (__u32)ns << SWITCH_MEASURED_SHIFT;
}

/* Is this one of the switches to measure? */
static __always_inline bool switch_is_measured(const struct switch_budget *b)
{
	return !(b->switches % SWITCH_MEASURED);
}

/* The cost of a switch without a stack. */
static __always_inline __u64 switch_fixed_ns(const struct switch_budget *b)
{
	if (b->fixed <= b->reading)
		return SWITCH_FIXED_NS;
	return SWITCH_AROUND_NS + ((b->fixed - b->reading) >> SWITCH_MEASURED_SHIFT);
}

/* What the share of passed_ns leaves for stacks, after so many switches. */
static __always_inline __u64 switch_room(const struct switch_budget *b, __u64 passed_ns)
{
	__u64 share_ns = passed_ns / SWITCH_SHARE;
	__u64 fixed_ns = b->switches * switch_fixed_ns(b);
	__u64 least_ns = share_ns / SWITCH_STACKS_SHARE;

	return fixed_ns + least_ns < share_ns ? share_ns - fixed_ns : least_ns;
}

static __always_inline void switch_begin_window(struct switch_budget *b, __u64 now_ns,
						__u64 room_ns)
{
	__u64 fixed_ns = b->switches * switch_fixed_ns(b), passed_ns = now_ns - b->window_ns;

	b->switches_ns += fixed_ns;
	if (fixed_ns > passed_ns / SWITCH_SHARE) {
		b->over_ns += passed_ns;
		b->over_switches_ns += fixed_ns;
	}
	b->spent_ns -= room_ns < b->spent_ns ? room_ns : b->spent_ns;
	b->window_ns = now_ns;
	b->switches = 0;
}

/*
 * Has the window lasted long enough? The CPU's time may have been set back
 * (switch_clock_compare()).
 */
static __always_inline bool switch_review_is_due(const struct switch_budget *b, __u64 now_ns)
{
	return now_ns >= b->window_ns + SWITCH_WINDOW_NS;
}

/* Ends a window. */
static __always_inline void switch_review(struct switch_budget *b, __u64 now_ns)
{
	__u64 passed_ns = now_ns - b->window_ns, room_ns;

	/* A pause before the window is no reason for a larger share. */
	if (passed_ns > 2 * SWITCH_WINDOW_NS)
		passed_ns = SWITCH_WINDOW_NS;
	room_ns = switch_room(b, passed_ns);
	if (b->shift && b->spent_ns < room_ns * 2 / 5)
		b->shift--; /* twice as many will fit, with a margin against oscillation */
	b->room_ns = room_ns;
	switch_begin_window(b, now_ns, room_ns);
}

/*
 * A stack was taken. A cost longer than any walk means that the walk was interrupted, or the
 * machine suspended. If a whole window's room for stacks is spent, the period becomes longer at
 * once, and what has passed of the window is paid for.
 */
static __always_inline void switch_spend(struct switch_budget *b, __u64 now_ns, __u64 cost_ns)
{
	__u64 most_ns = SWITCH_WINDOW_NS / SWITCH_SHARE / 2;
	__u64 room_ns = b->room_ns ? b->room_ns : SWITCH_WINDOW_NS / SWITCH_SHARE;

	if (cost_ns > most_ns)
		cost_ns = most_ns;
	b->stacks_ns += cost_ns;
	b->spent_ns += cost_ns;
	if (b->spent_ns < room_ns)
		return;
	if (b->shift < SWITCH_PERIOD_SHIFT_MAX - SWITCH_PERIOD_SHIFT_MIN)
		b->shift++;
	if (now_ns > b->window_ns)
		switch_begin_window(b, now_ns, switch_room(b, now_ns - b->window_ns));
}

/* The shortest period for a threshold: the largest power of two not above it. */
static __always_inline __u32 switch_threshold_shift(__u64 threshold_ns)
{
	__u32 shift = SWITCH_PERIOD_SHIFT_MIN;

	while (shift < SWITCH_PERIOD_SHIFT_MAX && 2ULL << shift <= threshold_ns)
		shift++;
	return shift;
}

/* The shift of the period on a CPU with this budget. */
static __always_inline __u32 switch_shift(const struct switch_budget *b, __u32 shortest)
{
	__u32 shift = shortest + b->shift;

	return shift < SWITCH_PERIOD_SHIFT_MAX ? shift : SWITCH_PERIOD_SHIFT_MAX;
}

/*
 * Nanoseconds of short waits until the thread's next point, and how much of that point's period comes
 * after it.
 */
struct switch_point {
	__u32 left, rest;
	__u32 shift; /* shift of that period */
};

/*
 * Places the next point. shift: of its period, at most SWITCH_PERIOD_SHIFT_MAX. The rest of the
 * last point's period comes first.
 */
static __always_inline void switch_next_point(struct switch_point *p, __u32 shift, __u32 random)
{
	__u32 at = random & ((1U << shift) - 1);

	p->left = p->rest + at;
	p->rest = (1U << shift) - at;
	p->shift = shift;
}

/*
 * Is the wait short, with no point in it? Most are; then the next point just gets nearer by the
 * wait's length. shift: of the period of the CPU that the thread comes back to.
 */
static __always_inline bool switch_falls_between(__u32 left, __u64 length_ns, __u32 shift)
{
	return length_ns < left && length_ns < 1ULL << shift;
}

/* The next of a CPU's random numbers: splitmix64, which needs no kernel call. */
static __always_inline __u64 switch_chance(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/*
 * A wait is over: the nanoseconds that its stack stands for; 0: it gets none. shift: of the period,
 * at most SWITCH_PERIOD_SHIFT_MAX. p: of the thread. random: any 64 bits; unused if
 * switch_falls_between().
 */
static __always_inline __u64 switch_period(struct switch_point *p, __u64 length_ns, __u32 shift,
					   __u64 random)
{
	__u64 period_ns = 1ULL << shift, sum_ns = 0;
	__u32 ns;

	if (length_ns >= period_ns)
		return length_ns;
	ns = (__u32)length_ns;
	/*
	 * The wait contains at most one older point. Of the points placed now, the second is more
	 * than a period further on.
	 */
	for (int i = 0; i < 2; i++) {
		if (ns < p->left)
			break;
		ns -= p->left;
		sum_ns += 1ULL << (p->shift & 31);
		switch_next_point(p, shift, (__u32)(random >> 32));
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
	}
	p->left -= ns < p->left ? ns : p->left;
	return sum_ns;
}

/*
 * The same for a wait that is still going on. A thread that has not switched since the begin has no
 * point yet, and its shift is 0. It gets one here: otherwise each such wait would have a stack that
 * stands for next to nothing.
 */
static __always_inline __u64 switch_period_so_far(struct switch_point p, __u64 length_ns,
						  __u32 shift, __u64 random)
{
	if (!p.shift)
		switch_next_point(&p, shift, (__u32)random);
	return switch_period(&p, length_ns, shift, random);
}

#endif /* KRAIT_BPF_WAIT_SWITCH_H */
