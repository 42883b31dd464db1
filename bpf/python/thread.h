/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread.h - from a task to its PyThreadState.
 *
 * The truth is in the runtime's own lists: interpreters, and the thread states of each. A state
 * belongs to the thread whose thread pointer equals its thread_id (pthread_self(); CPython 3.8+,
 * Python/thread_pthread.h). This holds in every pid namespace, and also while the thread has
 * released the GIL, when _Py_tss_tstate is NULL. If a thread has several states (sub-interpreters),
 * the one that it activated last counts: it has the bit bound_gilstate (Python/pystate.c,
 * tstate_activate()).
 *
 * Before 3.12 there is no such bit (PYOFF_TSTATE_CURRENT). The active state of the thread that
 * holds the GIL is in _PyRuntime.gilstate.tstate_current, and needs no search. For any other thread
 * it is the state that has a frame, in the newest interpreter: interpreters are entered from older
 * ones, and an idle state has no frame. A remembered state is valid only while there is a single
 * interpreter, which has one state per thread.
 *
 * Under an emulator (valgrind, qemu-user) the thread pointer is the emulator's, and belongs to no
 * state. As long as no thread of a process had a pointer that belongs to one, a state also counts
 * as a thread's if it has the thread's number: native_thread_id from 3.11 on, before that the
 * number in the C library's own struct, to which thread_id points.
 *
 * Only this thread is stopped: others may link and unlink states meanwhile. So every step checks
 * the back link. A mismatch means "torn": the search is repeated once, and the result never
 * believed. A state remembered from the last sample is believed only while its neighbour in the
 * list still points at it.
 *
 * With thousands of threads and a spent budget, the list is searched in parts, one per interrupt;
 * the slot says where to go on. New states are put at the head of a list, so a search in parts may
 * have missed one: it may conclude "none" only if the list still begins as it did. The same test
 * tells, at the next sample of a thread without a state, that it need not be searched again.
 *
 * Must hold: at most KRAIT_MAX_THREADS steps, and no more than the process has budget for; reads
 * only.
 */
#ifndef KRAIT_BPF_PYTHON_THREAD_H
#define KRAIT_BPF_PYTHON_THREAD_H

#include "bpf/abi.h"
#include "bpf/arch.h"
#include "bpf/read.h"

/* PyThreadState._status, Include/cpython/pystate.h, 3.12 to 3.15 */
#define STATUS_BOUND_GILSTATE (1U << 3)

/* Result and loop state of one search; in per-CPU memory. */
struct thread_search {
	READ_MEMBER
	__u64 thread_ptr; /* whose state to find; set by the caller */
	__u64 runtime_addr; /* set by the caller, too, before thread_still_valid() */
	__u64 tstate_addr; /* state to visit next, then the one found */
	__u64 prev_addr; /* its predecessor in the list, 0 at the head */
	__u64 interp_addr;
	__u64 candidate_addr; /* a state of this thread, but not the one activated last */
	__u64 candidate_interp_addr;
	__u64 number; /* the thread's, in its pid namespace; 0: only its pointer counts; set by the caller */
	__u64 numbered_addr, numbered_interp_addr; /* the state with that number */
	__u64 head_addr, head_next_addr; /* first states of the list when the search began */
	__u32 reason; /* enum reason, valid when thread_step() returned 1 */
	__u32 steps; /* steps taken in this interrupt */
	__u32 left; /* steps it may still take; set by the caller */
	__u32 resumed; /* the search began in an earlier interrupt */
	__u32 place,
		layout; /* in the kernel: index of the scratch memory that it lies in, and of the offsets */
	__u8 window[WINDOW_SIZE(KRAIT_THREAD_WINDOW)]; /* memory of tstate_addr */
	__u8 cframe_window[WINDOW_SIZE(CFRAME_WINDOW_MASK + 1)];
};

static __always_inline int thread_search_end(struct thread_search *t, __u32 reason)
{
	t->reason = reason;
	return 1;
}

