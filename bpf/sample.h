/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample.h - makes one record when something has interrupted a thread.
 *
 * tracked process? -> memory -> thread state -> Python frames -> native frames -> ring buffer.
 * Whatever goes wrong on the way, the record leaves all the same, with its reason. Only if the ring
 * buffer is full or the memory in use is there no record, just a count.
 *
 * An entry point (sampler.bpf.c) looks up the tracked_process(), makes a struct trigger from its
 * own context and calls take_sample(). Nothing here knows what kind of program it runs in.
 */
#ifndef KRAIT_BPF_SAMPLE_H
#define KRAIT_BPF_SAMPLE_H

#include "bpf/abi.h"
#include "bpf/python/activation.h"
#include "bpf/python/anchor.h"
#include "bpf/bounds.h"
#include "bpf/python/exception.h"
#include "bpf/python/gil.h"
#include "bpf/python/greenlet_section.h"
#include "bpf/loops.h"
#include "bpf/map/sampling.h"
#include "bpf/native/native_section.h"
#include "bpf/python/nogil.h"
#include "bpf/native/pages.h"
#include "bpf/map/procs.h"
#include "bpf/python/python_stack.h"
#include "bpf/map/room.h"
#include "bpf/map/scratch.h"
#include "bpf/section.h"
#include "bpf/share.h"
#include "bpf/kernel_task.h"
#include "bpf/python/asyncio_section.h"
#include "bpf/trigger.h"
#include "bpf/map/unwind_maps.h"
#include "bpf/wait/wait.h"
#include "bpf/python/walker.h"

static __always_inline void begin_record(struct record_sample *record, const struct trigger *t,
					 const struct proc_info *proc,
					 const struct current_task *now)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	record->type = RECORD_SAMPLE;
	record->owner = proc->owner;
	record->size = sizeof(*record);
	record->time_ns = t->time_ns;
	record->thread_start_ns = now->start_ns;
	record->period = t->period;
	record->tstate_addr = 0;
	record->interp_addr = 0;
	record->code_generation = 0;
	record->thread_ptr = 0;
	record->anchor_epoch = 0;
	record->pid = pid_tgid >> 32;
	record->tid = (__u32)pid_tgid;
	record->cpu = bpf_get_smp_processor_id();
	record->missed = t->missed < 0xffff ? t->missed : 0xffff;
	record->anchor_index = 0;
	record->anchor_steps = 0;
	record->event = t->event;
	record->flags = t->in_kernel ? SAMPLE_KERNEL : 0;
	record->anchor = ANCHOR_NOTE_NONE;
	record->native_reason = NATIVE_NONE;
	record->no_anchors = 0;
	for (int i = 0; i < SECTION_CNT; i++)
		record->cnt[i] = 0;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
}

/* A stack with an error anywhere is dropped: its frames may be nonsense. */
static __always_inline void settle_python(struct scratch *s, __u32 reason)
{
	__u32 cnt = s->walker.frame_cnt;

	s->record.reason = reason;
	if (reason_outcome(reason) != OUTCOME_LOST)
		section_append(&s->record, SECTION_FRAMES,
			       cnt < KRAIT_MAX_FRAMES ? cnt : KRAIT_MAX_FRAMES);
}

/*
 * The first sample of a thread that may be worth an anchor (user space has not given it a slot
 * yet), and is old enough to be written to at once: wakes user space. If the machine has slept
 * since the thread began, the two clocks differ and user space is not woken; its next turn must do.
 */
static __always_inline bool is_new_and_old(const struct record_sample *record)
{
	return !(record->flags & SAMPLE_HAS_SLOT) && !record->no_anchors &&
	       record->cnt[SECTION_FRAMES] >= KRAIT_ANCHOR_WORTH &&
	       (__s64)(record->time_ns - record->thread_start_ns) > (__s64)KRAIT_ANCHOR_AGE_NS;
}

/*
 * Tests and clears the flag in the entry. If the entry belongs to another process by now, that
 * process's record waits for user space's next turn.
 */
static __always_inline bool is_unmet(struct proc_info *proc)
{
	if (!proc->unmet)
		return false;
	proc->unmet = 0;
	return true;
}

