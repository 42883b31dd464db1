/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/values/py_string.h"
#include "process/memory/remote.h"
#include "python/layout/task_layout.h"
#include "process/probe/task_list.h"
#include "base/data/cleanup.h"
#include "base/data/memory.h"
#include "python/walk/stack_walk.h"
#include "python/walk/task_walk.h"
#include "python/walk/thread_list.h"

/* How often to read a list of tasks whose links are inconsistent. */
#define TRIES 5
/* Entries of a set to look at, including removed ones. */
#define SET_ENTRIES_MAX 65536U
/* PyTypeObject.tp_flags, after the head of a variable-size object (Include/cpython/object.h). */
#define TYPE_FLAGS 152
#define TYPE_IS_LONG (1U << 24)
#define TYPE_IS_UNICODE (1U << 28)
/*
 * PyLongObject: lv_tag, whose upper bits are the number of digits and whose two lowest bits the
 * sign; digits of 30 bits (Include/cpython/longintrepr.h).
 */
#define LONG_DIGIT 8
#define LONG_SHIFT 3
/* Tasks of one thread that run a loop within another one. */
#define HOSTS_MAX 8

struct list {
	int mem;
	const struct probe_tasks_ask *ask;
	struct memory memory;
	struct task_layout layout;
	__u32 head_size; /* of an object */
	struct thread_list_entry states[KRAIT_MAX_THREADS];
	__u32 state_cnt;
	struct task_walk_result walked;
	struct task_list out;
};

static int read_word(struct list *l, __u64 addr, __u64 *ret)
{
	return memory_read(&l->memory, addr, ret, sizeof(*ret));
}

/* ---- one task --------------------------------------------------------------------------------- */

/*
 * Adds a name that nobody has asked for yet: it is a number (Modules/_asynciomodule.c,
 * _asyncio_Task_get_name_impl()).
 */
static void add_number(struct list *l, struct probe_task *t, __u64 addr)
{
	__u64 tag;
	__u32 digits[2] = { 0, 0 };
	char text[32];

	if (read_word(l, addr + l->head_size, &tag) || tag >> LONG_SHIFT > 2 ||
	    !(tag >> LONG_SHIFT) ||
	    memory_read(&l->memory, addr + l->head_size + LONG_DIGIT, digits,
			(tag >> LONG_SHIFT) * sizeof(digits[0])))
		return;
	snprintf(text, sizeof(text), "Task-%llu",
		 (unsigned long long)digits[0] | (__u64)digits[1] << 30);
	task_list_set_name(&l->out, t, text);
}

static void add_name(struct list *l, struct probe_task *t)
{
	__u64 addr, type_addr;
	cleanup_free char *name = NULL;
	__u64 flags;

	if (read_word(l, t->addr + l->ask->asyncio.task_name, &addr) ||
	    read_word(l, addr + (__u64)l->ask->offsets.object.ob_type, &type_addr) ||
	    read_word(l, type_addr + l->head_size + TYPE_FLAGS, &flags))
		return;
	if (flags & TYPE_IS_LONG)
		add_number(l, t, addr);
	else if (flags & TYPE_IS_UNICODE &&
		 !py_string_read(&l->memory, &l->ask->offsets, addr, &name))
		task_list_set_name(&l->out, t, name);
}

static void add_set(struct list *l, struct probe_task *t, __u64 addr)
{
	__u64 words[3], entries[64]; /* used, mask, table */

	if (memory_read(&l->memory, addr + l->layout.set_used, words, sizeof(words)))
		return;
	for (__u64 i = 0; i <= words[1] && i < SET_ENTRIES_MAX && t->waiter_cnt < words[0] &&
			  !task_list_is_late(&l->out);
	     i += 32) {
		__u64 cnt = words[1] + 1 - i < 32 ? words[1] + 1 - i : 32;

		if (memory_read(&l->memory, words[2] + 16 * i, entries, 16 * cnt)) {
			l->out.head.flags |= PROBE_TASKS_CHANGED;
			return;
		}
		for (__u64 j = 0; j < cnt; j++)
			if (entries[2 * j] && entries[2 * j + 1] != ~0ULL)
				task_list_add_waiter(&l->out, t, entries[2 * j]);
	}
}

