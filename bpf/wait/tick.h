/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tick.h - which ticks of a timer never came while threads of tracked processes ran.
 *
 * cpu-clock's timer runs on a grid: if the interrupt is late by more than a period, the kernel
 * moves on to the next point of the grid, and the ticks between are lost (hrtimer_forward_now() in
 * perf_swevent_hrtimer()). Others the kernel does not hand on: those that hit an idle CPU, or come
 * while it throttles the event. So only ticks that hit threads of tracked processes are noted here,
 * and between two of them the points of the grid that fall into the time of the second one's thread
 * on the CPU are ticks that it missed. Those before that are other threads', or nobody's. How late
 * an interrupt is varies; the least delayed ticks show where the grid lies. A clock may have several
 * timers (user/base/system/grids.h), and each has its grid. Also built for the host.
 *
 * Must hold: ticks that are late by less than a period are never counted as missed, except one tick
 * after the timer was restarted; a thread never misses more ticks than were due since it came to
 * the CPU.
 */
#ifndef KRAIT_BPF_WAIT_TICK_H
#define KRAIT_BPF_WAIT_TICK_H

#include "bpf/abi.h"

/* With several timers, a tick is early by less than this part of its timer's period. */
#define TICK_EARLY 32

/*
 * Notes a tick at now_ns; returns how many points of the grid lie between it and the one noted
 * before it. If it comes less than early_ns before a point, that point is its own, and the ticks before
 * were late: this matters if a timer's period is long, since a thread may be gone before the grid is
 * found again. 0: only within the first period.
 */
static __always_inline __u64 tick_passes(struct tick *t, __u64 now_ns, __u64 period_ns,
					 __u64 early_ns)
{
	__u64 passed = now_ns - t->grid_ns, due;

	if (period_ns < TICK_NS_MIN)
		period_ns = TICK_NS_MIN;
	if (!t->grid_ns || passed < period_ns || period_ns != t->period_ns) {
		/*
		 * This is the first tick, or the grid is earlier than it seemed, or it is another
		 * grid.
		 */
		t->period_ns = period_ns;
		t->grid_ns = now_ns;
		return 0;
	}
	due = passed < 2 * period_ns ? 1 : passed / period_ns;
	t->grid_ns += due * period_ns;
	if (t->grid_ns + period_ns - now_ns < early_ns)
		t->grid_ns = now_ns;
	return due - 1;
}

/*
 * How many of the points that the tick at now_ns has passed its thread missed, which had been on
 * the CPU for on_ns.
 */
static __always_inline __u64 tick_missed(const struct tick *t, __u64 points, __u64 now_ns,
					 __u64 on_ns)
{
	__u64 came_ns = on_ns < now_ns ? now_ns - on_ns : 0, since;

	if (came_ns >= t->grid_ns)
		return 0;
	/* Of the points since then one is the tick's own. */
	since = (t->grid_ns - came_ns - 1) / t->period_ns;
	return points < since ? points : since;
}

/*
 * If samples take longer than the time between two ticks, a single timer skips those that came
 * meanwhile, and the thread gets on until its next one. Of several timers, one or another would
 * always be due. So a tick that is late by half of it is skipped, too, if the thread has had next to
 * no time since the sample before it. (A tick may seem late by most of its timer's period and have
 * come a moment before it was due: where the grid lies is known only as well as the least delayed
 * tick shows.) period_ns: between two ticks of all timers.
 */
static __always_inline bool tick_crowds(const struct ticks *all, const struct tick *t, __u64 now_ns,
					__u64 period_ns)
{
	return now_ns - t->grid_ns > period_ns / 2 && now_ns - all->done_ns < period_ns / 8;
}

static __always_inline void tick_skip(struct ticks *all, __u32 tid, __u64 cnt)
{
	if (all->tid != tid)
		all->skipped = 0;
	all->tid = tid;
	all->skipped += cnt;
}

/* How many of the thread's ticks were skipped before the one that becomes a sample. */
static __always_inline __u64 tick_skipped(struct ticks *all, __u32 tid)
{
	__u64 cnt = all->tid == tid ? all->skipped : 0;

	all->skipped = 0;
	return cnt;
}

/* Ticks that hit a CPU on its way from one thread to another: switch_cpu.h. */
struct tick_notes {
	__u64 clock_ns; /* the run queue's clock at that time */
	__u64 period_ns; /* what each stands for */
	__u32 tid; /* the thread that they hit */
	__u32 event;
	__u32 cnt; /* ticks since the clock had that value */
	__u32 before; /* ticks that hit the same thread before that */
};

/* Notes a tick, and those before it that never came. */
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

static __always_inline bool tick_is_noted(const struct tick_notes *n)
{
	return n->cnt | n->before;
}

/*
 * At a switch, by the clock from which the kernel charges both threads: how many ticks belong to
 * the thread that leaves, and how many to the one that comes.
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

/*
 * A tick also stands for those before it that never came, but for no more time than its thread has
 * been on a CPU.
 */
static __always_inline __u64 tick_made_up(__u64 on_ns, __u64 sampled_ns, __u64 period_ns,
					  __u64 missed)
{
	__u64 lacks_ns = on_ns > sampled_ns ? on_ns - sampled_ns : 0;
	__u64 ns = period_ns * (missed + 1);

	if (ns <= lacks_ns)
		return ns;
	return lacks_ns > period_ns ? lacks_ns : period_ns;
}

/*
 * With --wall a thread's samples add up to all of its CPU time, while each stack keeps what ticks
 * found there. If the samples fall short, user space is told, and gives the difference to a mark of
 * its own. If they exceed the CPU time, each further sample takes back this fraction of the excess.
 */
#define TICK_STEERS 16
/*
 * If a thread runs in many short bursts, ticks find more or less of them by chance. That evens out,
 * so this many periods, and a fraction of 1 / (1 << shift) of the thread's time, are tolerated.
 */
#define TICK_CHANCE 16
#define TICK_CHANCE_SHIFT 8

static __always_inline __u64 tick_chance(__u64 on_ns, __u64 period_ns)
{
	return TICK_CHANCE * period_ns + (on_ns >> TICK_CHANCE_SHIFT);
}

/*
 * Of the thread's CPU time on_ns, samples and marks stand for sampled_ns. Returns the units that no
 * tick found; 0 if the gap may be chance.
 */
static __always_inline __u16 tick_unsampled(__u64 on_ns, __u64 sampled_ns, __u64 period_ns)
{
	__u64 units;

	if (on_ns <= sampled_ns + tick_chance(on_ns, period_ns))
		return 0;
	units = (on_ns - sampled_ns) >> UNSAMPLED_SHIFT;
	return units < 0xffff ? (__u16)units : 0xffff;
}

/*
 * What a sample should stand for instead of ns: less, but at least half, if its thread's samples
 * exceed the CPU time.
 */
static __always_inline __u64 tick_eased(__u64 on_ns, __u64 sampled_ns, __u64 ns, __u64 period_ns)
{
	__u64 have_ns = sampled_ns + ns, most_ns = on_ns + tick_chance(on_ns, period_ns), less_ns;

	if (have_ns <= most_ns)
		return ns;
	less_ns = (have_ns - most_ns) / TICK_STEERS;
	return ns - (less_ns < ns / 2 ? less_ns : ns / 2);
}

#endif /* KRAIT_BPF_WAIT_TICK_H */