/* Puts the record into the ring buffer, if its owner may take more room there. */
static __always_inline int send_record(struct record_sample *record, struct proc_info *proc)
{
	__u64 flags = BPF_RB_NO_WAKEUP, waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	struct owner_books *books = owner_books();
	__u64 size = record_size(record);
	struct owner_use *use;

	if (!books)
		return -1;
	if (is_unmet(proc) || waiting > wakeup_bytes || is_new_and_old(record) ||
	    (record->flags & SAMPLE_UNMAPPED && unwind_may_wake(record->time_ns)))
		flags = BPF_RB_FORCE_WAKEUP;
	use = owner_use(books, record->owner);
	if (!ring_allows(books, record->owner, size, waiting, sample_bytes_max) ||
	    bpf_ringbuf_output(&ring, record, size, flags)) {
		atomic_add(&use->samples_dropped, 1);
		return -1;
	}
	ring_took(use, size);
	return 0;
}

/* Skip 0: for a constant 0 clang emits an atomic "or", which 5.10 lacks. */
static __always_inline void miss_wait(__u64 wait_ns)
{
	if (wait_ns)
		count_more(COUNTER_WAITS_MISSED_NS, wait_ns);
}

static __always_inline void emit_record(struct scratch *s, struct proc_info *proc,
					struct event_counts *counts, __u64 wait_ns)
{
	struct anchor *anchor;

	if (!send_record(&s->record, proc))
		return;
	atomic_add(&proc->dropped, 1);
	anchor = anchor_of(s);
	if (anchor && s->record.anchor == ANCHOR_NOTE_CONFIRM)
		anchor_unsent(anchor, &s->plan);
	atomic_add(&counts->ring_full, 1);
	miss_wait(wait_ns);
}

/* The process of the current thread, if its interrupts are wanted. */
static __always_inline struct proc_info *tracked_process(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);

	if (!proc || !(proc->flags & PROC_PYTHON))
		return NULL;
	if (user_cnt && !is_wanted_user(task_fsuid((struct task_struct *)bpf_get_current_task(),
						   has_task_regs)))
		return NULL;
	if (!same_start(current_process_start_ns(has_task_regs), proc->start_ns))
		return NULL;
	if (own_only &&
	    !task_is_own((struct task_struct *)bpf_get_current_task(), own_uid, own_gid)) {
		count(COUNTER_NOT_OWN);
		return NULL;
	}
	return proc;
}

/*
 * Does the record's thread hold the GIL? A free-threaded build has one only if a module made the
 * interpreter enable it.
 */
static __always_inline void take_gil(struct scratch *s, const struct py_offsets *off,
				     struct gil *ret)
{
	const struct proc_info *proc = &s->proc;
	struct record_sample *record = &s->record;

	ret->addr = 0;
	if (find_gil(off, proc->runtime_addr, record->interp_addr, ret)) {
		ret->addr = 0;
		return;
	}
	record->flags |= SAMPLE_GIL_KNOWN;
	if (!gil_is_held_by(ret, record->tstate_addr))
		return;
	record->flags |= SAMPLE_GIL;
	if (is_collecting(ret, off, proc->runtime_addr, record->interp_addr))
		record->flags |= SAMPLE_GC;
}

/*
 * Records what the thread was doing, apart from its stack. In free-threaded builds this is
 * everything but the GIL. A global function: the verifier checks it apart from the code that
 * follows, and its variables are not on the stack of what is called later (5.10 counts both).
 */
__weak __noinline int take_state(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	const struct py_offsets *off;
	struct record_sample *record;
	struct gil *gil;

	if (!s)
		return -1;
	off = layout_at(s->proc.layout);
	record = &s->record;
	gil = &s->gil;
	take_gil(s, off, gil);
	s->interp.gil_addr = gil->addr;
	s->interp.gc_frame_addr =
		record->flags & SAMPLE_GC ? collecting_frame(gil, off, record->interp_addr) : 0;
	s->interp.flags = has_exception(gil, off, record->tstate_addr) ? INTERP_EXCEPTION : 0;
	s->interp.pad_ = 0;
	s->waits = nogil_wait(gil, off, record->tstate_addr);
	if (off->flags & PYOFF_FREE_THREADED && record->tstate_addr)
		s->state_addr = record->tstate_addr + NOGIL_STATE(off);
	return 0;
}

