/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_stack.h - the sections of a sample that are not Python's: native frames of user mode, and the
 * kernel's.
 */
#ifndef KRAIT_NATIVE_STACK_H
#define KRAIT_NATIVE_STACK_H

/* The user registers: those of the interrupt, or what the kernel saved when it was entered. */
static __always_inline int find_regs(const struct trigger *t, struct scratch *s,
				     struct task_struct *task, struct native_regs *ret)
{
	if (!(s->record.flags & SAMPLE_KERNEL)) {
		*ret = t->regs;
		return 0;
	}
	if (bpf_probe_read_kernel(s->regs, sizeof(s->regs), task_saved_regs(task, has_task_regs)))
		return -1;
	*ret = (struct native_regs){ s->regs[REG_IP], s->regs[REG_SP], s->regs[REG_FP] };
	return MODE_IS_USER(s->regs[REG_MODE]) ? 0 : -1;
}

static __always_inline void take_native(const struct trigger *t, struct scratch *s,
					struct task_struct *task)
{
	struct loop_ctx c = { .s = s };
	struct native_regs regs;

	if (find_regs(t, s, task, &regs)) {
		s->record.native_reason = NATIVE_NO_REGS;
		return;
	}
	native_begin(&s->native, &regs);
	walk_native_frames(&c, t->has_loop);
	s->record.native_reason = s->native.reason;
	section_append(&s->record, SECTION_NATIVE, s->native.cnt);
	s->leaf_addr = regs.sp;
}

/* After the kernel's frames, as sections have their order. */
static __always_inline void take_leaf(struct scratch *s)
{
	__u64 *room = section_room(s, 0, KRAIT_LEAF_WORDS);

	if (room && s->record.cnt[SECTION_NATIVE] &&
	    !read_user(room, KRAIT_LEAF_WORDS * sizeof(*room), s->leaf_addr))
		section_append(&s->record, SECTION_LEAF, KRAIT_LEAF_WORDS);
}

static __always_inline void take_kernel(const struct trigger *t, struct scratch *s)
{
	__u64 *room = section_room(s, 0, KRAIT_MAX_KERNEL);
	long size;

	if (!room)
		return;
	size = bpf_get_stack(t->ctx, room, KRAIT_MAX_KERNEL * sizeof(*room), 0);
	if (size > 0)
		section_append(&s->record, SECTION_KERNEL, size / sizeof(*room));
}

/* Behind the Python frames, which are settled: what is native, as far as it is wanted. */
static __always_inline void take_native_and_kernel(const struct trigger *t, struct scratch *s,
						   struct task_struct *task)
{
	__u32 reason = s->record.reason;
	bool wanted = want_native && reason != REASON_EXITING && reason != REASON_EXECING;

	if (reason_outcome(reason) == OUTCOME_LOST)
		return;
	if (wanted)
		take_native(t, s, task);
	if (want_kernel && s->record.flags & SAMPLE_KERNEL && t->has_kernel_stack)
		take_kernel(t, s);
	if (wanted)
		take_leaf(s);
}

#endif /* KRAIT_NATIVE_STACK_H */
