/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch.h - which waits of a thread get a stack, and for how much time each stack stands.
 *
 * A wait of at least one period gets a stack and counts as long as it was. Shorter ones share stacks as interrupts
 * of a clock share CPU time: a point is laid somewhere on each period of the time that a thread has spent in its
 * short waits, and the wait that a point falls into gets a stack that stands for that period. So a wait has its
 * stack with the probability length / period; what all of them stand for is right on average, for each stack that
 * there is, and for the thread right to a period. Where in its period a point is, is up to chance, so that no
 * rhythm of the program can keep step with them.
 *
 * A CPU that has spent too much on stacks makes the period longer, by powers of two: that changes how many
 * stacks there are, not what they add up to. A point keeps the period that it was laid for: a thread that moves
 * between CPUs with different ones is right to the longest of them. Built for the host, too.
 *
 * Must hold: on each CPU switches and their stacks take no more than one part in SWITCH_SHARE of the time, but for the
 * first moments of a burst, and where the switches alone are nearly as much: no switch can be passed over, as a long wait
 * is known only where its begin was noted. What is taken does not depend on what has not yet happened.
 */
#ifndef KRAIT_SWITCH_H
#define KRAIT_SWITCH_H

/* The period is a power of two, in ns: 1.05 ms unless asked for another, and these at the least and most. */
#define SWITCH_PERIOD_SHIFT 20
#define SWITCH_PERIOD_SHIFT_MIN 13
#define SWITCH_PERIOD_SHIFT_MAX 30
/* 1/50 of the time: 2 %, stacks and all. */
#define SWITCH_SHARE 50
/*
 * What a switch of a tracked thread costs without a stack: as long as nothing is known of it; what the program that
 * decides cannot see, being called, and the other program (docs/MEASUREMENTS.md); and of so many switches one is
 * measured, from reading the clock to reading it again. What takes longer than that was interrupted.
 */
#define SWITCH_FIXED_NS 60
#define SWITCH_AROUND_NS 60
#define SWITCH_MEASURED 64
#define SWITCH_MEASURED_MAX_NS 1000
/* What is measured is kept in parts of a nanosecond, and each measurement counts one part in so many. */
#define SWITCH_MEASURED_SHIFT 4
/* One part in so many of a share is for stacks, however many switches there are. */
#define SWITCH_STACKS_SHARE 16
/* The period is reviewed that often, and at once where the whole window's share is spent. */
#define SWITCH_WINDOW_SHIFT 24
#define SWITCH_WINDOW_NS (1ULL << SWITCH_WINDOW_SHIFT)

/*
 * What a CPU adds to the scheduler's own clock to have CLOCK_MONOTONIC. That clock is read by a load, where asking the
 * kernel for the time is dearer than all else at a switch; it says when the scheduler decided on the switch, and is what
 * the kernel's accounts of threads go by.
 */
struct switch_clock {
	__u64 ahead_ns; /* CLOCK_MONOTONIC is */
	__u64 compared_ns; /* CLOCK_MONOTONIC when they were compared; 0 never */
	__u32 again; /* so many of the next switches compare them, too */
	__u32 pad_;
};

/* No clock of time is set faster or slower by more than this part of what passes (500 in a million; adjtimex(2)). */
#define SWITCH_CLOCK_DRIFT_SHIFT 10
/* At so many switches in a row clocks are compared once a window has passed, and at so many after a pause. */
#define SWITCH_CLOCK_LOOKS 2
#define SWITCH_CLOCK_LOOKS_PAUSE 8

/* Is it time to compare them? now_ns: by what is believed so far. */
static __always_inline bool switch_clock_is_due(const struct switch_clock *c, __u64 now_ns)
{
	return c->again || now_ns - c->compared_ns >= SWITCH_WINDOW_NS;
}

/*
 * Compares them. The scheduler's clock was read some time before, by as much the difference is too large: so what is less
 * is believed at once, what is more only as far as clocks can drift. After a pause that is far, and at first there is no
 * bound, so a switch whose clock is old (it goes by the wake-up before it, switch_cpu.h) would put the CPU's time ahead
 * until the next window. Hence several switches: what is left is the age of the youngest of them.
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
 * The time that has passed for a thread since *since_ns, which goes on to now_ns. Each CPU has compared its clocks for
 * itself, and takes back what was too much: so a moment on one may be before an earlier one on another, or on itself.
 * Then nothing has passed, and from the same moment on time is counted once: what a thread has been on a CPU and off it
 * is, to the nanosecond, what lies between the first of its moments and the last.
 */
static __always_inline __u64 switch_passed(__u64 *since_ns, __u64 now_ns)
{
	__u64 ns = now_ns > *since_ns ? now_ns - *since_ns : 0;

	*since_ns += ns;
	return ns;
}

/* What one CPU has spent. User space reads it at the end, up to the last window. */
struct switch_budget {
	__u64 window_ns; /* when it began */
	__u64 spent_ns; /* on stacks: in it, and what was too much before */
	__u64 room_ns; /* for stacks, in a whole window, by the switches of the last one */
	__u32 shift; /* the period is that many times twice the shortest one */
	__u32 switches; /* in it */
	__u32 fixed; /* switch_learn(): of a switch, with reading the clock; 0 nothing is known */
	__u32 reading; /* of reading the clock */
	/* In all: switches, stacks; and how long switches alone took more than the share, and what they took of that time. */
	__u64 switches_ns, stacks_ns, over_ns, over_switches_ns;
};