/* Adds the tasks that await it; of one that starts eagerly, the one that creates it. */
static void add_waiters(struct list *l, struct probe_task *t)
{
	__u64 addr;
	__u8 is_set;

	if (l->walked.creator_addr) {
		task_list_add_waiter(&l->out, t, l->walked.creator_addr);
		return;
	}
	if (read_word(l, t->addr + l->ask->asyncio.task_awaited_by, &addr) || !addr ||
	    memory_read(&l->memory, t->addr + l->ask->asyncio.task_awaited_by_is_set, &is_set, 1))
		return;
	if (is_set)
		add_set(l, t, addr);
	else
		task_list_add_waiter(&l->out, t, addr);
}

/* Adds the frames at which its coroutines are suspended. */
static void add_frames(struct list *l, struct probe_task *t)
{
	const struct task_walk_config walk = { .memory = &l->memory,
					       .offsets = &l->ask->offsets,
					       .layout = &l->layout,
					       .fingerprints = true,
					       .alone = true };

	task_walk_from(&walk, t->addr, &l->walked);
	if (!l->walked.cnt)
		return;
	t->notes = l->walked.parts[0].fingerprint;
	task_list_set_frames(&l->out, t, l->walked.parts + 1, l->walked.cnt - 1);
}

static void add_task(struct list *l, __u64 addr, __u64 thread_id, __u32 flags)
{
	struct probe_task *t = task_list_add(&l->out, addr, thread_id, flags);

	if (!t)
		return;
	add_frames(l, t);
	add_waiters(l, t);
	if (l->ask->names)
		add_name(l, t);
}

/* ---- lists of tasks --------------------------------------------------------------------------- */

/* Follows one list from its beginning. False: its links are inconsistent, maybe only by now. */
static bool follow(struct list *l, __u64 head_addr, __u64 thread_id, __u64 running_addr)
{
	const __u64 node = l->ask->asyncio.task_node;
	__u64 links[2], prev = head_addr; /* next, prev */

	if (memory_read(&l->memory, head_addr, links, sizeof(links)))
		return true; /* a thread that has ended */
	for (__u32 i = 0; links[0] && links[0] != head_addr; i++) {
		__u64 addr = links[0] - node;

		if (i == PROBE_TASKS_MAX)
			l->out.head.flags |= PROBE_TASKS_CUT;
		if (i == PROBE_TASKS_MAX || task_list_is_full(&l->out) ||
		    task_list_is_late(&l->out))
			return true;
		if (addr % 8 || memory_read(&l->memory, addr + node, links, sizeof(links)) ||
		    links[1] != prev)
			return false;
		prev = addr + node;
		add_task(l, addr, thread_id, addr == running_addr ? PROBE_TASK_RUNS : 0);
	}
	return true;
}

static void follow_until_whole(struct list *l, __u64 head_addr, __u64 thread_id, __u64 running_addr)
{
	for (int i = 0; i < TRIES; i++)
		if (follow(l, head_addr, thread_id, running_addr))
			return;
	l->out.head.flags |= PROBE_TASKS_CHANGED;
}

static void read_states(struct list *l)
{
	const struct stack_walk walk = { .memory = &l->memory,
					 .offsets = &l->ask->offsets,
					 .runtime_addr = l->ask->runtime_addr };

	l->out.head.list_reason = REASON_NO_RUNTIME;
	for (int i = 0; i < TRIES && l->out.head.list_reason != REASON_PYTHON; i++)
		l->out.head.list_reason =
			thread_list_read(&walk, l->states, KRAIT_MAX_THREADS, &l->state_cnt);
}

static bool interp_is_new(const struct list *l, __u32 state)
{
	for (__u32 i = 0; i < state; i++)
		if (l->states[i].interp_addr == l->states[state].interp_addr)
			return false;
	return true;
}

/* ---- loops within a task ---------------------------------------------------------------------- */

/* The loop to which it belongs: the first member after an object's head (Modules/_asynciomodule.c, FutureObj_HEAD). */
static __u64 loop_of(struct list *l, const struct probe_task *t)
{
	__u64 loop_addr;

	return read_word(l, t->addr + l->head_size, &loop_addr) ? 0 : loop_addr;
}

