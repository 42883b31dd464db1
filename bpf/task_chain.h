/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_chain.h - the section of a sample with asyncio tasks: the one that the thread runs, and
 * those that await it (tasks.h).
 *
 * Must hold: for a process without an entry the cost is one map lookup, and none if no process has
 * one. A thread without a running task costs one more word of memory.
 */
#ifndef KRAIT_TASK_CHAIN_H
#define KRAIT_TASK_CHAIN_H

/*
 * Describes the code object of a part, as for the thread's own frames: code that awaits may never
 * have been sampled on a CPU.
 */
static __always_inline int describe_part(struct scratch *s, const struct py_offsets *off)
{
	struct describer *d = &s->describer;
	__u32 index = d->index;
	__u64 *room = section_room(s, FRAME_WORDS * index, FRAME_WORDS);

	if (index >= d->frame_cnt || !room)
		return 1;
	d->index = index + 1;
	describe_frame(s, off, (struct frame *)room);
	return 0;
}

static long describe_part_loop(__u32 index, void *data)
{
	struct loop_ctx *c = data;

	return describe_part(c->s, c->off);
}

__weak __noinline int bounded_describe_part(__u32 memory, __u32 layout)
{
	struct loop_ctx c;

	return loop_ctx_of(&c, memory, layout) ? describe_part(c.s, c.off) : 1;
}

/* Describes the code objects of the section that comes next. */
static __always_inline void describe_parts(struct loop_ctx *c, struct proc_info *proc, __u32 cnt,
					   bool has_loop)
{
	__u32 memory = c->s->index;

	describe_plan(c->s, proc);
	c->s->describer.frame_cnt = cnt;
	if (has_loop) {
		bpf_loop(KRAIT_MAX_TASK_PARTS, describe_part_loop, c, 0);
	} else {
		for (int i = 0; i < KRAIT_MAX_TASK_PARTS; i++) {
			if (bounded_describe_part(memory, proc->layout))
				break;
		}
	}
	describe_settle(c->s, proc);
}

/* Settles the part of the chain's last task. */
static __always_inline void settle_last_task(struct scratch *s)
{
	__u64 *part = section_room(s, FRAME_WORDS * s->tasks.task_at, FRAME_WORDS);

	task_walk_stop(&s->tasks);
	if (part)
		task_settle(&s->tasks, (struct frame *)part);
}

static __always_inline void take_tasks(const struct trigger *t, struct scratch *s,
				       struct proc_info *proc)
{
	__u32 pid = s->record.pid, layout = proc->layout;
	const struct task_layout *l = bpf_map_lookup_elem(&task_layouts, &pid);
	struct loop_ctx c = { .s = s };
	__u64 task_addr = 0;

	if (!l || !s->record.tstate_addr || !same_start(l->start_ns, proc->start_ns))
		return;
	c.off = bpf_map_lookup_elem(&layouts, &layout);
	if (!c.off || read_user_u64(&task_addr, s->record.tstate_addr + l->running_task) ||
	    !task_addr)
		return;
	task_walk_begin(&s->tasks, task_addr, want_task_names);
	walk_tasks(&c, layout, l, t->has_loop);
	if (!s->tasks.cnt)
		return;
	settle_last_task(s);
	describe_parts(&c, proc, s->tasks.cnt, t->has_loop);
	section_append(&s->record, SECTION_TASKS,
		       s->tasks.cnt < KRAIT_MAX_TASK_PARTS ? s->tasks.cnt : KRAIT_MAX_TASK_PARTS);
}

#endif /* KRAIT_TASK_CHAIN_H */
