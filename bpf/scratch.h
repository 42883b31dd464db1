/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * scratch.h - the memory that a sample needs beyond the 512 bytes of BPF stack, and who may use it when.
 *
 * A sampling program can be interrupted by another one on its CPU: one on a scheduler's switch by a perf
 * event's, which may be an NMI. So each CPU has memory for each context, and a context is a set of programs
 * of which a CPU runs one at a time:
 *  - perf events: the kernel itself lets only one of their programs run on a CPU, whatever they come as
 *    (bpf_prog_active; bpf_overflow_handler() in kernel/events/core.c);
 *  - a tracepoint that cannot meet itself on a CPU: interrupts are off there, or those that come do not lead
 *    to it (the end of a scheduler's switch, with preemption off).
 * A program that can be preempted needs more than a context: another thread's may run before it ends.
 *
 * Must hold: nobody gets memory that is in use. That contexts are as described is the rule, taken is the
 * lock: where the rule is broken, the inner interrupt is lost and counted, and the outer one stays whole.
 */
#ifndef KRAIT_SCRATCH_H
#define KRAIT_SCRATCH_H

#define FRAME_WORDS (sizeof(struct frame) / sizeof(__u64))

struct scratch {
	__u32 taken;
	__u32 index; /* of this memory in the map */
	/* Of the thread, as far as this sample has them for itself; else KRAIT_NO_SLOT, KRAIT_NO_ANCHOR. */
	__u32 slot_index, anchor_index;
	struct thread_search search;
	struct walker walker;
	struct anchor_plan plan;
	struct describer describer;
	struct record_code code;
	struct native_walk native;
	struct task_walk tasks;
	struct greenlet_walk greenlets;
	__u64 regs[TASK_REGS_WORDS]; /* of the thread in user mode */
	__u64 state_addr; /* nogil_is_parked(), of a free-threaded thread; 0 */
	__u32 waits; /* enum wait_flag, of a free-threaded interpreter */
	__u32 expected; /* frames of Python, by the thread's walk before */
	struct interp_facts interp; /* of the sample, until the sections before it are there */
	struct record_sample record;
	struct frame frames[KRAIT_MAX_FRAMES]; /* right behind record: they leave as one record */
	/* Room after the frames: the other sections follow wherever the frames end. */
	__u64 room[2 * KRAIT_MAX_NATIVE + KRAIT_MAX_KERNEL + sizeof(struct wait_facts) / 8 +
		   sizeof(struct interp_facts) / 8 +
		   FRAME_WORDS * (KRAIT_MAX_TASK_PARTS + KRAIT_MAX_GREENLET_PARTS)];
};

/*
 * By context and CPU; sized by user space. Not a per-CPU map: the kernel refuses those with values over
 * 32 KiB (PCPU_MIN_UNIT_SIZE).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps") __weak;

/* Possible CPUs. */
const volatile __u32 cpu_cnt __weak = 1;

/* Memory for one sample, or NULL. */
static __always_inline struct scratch *scratch_take(__u32 context)
{
	__u32 index = context * cpu_cnt + bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratch, &index);

	if (!s || s->taken)
		return NULL;
	s->taken = 1;
	barrier();
	s->index = index;
	return s;
}

static __always_inline void scratch_give_back(struct scratch *s)
{
	barrier();
	s->taken = 0;
}

#endif /* KRAIT_SCRATCH_H */
