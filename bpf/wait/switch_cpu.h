/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch_cpu.h - the state of one CPU where switches and ticks meet: ticks of a clock that hit the
 * CPU on its way to another thread.
 *
 * A wake-up updates the run queue's clock, and the switch that follows does not: the clock is then
 * as old as the wake-up (rq_clock_skip_update() in wakeup_preempt(), kernel/sched/core.c). So the
 * kernel charges the rest of that interrupt to the woken thread, but a tick during it finds the
 * previous thread still there. There are more such ticks than this time would explain: timer
 * interrupts come late, and everything due by then is done in the same interrupt, after the
 * wake-up. A thread that a timer wakes thousands of times a second had a third of its CPU time, and
 * the threads that it interrupted had the rest.
 *
 * So such a tick is noted, and the switch decides whose it was: if the clock is still the same, it
 * belongs to the thread that comes, else to the one that leaves. Either thread's stack is taken
 * when it comes to a CPU again, where it is unchanged.
 *
 * Must hold: a tick becomes one sample of one thread, or is counted as missed.
 */
#ifndef KRAIT_BPF_WAIT_SWITCH_CPU_H
#define KRAIT_BPF_WAIT_SWITCH_CPU_H

#include "bpf/abi.h"
#include "bpf/map/sampling.h"
#include "bpf/wait/switch.h"
#include "bpf/wait/tick.h"
#include "bpf/wait/wait.h"

struct switch_cpu {
	struct switch_budget budget; /* first, because user space reads it */
	/* before this time no switch has to look at the clocks or the budget: switch_is_plain() */
	__u64 due_ns;
	struct switch_clock clock;
	struct tick_notes noted; /* ticks that hit the CPU on its way to another thread */
	__u64 chance; /* of switch_chance() */
	/* what the stack of the coming thread's wait stands for; 0: none is taken */
	__u64 period_ns;
	__u64 came_ns; /* when the thread came, by the clock that measured its wait */
	struct wait_note note; /* about its wait */
	__u32 tid;
	__u32 ticks, ticks_ns; /* ticks that the stack also stands for, and their CPU time */
	__u32 has_come; /* this switch is known to go to a thread of a tracked process */
	__u32 is_due; /* the stack of the coming thread is to be taken */
	__u32 pad_;
};

/* Indexed by wait_place(); sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_wait);
} waits SEC(".maps") __weak;

/*
 * Account for all time on a CPU: a tick also stands for those before it that never came, and user
 * space is told what no tick found.
 */
const volatile bool make_up_ticks __weak = false;
/* The period of the clock that has these ticks. */
const volatile __u64 whole_period_ns __weak = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_cpu);
} switch_cpus SEC(".maps") __weak;

/* now_ns: by the last comparison of the clocks. */
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

/* As switch_passed(), for a thread that goes on. */
static __always_inline __u64 passed(__u64 since_ns, __u64 now_ns)
{
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

static __always_inline struct switch_cpu *switch_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_cpus, &zero);
}

/* Counts ticks of tracked threads that nobody will make samples of. */
static __always_inline void miss_ticks(__u32 event, __u64 cnt)
{
	struct event_counts *counts = cnt ? bpf_map_lookup_elem(&event_counts, &event) : NULL;

	if (counts)
		counts->missed += cnt;
}

#endif /* KRAIT_BPF_WAIT_SWITCH_CPU_H */
