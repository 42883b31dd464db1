/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * scratch.h - the memory that a sample needs beyond the 512 bytes of BPF stack, and who may use it
 * when.
 *
 * One sampling program can interrupt another on the same CPU: a perf event's, which may be an NMI,
 * interrupts one at a scheduler's switch. So each CPU has memory for each context, and a context is
 * a set of programs of which a CPU runs only one at a time:
 *  - perf events, and tracepoints that are events: the kernel itself lets only one of their programs run on a CPU,
 *    whatever triggers them (bpf_prog_active; bpf_overflow_handler() in kernel/events/core.c, trace_call_bpf() in
 *    kernel/trace/bpf_trace.c);
 *  - a tracepoint that cannot interrupt itself on a CPU: interrupts are off there, or those that
 *    come do not lead to it (the end of a scheduler's switch, with preemption off).
 *
 * A program that can be preempted needs more than a context of its own: another thread may run the
 * same program before it ends. That of probes in code can, since 6.0 (bpf_prog_run_array_uprobe()): there the flag is
 * a number, so that two never have it.
 *
 * Must hold: nobody gets memory that is in use. The contexts should guarantee it; the flag `taken`
 * enforces it: if a context is not as described, the inner interrupt is lost and counted, and the
 * outer one stays whole.
 */
#ifndef KRAIT_BPF_MAP_SCRATCH_H
#define KRAIT_BPF_MAP_SCRATCH_H

#include "bpf/abi.h"
#include "bpf/map/procs.h"
#include "bpf/python/anchor.h"
#include "bpf/python/code_object.h"
#include "bpf/python/gil.h"
#include "bpf/python/greenlets.h"
#include "bpf/native/walk_state.h"
#include "bpf/kernel_task.h"
#include "bpf/python/asyncio_tasks.h"
#include "bpf/python/thread.h"
#include "bpf/python/walker.h"

#define FRAME_WORDS (sizeof(struct frame) / sizeof(__u64))

/* The search for the frame that called the leaf: activation.h. */
struct caller_search {
	__u64 end; /* where the caller ends if it is on the data stack */
	__u64 addr[2]; /* the first ones found */
	__u32 cnt;
	__u32 has_leaf; /* a register has the leaf */
	struct thread_top top; /* the leaf's activation */
};

/*
 * What every sample uses lies together, between large arrays: after a millisecond of other work each
 * page and line is one that the CPU has to fetch again.
 */
struct scratch {
	__u64 regs[UNWIND_SAVED_WORDS]; /* of the thread, user mode */
	__u32 groups[TASK_GROUPS_MAX]; /* its supplementary groups */
	struct walker walker;
	struct thread_search search;
	struct anchor_plan plan;
	struct describer describer;
	__u32 taken;
	__u32 index; /* index of this memory in the map */
	/*
	 * The thread's slot and anchor, if this sample has exclusive use of them; else
	 * KRAIT_NO_SLOT, KRAIT_NO_ANCHOR.
	 */
	__u32 slot_index, anchor_index;
	__u32 expected; /* expected number of Python frames, from the thread's previous walk */
	__u32 waits; /* enum wait_flag, of a free-threaded interpreter */
	/* For end_sample(): when the program began to be measured, or 0; and what is lost if the sample is. */
	__u64 began_ns, wait_ns;
	struct gil gil; /* of the thread's interpreter, valid if states are wanted */
	__u64 state_addr; /* for nogil_is_parked(), in a free-threaded thread; else 0 */
	/*
	 * A copy of the process's entry, as the sample began: global functions, whose parameters cannot be
	 * pointers, need no look-up. What they change in it is written back (settle_process()).
	 */
	struct proc_info proc;
	/* of the sample, kept until the sections before it are written */
	struct interp_facts interp;
	struct record_sample record;
	/* right after record, because they leave as one record */
	struct frame frames[KRAIT_MAX_FRAMES];
	/* Room after the frames: the other sections follow wherever the frames end. */
	__u64 room[2 * KRAIT_MAX_NATIVE + KRAIT_MAX_KERNEL + sizeof(struct wait_facts) / 8 +
		   sizeof(struct interp_facts) / 8 +
		   FRAME_WORDS * (KRAIT_MAX_TASK_PARTS + KRAIT_MAX_GREENLET_PARTS) + 1];
	struct native_walk native;
	struct task_walk tasks;
	struct greenlet_walk greenlets;
	struct record_code code;
	struct frame leaf; /* activation.h */
	struct caller_search caller;
};

/*
 * By context and CPU; sized by user space. Not a per-CPU map, because the kernel refuses those with
 * values over 32 KiB (PCPU_MIN_UNIT_SIZE).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps") __weak;

/* Possible CPUs. */
const volatile __u32 cpu_cnt __weak = 1;

/* Takes memory for one sample; NULL if it is in use. */
static __always_inline struct scratch *scratch_take(__u32 context)
{
	__u32 index = context * cpu_cnt + bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratch, &index);

	if (!s)
		return NULL;
	if (context != CONTEXT_PROBE) {
		if (s->taken)
			return NULL;
		s->taken = 1;
	} else {
		/* Whoever comes between these two steps sees 2, and who then goes on here sees what the other has left. */
		atomic_add(&s->taken, 1);
		if (*(volatile __u32 *)&s->taken != 1) {
			atomic_add(&s->taken, -1);
			return NULL;
		}
	}
	barrier();
	s->index = index;
	return s;
}

/* The memory that an earlier program of this context has taken; NULL: none has. */
static __always_inline struct scratch *scratch_taken(__u32 context)
{
	__u32 index = context * cpu_cnt + bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratch, &index);

	return s && s->taken ? s : NULL;
}

static __always_inline void scratch_give_back(struct scratch *s, __u32 context)
{
	barrier();
	if (context == CONTEXT_PROBE)
		atomic_add(&s->taken, -1);
	else
		s->taken = 0;
}

#endif /* KRAIT_BPF_MAP_SCRATCH_H */