/* Takes a measurement into an average. */
static __always_inline void switch_learn(__u32 *average, __u64 ns)
{
	__u32 known = *average;

	if (ns > SWITCH_MEASURED_MAX_NS)
		ns = SWITCH_MEASURED_MAX_NS;
	*average = known ? known - (known >> SWITCH_MEASURED_SHIFT) + (__u32)ns :
			   (__u32)ns << SWITCH_MEASURED_SHIFT;
}

/* Of so many switches one is measured. */
static __always_inline bool switch_is_measured(const struct switch_budget *b)
{
	return !(b->switches % SWITCH_MEASURED);
}

/* What a switch costs without a stack. */
static __always_inline __u64 switch_fixed_ns(const struct switch_budget *b)
{
	if (b->fixed <= b->reading)
		return SWITCH_FIXED_NS;
	return SWITCH_AROUND_NS + ((b->fixed - b->reading) >> SWITCH_MEASURED_SHIFT);
}

/* What so many switches leave for stacks of the share of so much time. */
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

/* Has the window lasted long enough? The CPU's time may be set back (switch_clock_compare()). */
static __always_inline bool switch_review_is_due(const struct switch_budget *b, __u64 now_ns)
{
	return now_ns >= b->window_ns + SWITCH_WINDOW_NS;
}

/* A window is over. */
static __always_inline void switch_review(struct switch_budget *b, __u64 now_ns)
{
	__u64 passed_ns = now_ns - b->window_ns, room_ns;

	/* A pause before it is no reason for a greater share. */
	if (passed_ns > 2 * SWITCH_WINDOW_NS)
		passed_ns = SWITCH_WINDOW_NS;
	room_ns = switch_room(b, passed_ns);
	if (b->shift && b->spent_ns < room_ns * 2 / 5)
		b->shift--; /* twice as many fit, and some more: it does not go up and down */
	b->room_ns = room_ns;
	switch_begin_window(b, now_ns, room_ns);
}

/*
 * A stack was taken. What takes longer than any walk was interrupted, or the machine was away. Where what a whole window has
 * for stacks is spent, the period becomes longer at once, and what has passed of the window is paid for.
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

/* The shortest period for a threshold: the power of two that is not longer. */
static __always_inline __u32 switch_threshold_shift(__u64 threshold_ns)
{
	__u32 shift = SWITCH_PERIOD_SHIFT_MIN;

	while (shift < SWITCH_PERIOD_SHIFT_MAX && 2ULL << shift <= threshold_ns)
		shift++;
	return shift;
}

/* The period, by its shift, on a CPU that has spent so much. */
static __always_inline __u32 switch_shift(const struct switch_budget *b, __u32 shortest)
{
	__u32 shift = shortest + b->shift;

	return shift < SWITCH_PERIOD_SHIFT_MAX ? shift : SWITCH_PERIOD_SHIFT_MAX;
}

/* A thread's next point, in ns of its short waits: how far away it is, and what is behind it of its period. */
struct switch_point {
	__u32 left, rest;
	__u32 shift; /* that period, by its shift */
};

/* shift: of the period to lay it in, at most SWITCH_PERIOD_SHIFT_MAX. What is behind the last point comes first. */
static __always_inline void switch_next_point(struct switch_point *p, __u32 shift, __u32 random)
{
	__u32 at = random & ((1U << shift) - 1);

	p->left = p->rest + at;
	p->rest = (1U << shift) - at;
	p->shift = shift;
}

/*
 * Is it short, and no point falls into it? So it is with most; then all that changes is that the next point is nearer by
 * its length. shift: of the period of the CPU that the thread comes back to.
 */
static __always_inline bool switch_falls_between(__u32 left, __u64 length_ns, __u32 shift)
{
	return length_ns < left && length_ns < 1ULL << shift;
}

/* The next of a CPU's random numbers: splitmix64, which needs no call of the kernel. */
static __always_inline __u64 switch_chance(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/*
 * A wait is over. The nanoseconds that its stack stands for, 0 where it gets none. shift: of the period, at most
 * SWITCH_PERIOD_SHIFT_MAX. p: of its thread. random: any 64 bits, unless switch_falls_between().
 */
static __always_inline __u64 switch_period(struct switch_point *p, __u64 length_ns, __u32 shift,
					   __u64 random)
{
	__u64 period_ns = 1ULL << shift, sum_ns = 0;
	__u32 ns;

	if (length_ns >= period_ns)
		return length_ns;
	ns = (__u32)length_ns;
	/* One point was laid before; of those that are laid now a second one is more than a period further on. */
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
 * The same of a wait that lasts still. A thread that has not switched since the begin has no point yet, and its shift is 0:
 * one is laid, or each such wait would have a stack, for next to nothing.
 */
static __always_inline __u64 switch_period_so_far(struct switch_point p, __u64 length_ns,
						  __u32 shift, __u64 random)
{
	if (!p.shift)
		switch_next_point(&p, shift, (__u32)random);
	return switch_period(&p, length_ns, shift, random);
}

#endif /* KRAIT_SWITCH_H */
