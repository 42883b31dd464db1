/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler.bpf.c - one perf event interrupt becomes one record.
 *
 * interrupt -> is this process tracked? -> which thread state is this thread? -> walk its frames ->
 * emit. Whatever goes wrong on the way, the record is emitted all the same, with outcome and reason;
 * only a full ring buffer leaves nothing but a count.
 *
 * Two programs of the same content: bpf_loop() (5.17+) verifies in a few hundred instructions, the
 * bounded for loop runs on older kernels. User space loads the one that this kernel takes.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"
#include "share.h"
#include "fingerprint.h"
#include "read.h"
#include "thread.h"
#include "walk.h"
#include "anchor.h"
#include "codedef.h"
#include "native.h"
#include "task.h"
#include "maps.h"
#include "room.h"
#include "tick.h"
#include "loops.h"

/* What belongs to the sampled thread; NULL where user space has not given it one. */
struct thread_maps {
	struct thread_slot *slot;
	struct anchor *anchor;
	__u32 index; /* of the slot, or KRAIT_NO_SLOT */
};

static __always_inline void find_thread_maps(struct thread_maps *m, __u32 tid, __u64 start_ns)
{
	struct thread_ref *ref = bpf_map_lookup_elem(&threads, &tid);
	__u32 index;

	if (!ref || ref->start_ns != start_ns)
		return;
	index = ref->slot;
	m->index = index;
	m->slot = bpf_map_lookup_elem(&slots, &index);
	index = ref->anchor;
	m->anchor = bpf_map_lookup_elem(&anchors, &index);
	if (m->slot && m->slot->start_ns != start_ns) {
		m->slot->start_ns = start_ns;
		m->slot->tstate_addr = 0;
		m->slot->interp_addr = 0;
		m->slot->resume_addr = 0;
		m->slot->native = 0;
	}
}

/* Leaves the thread state in search; the reason says whether there is one. */
static __always_inline __u32 find_thread(struct loop_ctx *c, struct proc_info *proc,
					 const struct thread_maps *m, bool has_loop)
{
	const struct thread_slot *slot = m->slot;
	struct scratch *s = c->s;
	struct thread_search *t = &s->search;
	__u32 reason;

	if (slot && thread_still_valid(t, c->off, slot->tstate_addr, slot->interp_addr))
		return REASON_PYTHON;
	reason = has_loop ? search_thread_loop(s->record.cpu, proc->layout, m->index) :
			    search_thread_bounded(s->record.cpu, proc->layout, m->index);
	/* The page of _PyRuntime is not there before the interpreter has first written to it. */
	if (t->interp_addr)
		proc->seen = 1;
	else if (reason == REASON_RUNTIME_FAULT && !proc->seen)
		reason = REASON_NO_RUNTIME;
	return reason;
}

/* What the thread says of its anchor, and what follows. The epoch is read last: see anchor.h. */
static __always_inline void plan_anchor(struct scratch *s, struct anchor *anchor,
					const struct py_offsets *off)
{
	struct anchor_plan *plan = &s->plan;

	plan->tstate_addr = s->search.tstate_addr;
	plan->lpf_addr = THREAD_FIELD(&s->search, off, last_profiled_frame);
	plan->seq = THREAD_FIELD(&s->search, off, last_profiled_frame_seq);
	plan->audit_every = audit_every;
	barrier();
	plan->epoch = *(volatile __u64 *)&anchor->epoch;
	anchor_decide(anchor, plan);
	anchor_aim(plan, &s->walker);
}

static __always_inline void note_anchor(struct record_sample *record, const struct scratch *s)
{
	record->anchor = s->plan.note;
	record->anchor_epoch = s->plan.epoch;
	record->anchor_steps = s->plan.steps;
	record->anchor_index = s->walker.mark_index;
}

static __always_inline __u32 walk_thread(struct loop_ctx *c, struct proc_info *proc,
					 struct anchor *anchor, bool has_loop)
{
	struct thread_search *t = &c->s->search;
	struct record_sample *record = &c->s->record;
	const struct py_offsets *off = c->off;
	bool has_anchor = anchor && off->thread.last_profiled_frame != PYOFF_ABSENT;
	struct thread_top top = {};
	__u64 base_addr = 0;