static __always_inline int thread_window(struct thread_search *t, __u64 tstate_addr)
{
	if (tstate_addr & 7)
		return -1;
	return read_from(t, t->window, KRAIT_THREAD_WINDOW, tstate_addr);
}

#define THREAD_FIELD(t, off, field) window_u64((t)->window, (off)->thread.field, THREAD_WINDOW_MASK)

/* The tid in the struct pthread there, if that says what it is; self_at: where it has its own address, below 0: nowhere. */
static __always_inline __u64 thread_tid_at(struct thread_search *t, __u64 thread_ptr, __s64 self_at,
					   __u64 tid_at)
{
	__u64 self = 0;
	__u32 tid = 0;

	if (self_at >= 0 &&
	    (read_from(t, &self, sizeof(self), thread_ptr + self_at) || self != thread_ptr))
		return 0;
	if (read_from(t, &tid, sizeof(tid), thread_ptr + tid_at))
		return 0;
	return tid;
}

/* The number of the thread of the state in the window; 0: unknown. */
static __always_inline __u64 thread_number(struct thread_search *t, const struct py_offsets *off)
{
	__u64 thread_ptr = THREAD_FIELD(t, off, thread_id), tid;

	if (off->thread.native_thread_id != PYOFF_ABSENT)
		return THREAD_FIELD(t, off, native_thread_id);
	/* What says what it is comes first. */
	tid = PTHREAD_GLIBC_SELF < 0 ?
		      0 :
		      thread_tid_at(t, thread_ptr, PTHREAD_GLIBC_SELF, PTHREAD_GLIBC_TID);
	if (!tid)
		tid = thread_tid_at(t, thread_ptr, 0, PTHREAD_MUSL_TID);
	return tid || PTHREAD_GLIBC_SELF >= 0 ?
		       tid :
		       thread_tid_at(t, thread_ptr, PTHREAD_GLIBC_SELF, PTHREAD_GLIBC_TID);
}

/* Where to begin walking the thread state's frames. */
struct thread_top {
	__u64 frame_addr; /* 0 idle */
	/* PYOFF_CFRAME: the current C activation; else 0 */
	__u64 cframe_addr, cframe_previous_addr;
};

/* Reads the _PyCFrame at addr. Returns 0, or -1 if it cannot be read; *ret is then all zeroes. */
static __always_inline int thread_activation(struct thread_search *t, const struct py_offsets *off,
					     __u64 addr, struct thread_top *ret)
{
	*ret = (struct thread_top){};
	if (addr & 7 || read_from(t, t->cframe_window, KRAIT_CFRAME_WINDOW, addr))
		return -1;
	ret->cframe_addr = addr;
	ret->frame_addr =
		window_u64(t->cframe_window, off->cframe.current_frame, CFRAME_WINDOW_MASK);
	ret->cframe_previous_addr =
		window_u64(t->cframe_window, off->cframe.previous, CFRAME_WINDOW_MASK);
	return 0;
}

/*
 * Fills *ret from the state in the window. Returns 0, or -1 if the _PyCFrame, which lies on the C
 * stack, cannot be read; *ret is then all zeroes.
 */
static __always_inline int thread_top(struct thread_search *t, const struct py_offsets *off,
				      struct thread_top *ret)
{
	if (off->flags & PYOFF_CFRAME)
		return thread_activation(t, off, THREAD_FIELD(t, off, cframe), ret);
	ret->cframe_addr = 0;
	ret->cframe_previous_addr = 0;
	ret->frame_addr = THREAD_FIELD(t, off, current_frame);
	return 0;
}

/* Is the state in the window the one that its thread activated last? */
static __always_inline int thread_is_bound(struct thread_search *t, const struct py_offsets *off)
{
	struct thread_top top;

	if (off->flags & PYOFF_TSTATE_CURRENT)
		return !thread_top(t, off, &top) && top.frame_addr;
	return window_u32(t->window, off->thread.status, THREAD_WINDOW_MASK) &
	       STATUS_BOUND_GILSTATE;
}

