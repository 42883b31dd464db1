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

/* Ticks that have hit a CPU on its way from one thread to another: switch_cpu.h. */
struct tick_notes {
	__u64 clock_ns; /* of the run queue, as it was then */
	__u64 period_ns; /* what each stands for */
	__u32 tid; /* whom they hit */
	__u32 event;
	__u32 cnt; /* since the clock is that */
	__u32 before; /* the same thread, before it was */
};

/* Takes in a tick, and those before it that never came. */
static __always_inline void tick_note(struct tick_notes *n, __u64 clock_ns, __u32 tid, __u32 cnt)
{
	if (n->tid != tid) {
		n->cnt = n->before = 0;
	} else if (n->clock_ns != clock_ns) {
		n->before += n->cnt;
		n->cnt = 0;
	}
	n->clock_ns = clock_ns;
	n->tid = tid;
	n->cnt += cnt;
}

/*
 * At a switch, by the clock that the kernel charges both threads by: how many are of the one that leaves, and of the one
 * that comes.
 */
static __always_inline void tick_settle(struct tick_notes *n, __u64 clock_ns, __u32 leaves_tid,
					__u32 *ret_leaves, __u32 *ret_comes)
{
	bool same = n->clock_ns == clock_ns;
	__u32 before = n->before + (same ? 0 : n->cnt);

	*ret_comes = same ? n->cnt : 0;
	*ret_leaves = n->tid == leaves_tid ? before : 0;
	n->cnt = n->before = 0;
}

/* A tick stands for those before it that never came, but for no more than its thread has been on a CPU. */
static __always_inline __u64 tick_made_up(__u64 on_ns, __u64 sampled_ns, __u64 period_ns,
					  __u64 missed)
{
	__u64 lacks_ns = on_ns > sampled_ns ? on_ns - sampled_ns : 0;
	__u64 ns = period_ns * (missed + 1);

	if (ns <= lacks_ns)
		return ns;
	return lacks_ns > period_ns ? lacks_ns : period_ns;
}

/* What a thread's samples lack or have too much of its CPU time is made up by its next ones, one part in so many of each. */
#define TICK_STEERS 16
/* So many periods are chance, and left alone. */
#define TICK_CHANCE 2

/*
 * What a sample is to stand for that would stand for ns, of a thread of whose CPU time, on_ns, samples had sampled_ns:
 * so that in the long run they have all of it, whatever keeps ticks from finding the thread. The sums of its stacks stay
 * to each other as ticks have them: where ticks find one stack more rarely than another, what is made up is the other's, too.
 * At most four times as much, at least half.
 */
static __always_inline __u64 tick_steered(__u64 on_ns, __u64 sampled_ns, __u64 ns)
{
	__u64 have_ns = sampled_ns + ns, chance_ns = TICK_CHANCE * ns, more_ns;

	if (on_ns > have_ns + chance_ns) {
		more_ns = (on_ns - have_ns - chance_ns) / TICK_STEERS;
		return ns + (more_ns < 3 * ns ? more_ns : 3 * ns);
	}
	if (have_ns > on_ns + chance_ns) {
		more_ns = (have_ns - on_ns - chance_ns) / TICK_STEERS;
		return ns - (more_ns < ns / 2 ? more_ns : ns / 2);
	}
	return ns;
}

#endif /* KRAIT_TICK_H */