/* Records whose the thread is. Returns who pays for it. A global function, as above. */
__weak __noinline int take_ids(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);

	return s ? (int)current_ids(&s->record.ids, has_task_regs, s->groups) : -1;
}

/*
 * The current process belongs to another user than before, or nobody has said to whom: from now on
 * that one pays. Another thread may do the same at the same time, which costs accuracy only.
 */
__weak __noinline int change_owner(__u32 payer)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct proc_info *proc = bpf_map_lookup_elem(&procs, &pid);
	struct owner_books *books = owner_books();
	__u32 owner;

	if (!proc || !books)
		return -1;
	owner = owner_of(&books->table, payer);
	move_proc(books, proc->owner, owner);
	proc->owner = owner;
	proc->payer = payer + 1;
	return 0;
}

/* Appends the section, behind the others. */
static __always_inline void put_interp(struct scratch *s)
{
	struct interp_facts *to =
		(void *)section_room(s, 0, sizeof(struct interp_facts) / sizeof(__u64));

	if (!to)
		return;
	*to = s->interp;
	section_append(&s->record, SECTION_INTERP, 1);
}

/*
 * Writes back what the sample has changed in its copy of the process's entry. Threads of the process on
 * other CPUs do the same: a budget is then a little larger than it should be.
 */
static __always_inline void settle_process(const struct scratch *s, struct proc_info *proc)
{
	__u64 now_ns = s->record.time_ns;

	proc->code_ns = s->proc.code_ns;
	proc->code_bytes = s->proc.code_bytes;
	if (s->proc.seen & ~proc->seen)
		proc->seen |= s->proc.seen;
	if (s->proc.replaced_ns == now_ns)
		proc->replaced_ns = now_ns;
	if (s->proc.search_ns == now_ns) {
		proc->search_ns = now_ns;
		proc->search_states = s->proc.search_states;
	}
}

/* One in so many samples of a process is measured, by chance. */
#define MEASURED_OF 8

/* Notes what the sample has taken. Other CPUs may do the same at the same time: one of them may be lost. */
static __always_inline void note_cost(const struct scratch *s, struct proc_info *proc)
{
	__u32 recent_ns = proc->walk_recent_ns;
	__u64 ns;

	if (s->record.time_ns >> 3 & (MEASURED_OF - 1))
		return;
	ns = bpf_ktime_get_ns() - s->record.time_ns;
	proc->walk_recent_ns = recent_ns ? recent_ns - recent_ns / 8 + ns / 8 : ns;
	proc->walks_ns += ns;
	proc->walk_cnt++;
}

/*
 * The same stack is a sample of each member of its event's group that has counted since the one before, with that count. A
 * global function, as above.
 */
__weak __noinline int emit_members(__u32 memory)
{
	struct scratch *s = bpf_map_lookup_elem(&scratch, &memory);
	struct proc_info *proc;
	__u32 bits, pid;

	if (!has_groups || !s)
		return 0;
	pid = s->record.pid;
	proc = bpf_map_lookup_elem(&procs, &pid);
	bits = group_members[masked(s->record.event, KRAIT_MAX_EVENTS - 1)];
	for (__u32 i = 0; i < KRAIT_MAX_EVENTS; i++) {
		__u32 member = i;
		struct event_counts *counts = bpf_map_lookup_elem(&event_counts, &member);
		struct member_count *m = bpf_map_lookup_elem(&member_counts, &member);

		if (!(bits >> i & 1) || !counts || !m || !m->more)
			continue;
		s->record.event = i;
		s->record.period = m->more;
		s->record.missed = 0;
		m->more = 0;
		atomic_add(&counts->interrupts, 1);
		if (!send_record(&s->record, proc ? proc : &s->proc))
			continue;
		atomic_add(&counts->ring_full, 1);
		if (proc)
			atomic_add(&proc->dropped, 1);
	}
	return 0;
}