/* Is this the only interpreter? */
static __always_inline int thread_interp_is_alone(const struct thread_search *t,
						  const struct py_offsets *off, __u64 runtime_addr,
						  __u64 interp_addr)
{
	__u64 head_addr = 0, next_addr = 0;

	return !read_from_u64(t, &head_addr, runtime_addr + off->runtime.interpreters_head) &&
	       head_addr == interp_addr &&
	       !read_from_u64(t, &next_addr, interp_addr + off->interp.next) && !next_addr;
}

/* Is the state that holds the GIL ours? Only we can have put one with our id there. */
static __always_inline int thread_has_gil(struct thread_search *t, const struct py_offsets *off,
					  __u64 runtime_addr)
{
	__u64 tstate_addr = 0;

	if (read_from_u64(t, &tstate_addr, runtime_addr + off->runtime.tstate_current) ||
	    !tstate_addr || thread_window(t, tstate_addr) ||
	    !THREAD_IS(THREAD_FIELD(t, off, thread_id), t->thread_ptr))
		return 0;
	t->tstate_addr = tstate_addr;
	t->interp_addr = THREAD_FIELD(t, off, interp);
	return 1;
}

/*
 * Is the remembered state still this thread's, still active, and still in the list? Returns 1 if
 * so.
 */
static __always_inline int thread_still_valid(struct thread_search *t, const struct py_offsets *off,
					      __u64 tstate_addr, __u64 interp_addr)
{
	__u32 current_tells = off->flags & PYOFF_TSTATE_CURRENT;
	__u64 prev_addr, link_addr = 0;

	if (current_tells && thread_has_gil(t, off, t->runtime_addr))
		return 1;
	if (!tstate_addr || thread_window(t, tstate_addr))
		return 0;
	if (!THREAD_IS(THREAD_FIELD(t, off, thread_id), t->thread_ptr) ||
	    THREAD_FIELD(t, off, interp) != interp_addr || !thread_is_bound(t, off))
		return 0;
	prev_addr = THREAD_FIELD(t, off, prev);
	if (read_from_u64(t, &link_addr,
			  prev_addr ? prev_addr + off->thread.next :
				      interp_addr + off->interp.threads_head))
		return 0;
	if (current_tells && !thread_interp_is_alone(t, off, t->runtime_addr, interp_addr))
		return 0;
	t->tstate_addr = tstate_addr;
	t->interp_addr = interp_addr;
	return link_addr == tstate_addr;
}

/* Starts a search at the first interpreter. Returns 0, or 1 if it is already over. */
static __always_inline int thread_search_begin(struct thread_search *t,
					       const struct py_offsets *off, __u64 runtime_addr)
{
	t->tstate_addr = 0;
	t->prev_addr = 0;
	t->candidate_addr = 0;
	t->candidate_interp_addr = 0;
	t->numbered_addr = 0;
	t->numbered_interp_addr = 0;
	t->interp_addr = 0;
	t->head_addr = 0;
	t->head_next_addr = 0;
	t->resumed = 0;
	if (off->flags & PYOFF_TSTATE_CURRENT && thread_has_gil(t, off, runtime_addr))
		return thread_search_end(t, REASON_PYTHON);
	t->reason = REASON_THREAD_LIMIT;
	if (read_from_u64(t, &t->interp_addr, runtime_addr + off->runtime.interpreters_head))
		return thread_search_end(t, REASON_RUNTIME_FAULT);
	if (!t->interp_addr)
		return thread_search_end(t, REASON_NO_RUNTIME);
	if (read_from_u64(t, &t->tstate_addr, t->interp_addr + off->interp.threads_head))
		return thread_search_end(t, REASON_RUNTIME_FAULT);
	t->head_addr = t->tstate_addr;
	return 0;
}

/* All lists are searched: a state that is not the active one is still this thread's. */
static __always_inline int thread_search_finish(struct thread_search *t)
{
	__u64 by_pointer = t->candidate_addr;

	if (!by_pointer && !t->numbered_addr)
		return thread_search_end(t, REASON_NATIVE_THREAD);
	t->tstate_addr = by_pointer ? by_pointer : t->numbered_addr;
	t->interp_addr = by_pointer ? t->candidate_interp_addr : t->numbered_interp_addr;
	if (thread_window(t, t->tstate_addr))
		return thread_search_end(t, REASON_THREAD_FAULT);
	return thread_search_end(t, REASON_PYTHON);
}

