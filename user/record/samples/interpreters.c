/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/interpreters.h"

#include <linux/types.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"
#include "record/samples/own.h"
#include "process/probe/probed.h"

/* Per look: in a process with more interpreters nothing can be said. */
#define OLDER_MAX 64
#define STATES_MAX 512

/* One look under way. */
struct search {
	const struct memory *memory;
	const struct py_offsets *off;
	__u64 thread_ptr;
};

static bool get(const struct search *s, __u64 base_addr, __s32 offset, __u64 *ret)
{
	return !memory_read(s->memory, base_addr + (__u64)offset, ret, sizeof(*ret));
}

/* Does the thread state have a Python frame, or is it idle? */
static bool has_frame(const struct search *s, __u64 tstate_addr)
{
	const struct py_offsets *off = s->off;
	__u64 addr = tstate_addr, frame_addr, base_addr;

	if (off->flags & PYOFF_CFRAME) {
		if (!get(s, tstate_addr, off->thread.cframe, &addr) ||
		    !get(s, addr, off->cframe.current_frame, &frame_addr))
			return false;
		return frame_addr;
	}
	if (!get(s, tstate_addr, off->thread.current_frame, &frame_addr) || !frame_addr)
		return false;
	/* 3.15: the chain of an idle state ends there. */
	return off->thread.base_frame == PYOFF_ABSENT ||
	       (get(s, tstate_addr, off->thread.base_frame, &base_addr) && frame_addr != base_addr);
}

/*
 * Is the thread also running Python in that interpreter? It may have several states there, some of
 * them idle.
 */
static bool is_in(const struct search *s, __u64 interp_addr)
{
	__u64 tstate_addr, thread_id;

	if (!get(s, interp_addr, s->off->interp.threads_head, &tstate_addr))
		return false;
	for (unsigned i = 0; tstate_addr && i < STATES_MAX; i++) {
		if (!get(s, tstate_addr, s->off->thread.thread_id, &thread_id))
			return false;
		if (THREAD_IS(thread_id, s->thread_ptr) && has_frame(s, tstate_addr))
			return true;
		if (!get(s, tstate_addr, s->off->thread.next, &tstate_addr))
			return false;
	}
	return false;
}

/* next_addr: the next older interpreter after the one that the thread runs. */
static bool is_in_older(const struct search *s, __u64 next_addr)
{
	for (unsigned i = 0; next_addr && i < OLDER_MAX; i++) {
		if (is_in(s, next_addr))
			return true;
		if (!get(s, next_addr, s->off->interp.next, &next_addr))
			return false;
	}
	return false;
}

enum interpreter_kind interpreter_kind_of(const struct memory *memory, const struct py_offsets *off,
					  __u64 interp_addr, __u64 thread_ptr)
{
	const struct search s = { .memory = memory, .off = off, .thread_ptr = thread_ptr };
	__u64 next_addr;

	/* If it cannot be read nothing is concluded, least of all about the other threads in it. */
	if (!get(&s, interp_addr, off->interp.next, &next_addr))
		return INTERPRETER_BEGUN;
	if (!next_addr)
		return INTERPRETER_OLDEST;
	return is_in_older(&s, next_addr) ? INTERPRETER_ENTERED : INTERPRETER_BEGUN;
}

static bool look(struct process *p, const struct record_sample *record)
{
	enum interpreter_kind kind = interpreter_kind_of(probed__memory(p->probed),
							 &p->info.offsets, record->interp_addr,
							 record->thread_ptr);

	if (kind == INTERPRETER_OLDEST)
		p->own->main_interp_addr = record->interp_addr;
	return kind == INTERPRETER_ENTERED;
}

bool interpreters_has_callers(struct thread *t, const struct record_sample *record)
{
	struct process *p = t->process;

	if (!record->interp_addr || record->interp_addr == p->own->main_interp_addr || !p->probed)
		return false;
	if (record->interp_addr == t->own->interp_addr)
		return t->own->has_callers;
	if (p->own->interp_looks == INTERPRETER_LOOKS_MAX)
		return false;
	p->own->interp_looks++;
	t->own->interp_addr = record->interp_addr;
	t->own->has_callers = look(p, record);
	return t->own->has_callers;
}