static bool has_created(const struct list *l, __u32 first, __u64 addr)
{
	for (__u32 i = first; i < l->out.head.task_cnt; i++)
		if (l->out.tasks[i].notes & TASK_EAGER &&
		    l->out.waiters[l->out.tasks[i].first_waiter] == addr)
			return true;
	return false;
}

/* The tasks, from first on, that run a loop, the innermost first: on the stack, but neither running nor a creator. */
static __u32 find_hosts(struct list *l, __u32 first, __u32 hosts[HOSTS_MAX])
{
	__u64 entry_addrs[HOSTS_MAX];
	__u32 cnt = 0;

	for (__u32 i = first; i < l->out.head.task_cnt && cnt < HOSTS_MAX; i++) {
		const struct probe_task *t = &l->out.tasks[i];
		__u32 at = cnt;
		__u64 addr;

		if (!(t->notes & TASK_LIVE) || t->flags & PROBE_TASK_RUNS || !t->frame_cnt ||
		    has_created(l, first, t->addr) ||
		    read_word(l,
			      l->out.frames[t->first_frame].frame_addr +
				      (__u64)l->ask->offsets.frame.previous,
			      &addr))
			continue;
		for (; at > 0 && entry_addrs[at - 1] > addr; at--) {
			entry_addrs[at] = entry_addrs[at - 1];
			hosts[at] = hosts[at - 1];
		}
		entry_addrs[at] = addr;
		hosts[at] = i;
		cnt++;
	}
	return cnt;
}

/* A thread's tasks that nobody awaits, from first on: if a task runs their loop, that one is added as if it did. */
static void link_loops(struct list *l, __u32 first, __u64 loop_addr)
{
	__u32 hosts[HOSTS_MAX], cnt = find_hosts(l, first, hosts);

	for (__u32 h = 0; h < cnt; h++) {
		const struct probe_task *host = &l->out.tasks[hosts[h]];

		/* No loop runs within itself: that task began to run after we had read which one does. */
		if (loop_of(l, host) == loop_addr)
			continue;
		for (__u32 i = first; i < l->out.head.task_cnt && loop_addr; i++) {
			struct probe_task *t = &l->out.tasks[i];

			if (t == host || t->waiter_cnt || loop_of(l, t) != loop_addr)
				continue;
			t->first_waiter = l->out.head.waiter_cnt;
			task_list_add_waiter(&l->out, t, host->addr);
		}
		loop_addr = loop_of(l, host);
	}
}

static void fill(struct list *l)
{
	const struct published_asyncio *a = &l->ask->asyncio;
	__u64 running, loop_addr;

	task_list_begin(&l->out);
	read_states(l);
	for (__u32 i = 0; i < l->state_cnt; i++) {
		const struct thread_list_entry *s = &l->states[i];
		__u32 first = l->out.head.task_cnt;

		if (read_word(l, s->tstate_addr + a->thread_running_task, &running))
			running = 0;
		follow_until_whole(l, s->tstate_addr + a->thread_tasks_head, s->native_id, running);
		if (running)
			add_task(l, running, s->native_id, PROBE_TASK_RUNS);
		if (!read_word(l, s->tstate_addr + a->thread_running_loop, &loop_addr))
			link_loops(l, first, loop_addr);
		if (interp_is_new(l, i))
			follow_until_whole(l, s->interp_addr + a->interp_tasks_head, 0, 0);
	}
}

int probe_tasks_list(int mem, const struct probe_tasks_ask *ask)
{
	struct list *l;
	int result;

	if (!published_is_sane(PUBLISHED_ASYNCIO, &ask->asyncio, sizeof(ask->asyncio)))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->mem = mem;
	l->ask = ask;
	l->memory = remote_memory_at(&l->mem);
	l->head_size = (__u32)ask->offsets.object.ob_type + 8;
	result = task_layout_of(&l->layout, &ask->offsets, &ask->asyncio, 0);
	if (!result) {
		fill(l);
		result = task_list_write(&l->out);
	}
	free(l);
	return result;
}