	record->tstate_addr = t->tstate_addr;
	record->interp_addr = t->interp_addr;
	if (off->interp.code_object_generation != PYOFF_ABSENT &&
	    read_user_u64(&record->code_generation,
			  t->interp_addr + off->interp.code_object_generation))
		return REASON_RUNTIME_FAULT;
	if (off->thread.base_frame != PYOFF_ABSENT)
		base_addr = THREAD_FIELD(t, off, base_frame);
	if (thread_top(t, off, &top))
		return REASON_THREAD_FAULT;
	walk_begin(&c->s->walker, top.frame_addr, base_addr, proc->flags & PROC_FINGERPRINT);
	walk_begin_cframe(&c->s->walker, t->tstate_addr, top.cframe_addr, top.cframe_previous_addr);
	if (has_anchor)
		plan_anchor(c->s, anchor, off);
	walk_frames(c, proc->layout, has_loop);
	if (has_anchor)
		anchor_shorten(&c->s->plan, &c->s->walker);
	record->frame_cnt = c->s->walker.frame_cnt;
	if (reason_outcome(c->s->walker.reason) != OUTCOME_LOST)
		describe_frames(c, proc, has_loop);
	if (has_anchor) {
		anchor_settle(anchor, &c->s->plan, &c->s->walker);
		note_anchor(record, c->s);
	}
	return c->s->walker.reason;
}

/* Finds the thread and walks it; the result is the reason of the outcome. */
static __always_inline __u32 take_stack(struct scratch *s, struct proc_info *proc,
					struct thread_maps *m, struct task_struct *task,
					bool has_loop)
{
	struct loop_ctx c = { .s = s };
	__u32 layout = proc->layout, reason;

	if (task_is_exiting(task))
		return REASON_EXITING;
	if (task_is_execing(task))
		return REASON_EXECING;
	c.off = bpf_map_lookup_elem(&layouts, &layout);
	if (!c.off)
		return REASON_NO_LAYOUT;
	find_thread_maps(m, s->record.tid, s->record.thread_start_ns);
	if (m->slot)
		s->record.flags |= SAMPLE_HAS_SLOT;
	s->search.thread_ptr = task_thread_pointer(task);
	s->search.runtime_addr = proc->runtime_addr;
	s->record.thread_ptr = s->search.thread_ptr;
	reason = find_thread(&c, proc, m, has_loop);
	if (reason != REASON_PYTHON)
		return reason;
	reason = walk_thread(&c, proc, m->anchor, has_loop);
	if (c.off->thread.last_profiled_frame != PYOFF_ABSENT &&
	    s->record.frame_cnt >= KRAIT_ANCHOR_WORTH && task_is_dumpable(task))
		s->record.flags |= SAMPLE_DUMPABLE;
	return reason;
}