/* Sends the sample and gives back what it has taken. */
static __always_inline void end_sample(struct scratch *s, struct proc_info *proc,
				       struct event_counts *counts, enum sample_context context,
				       __u64 wait_ns)
{
	settle_process(s, proc);
	emit_record(s, proc, counts, wait_ns);
	if (has_groups && context == CONTEXT_EVENT)
		emit_members(s->index);
	give_back_thread_maps(s);
	if (context == CONTEXT_EVENT)
		note_cost(s, proc);
	scratch_give_back(s, context);
}

/*
 * The chains of who awaits the running task, and of the greenlet's parents, are a third of all code. Few processes
 * have them. So they are in a program of their own, which user space loads once it has met such a process: the
 * sampling program calls it by the only entry of t->chains, and it goes on with the sample (continue_sample()).
 */
static __always_inline bool wants_chains(const struct scratch *s)
{
	return ((want_tasks && tasks_known) || (want_greenlets && greenlets_known)) &&
	       reason_outcome(s->record.reason) != OUTCOME_LOST;
}

static __always_inline void take_chains(struct scratch *s, bool has_loop)
{
	if (want_tasks && tasks_known)
		take_tasks(s, has_loop);
	if (want_greenlets && greenlets_known)
		take_greenlets(s, has_loop);
}

/* proc: the result of tracked_process(). */
static __always_inline void take_sample(const struct trigger *t, struct proc_info *proc)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 event = t->event;
	struct event_counts *counts = bpf_map_lookup_elem(&event_counts, &event);
	struct current_task now;
	struct scratch *s;
	__u32 reason, payer;

	if (!counts)
		return;
	/*
	 * Atomic: a tick may interrupt the switch at which an earlier tick becomes a sample
	 * (switch_cpu.h).
	 */
	atomic_add(&counts->interrupts, 1);
	s = scratch_take(t->context);
	if (!s) {
		atomic_add(&counts->nested, 1);
		miss_wait(t->wait_ns);
		return;
	}
	payer = (__u32)take_ids(s->index);
	if (proc->payer != payer + 1)
		change_owner(payer);
	s->proc = *proc;
	current_task(&now, has_task_regs);
	begin_record(&s->record, t, proc, &now);
	pages_begin(&s->native.stack);
	reason = take_python(s, proc, &now, t->has_loop);
	if (worth_another_walk(s, reason))
		reason = take_python_again(t, s, proc, reason);
	settle_python(s, reason);
	take_native_and_kernel(t, s);
	if (want_states) {
		s->interp = (struct interp_facts){};
		s->waits = 0;
		s->state_addr = 0;
		s->gil = (struct gil){};
		if (reason_outcome(s->record.reason) != OUTCOME_LOST)
			take_state(s->index);
	}
	if (t->has_wait)
		take_wait(t->wait, s, task, &s->gil);
	if (want_states)
		put_interp(s);
	if (wants_chains(s)) {
		if (t->chains) {
			s->began_ns = t->began_ns;
			s->wait_ns = t->wait_ns;
			bpf_tail_call(t->ctx, t->chains, 0);
		} else {
			take_chains(s, t->has_loop);
		}
	}
	end_sample(s, proc, counts, t->context, t->wait_ns);
}

/*
 * Goes on with the sample of the program that has called this one, and ends it. context: both programs'.
 * *ret_event, *ret_began_ns: the sample's; its memory is another program's from then on. False: there is none.
 */
static __always_inline bool continue_sample(enum sample_context context, __u32 *ret_event,
					    __u64 *ret_began_ns)
{
	struct scratch *s = scratch_taken(context);
	struct event_counts *counts;
	struct proc_info *proc;
	__u32 event, pid;

	if (!s)
		return false;
	take_chains(s, true);
	*ret_event = event = s->record.event;
	*ret_began_ns = s->began_ns;
	pid = s->record.pid;
	counts = bpf_map_lookup_elem(&event_counts, &event);
	proc = bpf_map_lookup_elem(&procs, &pid);
	/* Nobody reads what becomes of an entry that has gone meanwhile. */
	if (counts)
		end_sample(s, proc ? proc : &s->proc, counts, context, s->wait_ns);
	return true;
}

#endif /* KRAIT_BPF_SAMPLE_H */
