/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_wait.h - finds the entry of a thread in the map of waits, and the facts about a task that
 * such an entry begins with.
 *
 * Direct loads, since the verifier knows the types of a BTF tracepoint's arguments: half the price
 * of helpers.
 */
#ifndef KRAIT_BPF_WAIT_THREAD_WAIT_H
#define KRAIT_BPF_WAIT_THREAD_WAIT_H

#include "bpf/abi.h"
#include "bpf/wait/switch_cpu.h"

/* Start of the recording, CLOCK_MONOTONIC: no time before it is counted. */
volatile __u64 switch_from_ns __weak = ~0ULL;

static __always_inline struct thread_wait *wait_at(struct task_struct *task, int second)
{
	__u32 place = wait_place(task->pid, second);

	return bpf_map_lookup_elem(&waits, &place);
}

static __always_inline bool is_of(const struct thread_wait *w, struct task_struct *task)
{
	return w && w->thread_start_ns == task->start_boottime && w->tid == (__u32)task->pid;
}

static __always_inline struct thread_wait *find_wait(struct task_struct *task)
{
	struct thread_wait *w = wait_at(task, 0);

	if (is_of(w, task))
		return w;
	w = wait_at(task, 1);
	return is_of(w, task) ? w : NULL;
}

/* The name of task_struct.__state up to 5.13. */
struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

static __always_inline __u16 task_state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* Since when a thread whose entry begins has been doing what it does now, as far as it counts. */
static __always_inline __u64 wait_first_since(const struct task_struct *task,
					      const struct proc_info *proc)
{
	return later(later(switch_from_ns, proc->since_ns), task->start_time);
}

#endif /* KRAIT_BPF_WAIT_THREAD_WAIT_H */