static __always_inline void begin_record(struct record_sample *record, struct task_struct *task,
					 __u64 pid_tgid, __u64 period, __u32 index)
{
	record->type = RECORD_SAMPLE;
	record->thread_start_ns = task_start_ns(task);
	record->period = period;
	record->tstate_addr = 0;
	record->interp_addr = 0;
	record->code_generation = 0;
	record->pid = pid_tgid >> 32;
	record->tid = (__u32)pid_tgid;
	record->cpu = bpf_get_smp_processor_id();
	record->frame_cnt = 0;
	record->event = index;
	record->flags = 0;
	record->anchor = ANCHOR_NOTE_NONE;
	record->native_reason = NATIVE_NONE;
	record->native_cnt = 0;
	record->kernel_cnt = 0;
	record->leaf[0] = record->leaf[1] = 0;
	record->thread_ptr = 0;
	record->anchor_epoch = 0;
	record->anchor_index = 0;
	record->anchor_steps = 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

/* The user registers: those of the interrupt, or what the kernel saved when it was entered. */
static __always_inline int find_regs(const void *ctx, struct scratch *s, struct task_struct *task,
				     struct native_regs *ret)
{
	if (!(s->record.flags & SAMPLE_KERNEL)) {
		ret->ip = context_reg(ctx, REG_IP);
		ret->sp = context_reg(ctx, REG_SP);
		ret->fp = context_reg(ctx, REG_FP);
		return 0;
	}
	if (bpf_probe_read_kernel(s->regs, sizeof(s->regs), task_saved_regs(task, has_task_regs)))
		return -1;
	*ret = (struct native_regs){ s->regs[REG_IP], s->regs[REG_SP], s->regs[REG_FP] };
	return MODE_IS_USER(s->regs[REG_MODE]) ? 0 : -1;
}

static __always_inline void walk_native(const void *ctx, struct scratch *s,
					struct task_struct *task, bool has_loop)
{
	struct loop_ctx c = { .s = s };
	struct native_regs regs;

	if (find_regs(ctx, s, task, &regs)) {
		s->record.native_reason = NATIVE_NO_REGS;
		return;
	}
	if (read_user(s->record.leaf, sizeof(s->record.leaf), regs.sp))
		s->record.leaf[0] = s->record.leaf[1] = 0;
	native_begin(&s->native, &regs);
	if (has_loop) {
		bpf_loop(KRAIT_MAX_NATIVE, native_loop, &c, 0);
	} else {
		for (int i = 0; i < KRAIT_MAX_NATIVE; i++) {
			if (bounded_native_step(s->record.cpu))
				break;
		}
	}
	s->record.native_reason = s->native.reason;
	s->record.native_cnt = s->native.cnt;
}

/* Syscall programs, which the tests' twins are, have no such helper. */
#ifndef KRAIT_NO_KERNEL_STACK
static __always_inline void walk_kernel(void *ctx, struct scratch *s)
{
	__u64 pos = s->record.frame_cnt * FRAME_WORDS + 2 * s->record.native_cnt;
	__u64 *words = (__u64 *)s->frames;
	long size;

	keep_bound(pos);
	if (pos > BODY_WORDS - KRAIT_MAX_KERNEL)
		return;
	size = bpf_get_stack(ctx, &words[pos], KRAIT_MAX_KERNEL * sizeof(__u64), 0);
	if (size > 0)
		s->record.kernel_cnt = size / sizeof(__u64);
}
#else
#define walk_kernel(ctx, s)
#endif

/* Behind the Python frames, whose number is settled: what is native, as far as it is wanted. */
static __always_inline void take_native(void *ctx, struct scratch *s, struct task_struct *task,
					bool has_loop)
{
	struct record_sample *record = &s->record;

	if (reason_outcome(record->reason) == OUTCOME_LOST)
		return;
	if (want_native && record->reason != REASON_EXITING && record->reason != REASON_EXECING)
		walk_native(ctx, s, task, has_loop);
	if (want_kernel && record->flags & SAMPLE_KERNEL)
		walk_kernel(ctx, s);
}

static __always_inline void settle_reason(struct record_sample *record, __u32 reason)
{
	record->reason = reason;
	/* A chain that is wrong somewhere is not worth showing: its frames may be nonsense. */
	if (reason_outcome(reason) == OUTCOME_LOST)
		record->frame_cnt = 0;
	if (record->frame_cnt > KRAIT_MAX_FRAMES)
		record->frame_cnt = KRAIT_MAX_FRAMES;
}

/*
 * First seen of a thread that an anchor may be worth (user space has not given it a slot yet) and may be
 * written to at once: user space should come. It does not where the machine has slept since the thread
 * began, which sets the clocks apart; then its own next turn must do.
 */
static __always_inline bool is_new_and_old(const struct record_sample *record)
{
	return !(record->flags & SAMPLE_HAS_SLOT) && record->frame_cnt >= KRAIT_ANCHOR_WORTH &&
	       (__s64)(record->time_ns - record->thread_start_ns) > (__s64)KRAIT_ANCHOR_AGE_NS;
}

/* Into the ring buffer, if its owner may still take room there. */
static __always_inline int send_record(struct record_sample *record, __u64 words, __u64 waiting,
				       __u64 flags)
{
	struct owner_books *books = owner_books();
	__u64 size = sizeof(*record) + words * sizeof(__u64);
	struct owner_use *use;

	if (!books)
		return -1;
	use = owner_use(books, record->owner);
	if (!ring_allows(books, record->owner, size, waiting, sample_bytes_max) ||
	    bpf_ringbuf_output(&ring, record, size, flags)) {
		__sync_fetch_and_add(&use->samples_dropped, 1);
		return -1;
	}
	ring_took(use, size);
	return 0;
}

static __always_inline void emit_record(struct scratch *s, struct proc_info *proc,
					struct anchor *anchor, struct event_counts *counts)
{
	struct record_sample *record = &s->record;
	__u64 flags = BPF_RB_NO_WAKEUP, waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 words = record->frame_cnt * FRAME_WORDS + 2 * record->native_cnt + record->kernel_cnt;

	keep_bound(words);
	if (words > BODY_WORDS)
		words = BODY_WORDS;
	record->size = sizeof(*record) + words * sizeof(__u64);
	if (waiting > wakeup_bytes || is_new_and_old(record))
		flags = BPF_RB_FORCE_WAKEUP;
	if (send_record(record, words, waiting, flags)) {
		__sync_fetch_and_add(&proc->dropped, 1);
		if (anchor && record->anchor == ANCHOR_NOTE_CONFIRM)
			anchor_unsent(anchor, &s->plan);
		counts->ring_full++;
	}
}

/* Notes the tick; NULL where the event is none that ticks, or not every tick comes here. */
static __always_inline struct tick *take_tick(__u32 index, __u64 now_ns, __u64 period_ns,
					      __u64 *ret_missed)
{
	struct tick *tick;

	*ret_missed = 0;
	if (!(clock_events >> masked(index, KRAIT_MAX_EVENTS - 1) & 1))
		return NULL;
	tick = bpf_map_lookup_elem(&ticks, &index);
	if (tick)
		*ret_missed = tick_missed(tick, now_ns, period_ns);
	return tick;
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, bool has_loop)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tgid >> 32, cpu = bpf_get_smp_processor_id(), reason, index;
	__u64 now_ns = bpf_ktime_get_ns(), missed;
	struct thread_maps m = { .index = KRAIT_NO_SLOT };
	struct event_counts *counts;
	struct task_struct *task;
	struct tick *tick;
	struct proc_info *proc;
	struct scratch *s;

	if (now_ns > end_ns)
		return 0;
	index = several_events ? event_index(ctx) : 0;
	tick = take_tick(index, now_ns, ctx->sample_period, &missed);
	proc = bpf_map_lookup_elem(&procs, &pid);
	if (!proc || !(proc->flags & PROC_PYTHON))
		return 0;
	task = (struct task_struct *)bpf_get_current_task();
	if (!same_start(process_start_ns(task), proc->start_ns))
		return 0;
	s = bpf_map_lookup_elem(&scratch, &cpu);
	counts = bpf_map_lookup_elem(&event_counts, &index);
	if (!s || !counts)
		return 0;
	if (tick)
		tick->missed_here += missed;
	s->record.time_ns = now_ns;
	counts->interrupts++;
	begin_record(&s->record, task, pid_tgid, ctx->sample_period, index);
	s->record.owner = proc->owner;
	if (!MODE_IS_USER(context_reg(ctx, REG_MODE)))
		s->record.flags |= SAMPLE_KERNEL;
	reason = take_stack(s, proc, &m, task, has_loop);
	settle_reason(&s->record, reason);
	take_native(ctx, s, task, has_loop);
	emit_record(s, proc, m.anchor, counts);
	return 0;
}

SEC("perf_event")
int sample_loop(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, true);
}

SEC("perf_event")
int sample_bounded(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