static __always_inline int thread_next_interp(struct thread_search *t, const struct py_offsets *off)
{
	__u64 next_addr = 0;

	if (read_from_u64(t, &next_addr, t->interp_addr + off->interp.next))
		return thread_search_end(t, REASON_RUNTIME_FAULT);
	if (!next_addr)
		return thread_search_finish(t);
	t->interp_addr = next_addr;
	t->prev_addr = 0;
	if (read_from_u64(t, &t->tstate_addr, next_addr + off->interp.threads_head))
		return thread_search_end(t, REASON_RUNTIME_FAULT);
	return 0;
}

/*
 * Visits one thread state, or goes to the next interpreter. Returns 0 to go on, 1 when the search
 * is over.
 */
static __always_inline int thread_step(struct thread_search *t, const struct py_offsets *off)
{
	if (!t->left)
		return thread_search_end(t, REASON_THREAD_LIMIT);
	t->left--;
	t->steps++;
	if (!t->tstate_addr)
		return thread_next_interp(t, off);
	if (thread_window(t, t->tstate_addr))
		return thread_search_end(t, REASON_THREAD_FAULT);
	if (THREAD_FIELD(t, off, prev) != t->prev_addr ||
	    THREAD_FIELD(t, off, interp) != t->interp_addr)
		return thread_search_end(t, REASON_THREAD_TORN);
	if (THREAD_IS(THREAD_FIELD(t, off, thread_id), t->thread_ptr)) {
		if (thread_is_bound(t, off))
			return thread_search_end(t, REASON_PYTHON);
		t->candidate_addr = t->tstate_addr;
		t->candidate_interp_addr = t->interp_addr;
	} else if (t->number && thread_number(t, off) == t->number &&
		   (!t->numbered_addr || thread_is_bound(t, off))) {
		t->numbered_addr = t->tstate_addr;
		t->numbered_interp_addr = t->interp_addr;
	}
	t->prev_addr = t->tstate_addr;
	t->tstate_addr = THREAD_FIELD(t, off, next);
	if (t->prev_addr == t->head_addr)
		t->head_next_addr = t->tstate_addr;
	return 0;
}

/* ---- searches that take several interrupts ----------------------------------------------------- */

/* A list that takes no more steps than this need not be remembered. */
#define THREAD_SHORT_LIST 64

/*
 * Is there only one interpreter, and does its list begin as it did, with another thread's state?
 * Then nothing has been added to it. Uses the window.
 */
static __always_inline int thread_list_is_same(struct thread_search *t,
					       const struct py_offsets *off, __u64 interp_addr,
					       __u64 head_addr, __u64 head_next_addr)
{
	__u64 now_addr = 0;

	return head_addr && thread_interp_is_alone(t, off, t->runtime_addr, interp_addr) &&
	       !read_from_u64(t, &now_addr, interp_addr + off->interp.threads_head) &&
	       now_addr == head_addr && !thread_window(t, head_addr) &&
	       !THREAD_IS(THREAD_FIELD(t, off, thread_id), t->thread_ptr) &&
	       (!t->number || thread_number(t, off) != t->number) &&
	       THREAD_FIELD(t, off, next) == head_next_addr;
}

/* In the kernel a global function (loops.h), which is verified once. */
#ifdef __bpf__
int thread_list_apart(__u32 memory, __u32 layout, __u64 interp_addr, __u64 head_addr,
		      __u64 head_next_addr);
#define THREAD_LIST_IS_SAME(t, off, ...) thread_list_apart((t)->place, (t)->layout, __VA_ARGS__)
#else
#define THREAD_LIST_IS_SAME(t, off, ...) thread_list_is_same(t, off, __VA_ARGS__)
#endif

