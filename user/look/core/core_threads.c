/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/core/core_threads.h"

#include <stdlib.h>
#include <string.h>

static int compare_tids(const void *a, const void *b)
{
	const struct core_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void add(struct thread_stacks *s, const struct core_file *c, const struct core_thread *from)
{
	struct probe_thread *t = &s->threads[s->head.thread_cnt++];
	const struct thread_list_entry *state;

	*t = (struct probe_thread){
		.tid = from->tid,
		.ns_tid = from->tid,
		.state = from->syscall < 0 ? 'R' : 'S',
		.flags = PROBE_THREAD_HELD | PROBE_THREAD_SYSCALL,
		.syscall = (__s32)from->syscall,
		.stack_ptr = from->stack_ptr,
		.ip = from->ip,
	};
	memcpy(t->args, from->args, sizeof(t->args));
	memcpy(t->regs, from->regs, sizeof(t->regs));
	t->flags |= PROBE_THREAD_REGS | (from->syscall < 0 ? 0 : PROBE_THREAD_BEHIND_CALL);
	memcpy(t->comm, c->comm, sizeof(t->comm));
	/* The thread will not move again; if it is in no system call, it was on a CPU. */
	if (from->syscall < 0)
		t->flags |= PROBE_THREAD_RUNS | PROBE_THREAD_PAUSED;
	state = thread_stacks__state_of(s, t);
	if (!state)
		return;
	thread_stacks__walk(s, t, state);
	thread_stacks__keep(s, t);
}

/*
 * Without the interpreter's file the name of the code objects' type is unreadable. But frames
 * execute code objects: if all those have one type, its name is "code".
 */
static void name_code_type(struct core_file *c, const struct thread_stacks *s)
{
	const struct py_offsets *off = s->walk.offsets;
	__u64 type_addr = 0, name_addr = 0;
	char none;

	for (__u32 i = 0; i < s->head.frame_cnt; i++) {
		__u64 addr;

		if (!s->frames[i].code_addr)
			continue;
		if (memory_read(&c->memory, s->frames[i].code_addr + (__u64)off->object.ob_type,
				&addr, sizeof(addr)) ||
		    (type_addr && addr != type_addr))
			return;
		type_addr = addr;
	}
	if (!type_addr ||
	    memory_read(&c->memory, type_addr + (__u64)off->object.tp_name, &name_addr, 8) ||
	    !memory_read(&c->memory, name_addr, &none, 1))
		return;
	c->known = (struct core_known){ .addr = name_addr, .text = "code" };
}

void core_threads_fill(struct core_file *c, const struct probe_threads_ask *ask,
		       struct thread_stacks *s)
{
	pid_t last = 0;

	qsort(c->threads, c->thread_cnt, sizeof(*c->threads), compare_tids);
	thread_stacks__begin(s);
	for (__u32 i = 0; i < c->thread_cnt; i++) {
		if (c->threads[i].tid < ask->first_tid || c->threads[i].tid <= last)
			continue;
		if (thread_stacks__is_full(s)) {
			s->head.next_tid = c->threads[i].tid;
			break;
		}
		last = c->threads[i].tid;
		add(s, c, &c->threads[i]);
	}
	if (!c->known.addr)
		name_code_type(c, s);
}
