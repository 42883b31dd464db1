/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/walk/thread_list.h"

#include <string.h>

#include "bpf/read.h"
#include "bpf/python/thread.h"
#include "python/walk/stack_walk.h"

struct listing {
	const struct stack_walk *walk;
	struct thread_search search; /* only for its window */
	struct thread_list_entry *list;
	__u32 cnt, cap;
	__u64 interp_addr;
	__s64 interp_id;
};

static void add(struct listing *l, __u64 tstate_addr)
{
	const struct py_offsets *off = l->walk->offsets;
	struct thread_search *t = &l->search;
	struct thread_list_entry *e = &l->list[l->cnt++];

	*e = (struct thread_list_entry){
		.tstate_addr = tstate_addr,
		.interp_addr = l->interp_addr,
		.interp_id = l->interp_id,
		.thread_ptr = THREAD_FIELD(t, off, thread_id),
	};
	e->native_id = thread_number(t, off);
}

static enum reason list_interpreter(struct listing *l)
{
	const struct py_offsets *off = l->walk->offsets;
	struct thread_search *t = &l->search;
	__u64 addr = 0, prev_addr = 0;

	if (read_from_u64(t, &addr, l->interp_addr + (__u64)off->interp.threads_head))
		return REASON_RUNTIME_FAULT;
	while (addr) {
		if (l->cnt == l->cap)
			return REASON_THREAD_LIMIT;
		if (thread_window(t, addr))
			return REASON_THREAD_FAULT;
		if (THREAD_FIELD(t, off, prev) != prev_addr ||
		    THREAD_FIELD(t, off, interp) != l->interp_addr)
			return REASON_THREAD_TORN;
		add(l, addr);
		prev_addr = addr;
		addr = THREAD_FIELD(t, off, next);
	}
	return REASON_PYTHON;
}

enum reason thread_list_read(const struct stack_walk *x, struct thread_list_entry *list, __u32 cap,
			     __u32 *ret_cnt)
{
	struct listing l = { .walk = x, .list = list, .cap = cap };
	enum reason reason = REASON_NO_RUNTIME;

	*ret_cnt = 0;
	if (l.cap > KRAIT_MAX_THREADS)
		l.cap = KRAIT_MAX_THREADS;
	l.search.memory = x->memory;
	if (read_from_u64(&l.search, &l.interp_addr,
			  x->runtime_addr + (__u64)x->offsets->runtime.interpreters_head))
		return REASON_RUNTIME_FAULT;
	for (unsigned i = 0; l.interp_addr; i++) {
		if (i == THREAD_LIST_INTERPS_MAX)
			return REASON_THREAD_LIMIT;
		if (read_from_u64(&l.search, (__u64 *)&l.interp_id,
				  l.interp_addr + (__u64)x->offsets->interp.id))
			return REASON_RUNTIME_FAULT;
		reason = list_interpreter(&l);
		*ret_cnt = l.cnt;
		if (reason != REASON_PYTHON)
			return reason;
		if (read_from_u64(&l.search, &l.interp_addr,
				  l.interp_addr + (__u64)x->offsets->interp.next))
			return REASON_RUNTIME_FAULT;
	}
	return reason;
}
