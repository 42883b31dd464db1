/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch_cpu.h - what goes on on one CPU, where switches and ticks meet: ticks of a clock that hit it on its way to
 * another thread.
 *
 * A wake-up brings the clock of the run queue up to date, and the switch that follows does not: it is as old as that
 * wake-up (rq_clock_skip_update() in wakeup_preempt(), kernel/sched/core.c). So the kernel charges the rest of that
 * interrupt to the thread that was woken, but whatever ticks meanwhile finds the one that is still there. There are more
 * such ticks than that time has: interrupts of timers come late, and all that is due by then is done in the same one,
 * behind the wake-up. A thread that a timer wakes thousands of times a second had a third of its CPU time, and those
 * that it interrupted had the rest.
 *
 * So such a tick is noted, and whose it was is known at the switch: if the clock is still the same, of the thread that
 * comes, else of the one that leaves. Either has its stack taken as it comes to a CPU again, where it is what it was.
 *
 * Must hold: a tick becomes one sample of one thread, or is counted as missed.
 */
#ifndef KRAIT_SWITCH_CPU_H
#define KRAIT_SWITCH_CPU_H

#include "switch.h"
#include "tick.h"
#include "wait.h"

struct switch_cpu {
	struct switch_budget budget; /* first: user space reads it */
	__u64 due_ns; /* until then no switch has to look at the clocks, nor at the budget: switch_is_plain() */
	struct switch_clock clock;
	struct tick_notes noted; /* ticks that hit the CPU on its way */
	__u64 chance; /* switch_chance() */
	__u64 period_ns; /* of the wait's stack to take of the thread that comes; 0 none */
	__u64 came_ns; /* when it came, by the same clock as its wait's length */
	struct wait_note note; /* of its wait */
	__u32 tid;
	__u32 ticks, ticks_ns; /* that the stack stands for, too, and their CPU time */
	__u32 has_come; /* the switch that is under way is known, to a thread of a tracked process */
	__u32 is_due; /* a stack is to be taken of the thread that comes */
	__u32 pad_;
};

/* By wait_place(); sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_wait);
} waits SEC(".maps") __weak;

/* Time on a CPU is to be whole: a tick that comes stands for those before it, too, that never did; what no tick found is told. */
const volatile bool make_up_ticks __weak = false;
/* The period of the clock whose ticks these are. */
const volatile __u64 whole_period_ns __weak = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_cpu);
} switch_cpus SEC(".maps") __weak;

/* By the time that is believed so far. */
static __always_inline bool switch_is_plain(const struct switch_cpu *cpu, __u64 now_ns)
{
	return now_ns < cpu->due_ns;
}

static __always_inline __u64 switch_next_due(const struct switch_cpu *cpu)
{
	__u64 clock_ns = cpu->clock.again ? 0 : cpu->clock.compared_ns + SWITCH_WINDOW_NS;
	__u64 budget_ns = cpu->budget.window_ns + SWITCH_WINDOW_NS;

	return clock_ns < budget_ns ? clock_ns : budget_ns;
}

/* As switch_passed(), of a thread that goes on. */
static __always_inline __u64 passed(__u64 since_ns, __u64 now_ns)
{
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

static __always_inline struct switch_cpu *switch_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_cpus, &zero);
}

/* Of threads of tracked processes, and nobody will make samples of them. */
static __always_inline void miss_ticks(__u32 event, __u32 cnt)
{
	struct event_counts *counts = cnt ? bpf_map_lookup_elem(&event_counts, &event) : NULL;

	if (counts)
		counts->tick.missed_here += cnt;
}

#endif /* KRAIT_SWITCH_CPU_H */