/* Is it certain that this thread still has no state? */
static __always_inline int thread_still_native(struct thread_search *t,
					       const struct py_offsets *off,
					       const struct thread_slot *slot)
{
	return slot->native && THREAD_LIST_IS_SAME(t, off, slot->interp_addr, slot->head_addr,
						   slot->head_next_addr);
}

/* Resumes an interrupted search, or begins one. slot may be NULL. Returns as thread_search_begin(). */
static __always_inline int thread_search_resume(struct thread_search *t,
						const struct py_offsets *off,
						const struct thread_slot *slot)
{
	if (!slot || !slot->resume_addr)
		return thread_search_begin(t, off, t->runtime_addr);
	t->tstate_addr = slot->resume_addr;
	t->prev_addr = slot->resume_prev_addr;
	t->interp_addr = slot->interp_addr;
	t->candidate_addr = slot->candidate_addr;
	t->candidate_interp_addr = slot->candidate_interp_addr;
	t->numbered_addr = 0;
	t->numbered_interp_addr = 0;
	t->head_addr = slot->head_addr;
	t->head_next_addr = slot->head_next_addr;
	t->reason = REASON_THREAD_LIMIT;
	t->resumed = 1;
	return 0;
}

/* After a failed search: is it worth repeating from the beginning? */
static __always_inline int thread_search_again(const struct thread_search *t)
{
	return t->reason == REASON_THREAD_TORN || t->reason == REASON_THREAD_FAULT;
}

/* Sets how much may be searched in this interrupt; the caller accounts for what was. */
static __always_inline void thread_search_allow(struct thread_search *t,
						const struct proc_info *proc, __u64 now_ns)
{
	__u64 left = proc->search_states + ((now_ns - proc->search_ns) >> KRAIT_SEARCH_SHIFT);

	t->steps = 0;
	t->left = left < KRAIT_MAX_THREADS ? left : KRAIT_MAX_THREADS;
	if (t->left < KRAIT_SEARCH_PART)
		t->left = KRAIT_SEARCH_PART;
}

static __always_inline void thread_search_pay(const struct thread_search *t, struct proc_info *proc,
					      __u64 now_ns)
{
	__u64 left = proc->search_states + ((now_ns - proc->search_ns) >> KRAIT_SEARCH_SHIFT);

	if (left > KRAIT_SEARCH_BUDGET)
		left = KRAIT_SEARCH_BUDGET;
	proc->search_ns = now_ns;
	proc->search_states = left > t->steps ? left - t->steps : 0;
}

/* The search is over for this interrupt: settles its reason, and what the slot remembers. */
static __always_inline void thread_search_settle(struct thread_search *t,
						 const struct py_offsets *off,
						 struct thread_slot *slot)
{
	int bound = t->reason == REASON_PYTHON && thread_is_bound(t, off);
	int limit = t->reason == REASON_THREAD_LIMIT;
	int same = 0;

	if (t->reason == REASON_NATIVE_THREAD && (t->resumed || t->steps > THREAD_SHORT_LIST)) {
		same = THREAD_LIST_IS_SAME(t, off, t->interp_addr, t->head_addr, t->head_next_addr);
		if (t->resumed && !same)
			t->reason = REASON_THREAD_LIMIT;
	}
	if (!slot)
		return;
	slot->tstate_addr = bound ? t->tstate_addr : 0;
	slot->interp_addr = t->interp_addr;
	slot->resume_addr = limit ? t->tstate_addr : 0;
	slot->resume_prev_addr = t->prev_addr;
	/* A state found by its number is resumed as one found by its pointer, which the next part may replace. */
	slot->candidate_addr = t->candidate_addr ? t->candidate_addr : t->numbered_addr;
	slot->candidate_interp_addr = t->candidate_addr ? t->candidate_interp_addr :
							  t->numbered_interp_addr;
	slot->head_addr = t->head_addr;
	slot->head_next_addr = t->head_next_addr;
	slot->native = same;
}

#endif /* KRAIT_BPF_PYTHON_THREAD_H */
