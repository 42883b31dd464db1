/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * activation.h - finds the previous activation while C code is just entering the interpreter.
 *
 * In CPython 3.11 and 3.12 _PyEval_EvalFrameDefault() (Python/ceval.c) publishes the _PyCFrame of a
 * new activation some instructions before it fills it. Until then compilers keep the address of the
 * previous one in a vector register, which no BPF program can read. But the previous one belongs to
 * a call of the same function further down the C stack, so it is as far below the end of that C
 * frame as the new one is below the end of its own. The new one's C frame is the leaf, because the
 * function calls nothing before it has filled the _PyCFrame.
 *
 * Must hold: the address found this way is a guess. A walk from it is believed only if it is whole,
 * that is if it leads through each activation below (walk.h). An activation that has already ended
 * leads there, too, while its caller still runs what it ran then; but then the frame of the new
 * activation lies where the old one's did.
 */
#ifndef KRAIT_ACTIVATION_H
#define KRAIT_ACTIVATION_H

/* C frames to look at, and bytes of the leaf's frame. */
#define ACTIVATION_FRAMES 64
#define ACTIVATION_LEAF_BYTES 4096

/*
 * Where a C frame ends; 0 if unknown. s->native has stored the frames at the start of the record's
 * sections.
 */
static __always_inline __u64 native_frame_end(struct scratch *s, __u32 index)
{
	const struct native_frame *f =
		(const void *)section_room(s, NATIVE_WORDS * index, NATIVE_WORDS);

	return f && index < s->native.cnt && !(f->frame_addr & NATIVE_BY_FP) ? f->frame_addr : 0;
}

/* Can addr hold an activation that has made a call? */
static __always_inline bool activation_is_there(struct thread_search *t,
						const struct py_offsets *off, __u64 addr,
						struct thread_top *ret)
{
	if (thread_activation(t, off, addr, ret))
		return false;
	return ret->frame_addr && !((ret->frame_addr | ret->cframe_previous_addr) & TAG_BITS) &&
	       (ret->cframe_previous_addr > addr ||
		ret->cframe_previous_addr - t->tstate_addr < KRAIT_CFRAME_THREAD);
}

struct activation_search {
	struct loop_ctx c;
	__u64 found;
	__u64 end; /* where the last C frame looked at ends */
	__u64 below; /* how far below the end of its C frame an activation lies */
	struct thread_top top; /* of the activation that was found */
};

/* Looks at the C frame with that index, the next one. Returns 1 when the search is over. */
static __always_inline int activation_step(struct activation_search *a, __u32 index)
{
	struct scratch *s = a->c.s;
	__u64 begin = a->end;

	a->end = native_frame_end(s, index);
	if (a->end <= begin)
		return 1;
	if (a->end - begin >= a->below)
		a->found = activation_is_there(&s->search, a->c.off, a->end - a->below, &a->top);
	return a->found;
}

static long activation_loop(__u32 index, void *data)
{
	return activation_step(data, index + 1) ? 1 : 0;
}

/* Finds the activation that called the thread's newest one. Returns 0, or -1 if none is visible. */
static __always_inline int activation_before(struct activation_search *a, bool has_loop)
{
	struct scratch *s = a->c.s;

	a->end = native_frame_end(s, 0);
	a->below = a->end - THREAD_FIELD(&s->search, a->c.off, cframe);
	if (a->below - 1 >= ACTIVATION_LEAF_BYTES)
		return -1;
	if (has_loop) {
		bpf_loop(ACTIVATION_FRAMES - 1, activation_loop, a, 0);
	} else {
		for (__u32 i = 1; i < ACTIVATION_FRAMES; i++) {
			if (activation_step(a, i))
				break;
		}
	}
	return a->found ? 0 : -1;
}

/* Prepares the walk from there. Returns 0, or -1. */
static __always_inline int begin_activation(__u32 memory, __u32 layout, bool has_loop)
{
	struct activation_search a = {};
	struct proc_info *proc;

	if (!loop_ctx_of(&a.c, memory, layout))
		return -1;
	proc = sampled_process(a.c.s);
	if (!proc || activation_before(&a, has_loop))
		return -1;
	walk_begin(&a.c.s->walker, a.top.frame_addr, 0, 0);
	walk_begin_cframe(&a.c.s->walker, a.c.s->search.tstate_addr, a.top.cframe_addr,
			  a.top.cframe_previous_addr);
	return 0;
}

GLOBAL_FLAVOURS(begin_activation, (__u32 memory, __u32 layout), memory, layout)

/*
 * Tries again if the newest activation is impossible. Leaves the Python frames in s->frames and
 * returns the outcome's reason.
 */
static __always_inline __u32 take_activation_before(const struct trigger *t, struct scratch *s,
						    const struct proc_info *proc,
						    struct task_struct *task)
{
	__u32 layout = proc->layout;
	const struct py_offsets *off = bpf_map_lookup_elem(&layouts, &layout);

	if (!want_native || !natives_on || !off || !(off->flags & PYOFF_CFRAME) ||
	    walk_native(t, s, task))
		return REASON_BAD_FRAME;
	if (CALL_FLAVOUR(t->has_loop, begin_activation, s->index, layout))
		return REASON_BAD_FRAME;
	CALL_FLAVOUR(t->has_loop, walk_frames, s->index, layout);
	if (s->walker.reason != REASON_PYTHON)
		return REASON_BAD_FRAME;
	CALL_FLAVOUR(t->has_loop, describe_frames, s->index, layout);
	return REASON_PYTHON;
}

#endif /* KRAIT_ACTIVATION_H */
