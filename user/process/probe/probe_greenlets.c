/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/probe_greenlets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "base/data/memory.h"
#include "base/system/clock.h"
#include "process/identify/greenlet_module.h"
#include "process/memory/page_cache.h"
#include "process/memory/remote.h"
#include "process/probe/task_list.h"
#include "python/layout/greenlet_layout.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"

/* ---- gc lists --------------------------------------------------------------------------------- */

/*
 * The objects that an interpreter's garbage collector tracks.
 *
 * For CPython with a GIL, 3.8 to 3.15. struct _gc_runtime_state (Include/internal/pycore_gc.h,
 * pycore_interp_structs.h) has the heads of circular lists, one per generation, somewhere before
 * the member collecting, whose offset is known. Each object is preceded by two such links, with
 * flags in their two lowest bits. A word is recognised as a head by its neighbours, which link back
 * to it. Free-threaded builds have no such lists.
 *
 * Nothing holds still meanwhile. A list with inconsistent links is read from its other end, and
 * again.
 *
 * Must hold: bounded work, whatever the memory contains. What is found need not be an object.
 */

struct memory;
struct page_cache;

struct gc_lists {
	const struct memory *memory;
	struct page_cache *cache; /* of that memory */
	const struct py_offsets *offsets;
	/* Gets one object and its type; returns false to stop. */
	bool (*each)(void *ctx, __u64 object_addr, __u64 type_addr);
	void *ctx;
};

/* Flags in the lowest bits of a link. */
#define LINK_MARKS 3ULL
/* A head is aligned just enough for those flags; from 3.13.18 on not more. */
#define HEAD_ALIGN 4ULL
/* The two links before an object. */
#define LINKS_SIZE 16
/* How far before the member `collecting` to look: generations, their statistics, two pointers. */
#define HEADS_BYTES 256
/* How often to read a list whose links are inconsistent. */
#define LIST_TRIES 6
#define OBJECTS_MAX (64U << 20)

enum walked { WHOLE, BROKEN, ENOUGH };

static int read_links(const struct memory *memory, __u64 addr, __u64 links[2])
{
	if (!addr || addr % HEAD_ALIGN || memory_read(memory, addr, links, LINKS_SIZE))
		return -EFAULT;
	links[0] &= ~LINK_MARKS;
	links[1] &= ~LINK_MARKS;
	return 0;
}

static bool is_head(const struct memory *memory, __u64 addr)
{
	__u64 links[2], next[2], prev[2];

	/* An empty list points to itself: there is nothing in it. */
	return !read_links(memory, addr, links) && links[0] != addr && links[1] != addr &&
	       !read_links(memory, links[0], next) && next[1] == addr &&
	       !read_links(memory, links[1], prev) && prev[0] == addr;
}

/* side 0: from its beginning; 1: from its end. */
static enum walked walk_list(const struct gc_lists *x, __u64 head_addr, int side)
{
	const struct memory *memory = page_cache__memory(x->cache);
	const __u64 type_off = LINKS_SIZE + (__u64)x->offsets->object.ob_type;
	__u64 links[2], from = head_addr, type_addr;

	page_cache__clear(x->cache);
	if (read_links(memory, head_addr, links))
		return BROKEN;
	for (__u32 i = 0; links[side] != head_addr; i++) {
		__u64 addr = links[side];

		if (i == OBJECTS_MAX || read_links(memory, addr, links) || links[!side] != from ||
		    memory_read(memory, addr + type_off, &type_addr, sizeof(type_addr)))
			return BROKEN;
		if (!x->each(x->ctx, addr + LINKS_SIZE, type_addr))
			return ENOUGH;
		from = addr;
	}
	return WHOLE;
}

static enum walked walk_until_whole(const struct gc_lists *x, __u64 head_addr)
{
	enum walked outcome = BROKEN;

	for (int i = 0; i < LIST_TRIES && outcome == BROKEN; i++)
		outcome = walk_list(x, head_addr, i % 2);
	return outcome;
}

/*
 * Walks all lists of one interpreter. Returns 0; -ENOTSUP: it has no such lists; -EAGAIN: they kept
 * changing, so not all objects were met; -ENOENT: no object was found, though every interpreter has
 * some.
 */
static int gc_lists_walk(const struct gc_lists *x, __u64 runtime_addr, __u64 interp_addr)
{
	const struct py_offsets *off = x->offsets;
	__u64 end = off->interp.gc_collecting != PYOFF_ABSENT ?
			    interp_addr + (__u64)off->interp.gc_collecting :
			    runtime_addr + (__u64)off->runtime.gc_collecting;
	enum walked outcome;
	bool broken = false, found = false;
	__u32 collecting;

	if (off->flags & PYOFF_FREE_THREADED || (off->interp.gc_collecting == PYOFF_ABSENT &&
						 off->runtime.gc_collecting == PYOFF_ABSENT))
		return -ENOTSUP;
	/* During a collection some lists have their heads on its stack. */
	if (memory_read(x->memory, end, &collecting, sizeof(collecting)) || collecting)
		broken = true;
	for (__u64 addr = end & ~7ULL; addr > end - HEADS_BYTES; addr -= HEAD_ALIGN) {
		if (!is_head(x->memory, addr - 8))
			continue;
		found = true;
		outcome = walk_until_whole(x, addr - 8);
		if (outcome == ENOUGH)
			return 0;
		broken = broken || outcome == BROKEN;
	}
	return broken ? -EAGAIN : found ? 0 : -ENOENT;
}

/* ---- probe greenlets -------------------------------------------------------------------------- */

/* How often to look at a greenlet that is switched to meanwhile. */
#define TRIES 8
/* Time for finding out whose they are, even if their addresses are chosen to collide in the hash. */
#define THREADS_NS NS_PER_SEC

struct list {
	int mem;
	const struct probe_tasks_ask *ask;
	struct memory memory, stack_memory; /* stack_memory: as a suspended greenlet sees it */
	struct page_cache *cache;
	struct stack_walk walk;
	struct thread_list_entry states[KRAIT_MAX_THREADS];
	__u32 state_cnt;
	struct greenlet_layout layout;
	struct greenlet walked_greenlet;
	struct stack_walk_result walked, checked;
	__u64 found[PROBE_TASKS_MAX]; /* objects of that type */
	__u32 found_cnt;
	__u32 unproved; /* how many of them */
	__u32 visited; /* objects of all types */
	struct task_list out;
};

/*
 * If greenlet has copied part of the stack away to make room for another's, reads it from the copy,
 * be it only a part of a frame.
 */
static int read_of_greenlet(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct list *l = ctx;
	const struct greenlet *g = &l->walked_greenlet;
	size_t done = 0;
	int err = 0;

	while (done < len && !err) {
		__u64 into = addr + done - g->saved_addr, before = g->saved_addr - addr - done;
		bool saved = into < g->saved_size;
		__u64 room = saved ? g->saved_size - into : g->saved_size ? before : len;
		size_t part = room < len - done ? (size_t)room : len - done;

		err = remote_read_fd(l->mem, saved ? g->copy_addr + into : addr + done,
				     (char *)buf + done, part);
		done += part;
	}
	return err;
}

/* ---- one greenlet ----------------------------------------------------------------------------- */

/* Adds the frames at which it is suspended; entry frames do not matter here. */
static void add_frames(struct list *l, struct probe_task *t)
{
	__u32 cnt = 0;

	for (__u32 i = l->walked.frame_cnt; i-- > 0;)
		if (l->walked.frames[i].code_addr)
			cnt++;
	for (__u32 i = 0, kept = 0; i < l->walked.frame_cnt; i++)
		if (l->walked.frames[i].code_addr)
			l->walked.frames[kept++] = l->walked.frames[i];
	/* Root first, like those of a task. */
	for (__u32 i = 0; i < cnt / 2; i++) {
		struct frame f = l->walked.frames[i];

		l->walked.frames[i] = l->walked.frames[cnt - 1 - i];
		l->walked.frames[cnt - 1 - i] = f;
	}
	task_list_set_frames(&l->out, t, l->walked.frames, cnt);
}

static bool is_same(const struct greenlet *a, const struct greenlet *b)
{
	return a->state == b->state && a->frame_addr == b->frame_addr &&
	       a->saved_addr == b->saved_addr && a->saved_size == b->saved_size &&
	       a->copy_addr == b->copy_addr && a->parent_addr == b->parent_addr;
}

/*
 * Does a second look find the same? A greenlet that ran meanwhile may be suspended at the same
 * place again, with the same addresses: walking its frames once more shows whether they were read
 * while it ran.
 */
static bool is_unchanged(struct list *l, __u64 addr, const struct greenlet *g)
{
	struct greenlet again;

	stack_walk_chain(&l->walk, g->frame_addr, &l->checked);
	return !greenlet_layout_read(&l->layout, addr, &again) && is_same(g, &again) &&
	       l->checked.reason == l->walked.reason &&
	       l->checked.frame_cnt == l->walked.frame_cnt &&
	       !memcmp(l->checked.frames, l->walked.frames,
		       l->walked.frame_cnt * sizeof(*l->walked.frames));
}

/*
 * Is a frame among them that is being cleared? A greenlet that is suspended has none: it ran while they were read. When
 * its leaf has returned, the rest of the chain is as before, and so is all of it once the leaf is called again: two looks
 * that find the same can both have come between.
 */
static bool has_ended_frame(const struct list *l)
{
	for (__u32 i = 0; i < l->walked.frame_cnt; i++)
		if (!l->walked.frames[i].code_addr && !l->walked.frames[i].frame_addr)
			return true;
	return false;
}

/* Reads it and walks its frames, until both are consistent. Returns enum task_note, or -errno. */
static int read_one(struct list *l, __u64 addr, struct greenlet *ret)
{
	int err, notes = 0;

	l->walked.frame_cnt = 0;
	for (int i = 0; i < TRIES; i++) {
		err = greenlet_layout_read(&l->layout, addr, ret);
		if (err)
			continue;
		if (ret->state != GREENLET_SUSPENDED)
			break;
		l->walked_greenlet = *ret;
		stack_walk_chain(&l->walk, ret->frame_addr, &l->walked);
		notes = l->walked.reason == REASON_PYTHON ? 0 :
			l->walked.reason == REASON_DEPTH  ? TASK_LIMIT :
							    TASK_FRAMES;
		notes |= has_ended_frame(l) ? TASK_FRAMES : 0;
		if (!(notes & TASK_FRAMES) && is_unchanged(l, addr, ret))
			return notes;
		notes |= TASK_TORN;
	}
	if (err)
		return err;
	if (ret->state == GREENLET_SUSPENDED)
		return notes;
	l->walked.frame_cnt = 0;
	return 0;
}

static void set_name(struct list *l, struct probe_task *t, const struct greenlet *g)
{
	char name[96], text[128];

	greenlet_layout_type_name(&l->layout, g->type_addr, name, sizeof(name));
	snprintf(text, sizeof(text), "%s%s", *name ? name : "greenlet",
		 g->is_main ? " (main)" : "");
	task_list_set_name(&l->out, t, text);
}

/* The parent comes first, unless it is already listed. */
static void add_one(struct list *l, __u64 addr)
{
	struct greenlet g;
	struct probe_task *t;
	int notes = read_one(l, addr, &g);

	if (notes < 0) {
		l->unproved++;
		return;
	}
	if (g.state == GREENLET_DEAD)
		return;
	t = task_list_add(&l->out, addr, 0,
			  g.state == GREENLET_RUNS ? PROBE_TASK_RUNS :
			  g.state == GREENLET_NEW  ? PROBE_TASK_NEW :
						     0);
	if (!t)
		return;
	t->notes = (__u32)notes;
	t->stack_addr = g.stack_addr;
	if (g.is_main)
		t->flags |= PROBE_TASK_MAIN;
	if (g.is_main && !g.has_thread)
		t->flags |= PROBE_TASK_ENDED;
	add_frames(l, t);
	if (g.parent_addr)
		task_list_add_waiter(&l->out, t, g.parent_addr);
	set_name(l, t, &g);
}

/* ---- whose they are --------------------------------------------------------------------------- */

/*
 * The thread whose stack contains the address. glibc and musl put the target of pthread_self() at
 * the upper end of a thread's stack, so it is the next one above that address. Above the main
 * thread's stack, which the kernel made, there is none.
 */
static __u64 thread_at(const struct list *l, __u64 stack_addr)
{
	__u64 above = ~0ULL, id = 0, first = 0;

	for (__u32 i = 0; i < l->state_cnt; i++) {
		const struct thread_list_entry *s = &l->states[i];

		if (s->thread_ptr >= stack_addr && s->thread_ptr < above) {
			above = s->thread_ptr;
			id = s->native_id;
		}
		if (!first || (s->native_id && s->native_id < first))
			first = s->native_id;
	}
	return above == ~0ULL ? first : id;
}

/* Index of its parent in tasks; PROBE_TASKS_MAX: it has none in the list. */
static __u32 parent_of(const struct list *l, __u32 at)
{
	const struct probe_task *t = &l->out.tasks[at];

	return t->waiter_cnt ? task_list_find(&l->out, l->out.waiters[t->first_waiter]) :
			       PROBE_TASKS_MAX;
}

/*
 * The topmost parent; of a cycle, one member. Every greenlet on the way is resolved as well, so all
 * walks together are linear in the list. roots: known results, PROBE_TASKS_MAX for the others.
 */
static __u32 take_root(const struct list *l, __u32 *roots, __u32 from)
{
	__u32 at = from, up = from, steps = 0, root;

	for (; up != PROBE_TASKS_MAX && roots[up] == PROBE_TASKS_MAX; steps++) {
		at = up;
		roots[at] = at;
		up = parent_of(l, at);
	}
	root = up == PROBE_TASKS_MAX ? at : roots[up];
	for (at = from; steps; steps--, at = parent_of(l, at))
		roots[at] = root;
	return root;
}

/*
 * Each belongs to the thread of its main greenlet; one that has run has been on that thread's
 * stack.
 */
static void set_threads(struct list *l)
{
	const __u64 end_ns = clock_monotonic_ns() + THREADS_NS;
	const __u32 cnt = l->out.head.task_cnt;
	__u32 *roots = calloc(cnt + 1, sizeof(*roots)), done = 0;

	for (__u32 i = 0; roots && i < cnt; i++)
		roots[i] = PROBE_TASKS_MAX;
	for (; roots && done < cnt && clock_monotonic_ns() < end_ns; done++) {
		struct probe_task *root = &l->out.tasks[take_root(l, roots, done)];

		if (l->out.tasks[done].stack_addr > 1 && !root->thread_id &&
		    !(root->flags & PROBE_TASK_ENDED))
			root->thread_id = thread_at(l, l->out.tasks[done].stack_addr);
	}
	for (__u32 i = 0; i < done; i++)
		l->out.tasks[i].thread_id = l->out.tasks[roots[i]].thread_id;
	if (done < cnt)
		l->out.head.flags |= PROBE_TASKS_CUT;
	free(roots);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool note_object(void *ctx, __u64 object_addr, __u64 type_addr)
{
	struct list *l = ctx;

	if (++l->visited % 1024 == 0 && task_list_is_late(&l->out))
		return false;
	if (!greenlet_layout_is_type(&l->layout, type_addr))
		return true;
	if (l->found_cnt == PROBE_TASKS_MAX) {
		l->out.head.flags |= PROBE_TASKS_CUT;
		return false;
	}
	l->found[l->found_cnt++] = object_addr;
	return true;
}

static bool interp_is_new(const struct list *l, __u32 state)
{
	for (__u32 i = 0; i < state; i++)
		if (l->states[i].interp_addr == l->states[state].interp_addr)
			return false;
	return true;
}

static int find_all(struct list *l)
{
	const struct gc_lists lists = { .memory = &l->memory,
					.cache = l->cache,
					.offsets = &l->ask->offsets,
					.each = note_object,
					.ctx = l };
	bool found = false;
	int err = 0;

	l->out.head.list_reason = REASON_NO_RUNTIME;
	for (int i = 0; i < TRIES && l->out.head.list_reason != REASON_PYTHON; i++)
		l->out.head.list_reason =
			thread_list_read(&l->walk, l->states, KRAIT_MAX_THREADS, &l->state_cnt);
	for (__u32 i = 0; i < l->state_cnt && !err; i++) {
		if (!interp_is_new(l, i))
			continue;
		err = gc_lists_walk(&lists, l->ask->runtime_addr, l->states[i].interp_addr);
		found = found || !err || err == -EAGAIN;
		if (err == -EAGAIN || err == -ENOENT) {
			l->out.head.flags |= PROBE_TASKS_CHANGED;
			err = 0;
		}
	}
	if (!err && l->state_cnt && !found)
		return -EPROTONOSUPPORT;
	return err == -ENOTSUP ? -EXFULL : err;
}

static int fill(struct list *l)
{
	int err = find_all(l);

	for (__u32 i = 0; i < l->found_cnt && !err && !task_list_is_late(&l->out); i++)
		err = greenlet_layout_learn(&l->layout, l->found[i]);
	for (__u32 i = 0; i < l->found_cnt && !err && !task_list_is_late(&l->out); i++)
		add_one(l, l->found[i]);
	/* Parents that appeared after the search, or while a list changed. */
	for (__u32 i = 0; i < l->out.head.waiter_cnt && !err && !task_list_is_late(&l->out); i++)
		if (task_list_find(&l->out, l->out.waiters[i]) == PROBE_TASKS_MAX)
			add_one(l, l->out.waiters[i]);
	set_threads(l);
	if (err == -ENOTSUP || (l->unproved && !l->out.head.task_cnt))
		return -EPROTONOSUPPORT;
	if (l->unproved)
		l->out.head.flags |= PROBE_TASKS_CHANGED;
	return err;
}

int probe_greenlets_list(int dir, int mem, const struct probe_tasks_ask *ask)
{
	struct list *l = calloc(1, sizeof(*l));
	__u64 base_addr;
	int result;

	if (!l)
		return -ENOMEM;
	l->mem = mem;
	l->ask = ask;
	l->memory = remote_memory_at(&l->mem);
	l->stack_memory = (struct memory){ .read = read_of_greenlet, .ctx = l };
	l->walk = (struct stack_walk){ .memory = &l->stack_memory,
				       .offsets = &ask->offsets,
				       .runtime_addr = ask->runtime_addr,
				       .fingerprints = true };
	l->layout.memory = &l->memory;
	l->layout.offsets = &ask->offsets;
	l->cache = page_cache__new(&l->memory);
	task_list_begin(&l->out);
	result = l->cache ? greenlet_module_find(&l->layout, dir, &base_addr) : -ENOMEM;
	if (result == -EPROTONOSUPPORT && ask->offsets.flags & PYOFF_FREE_THREADED)
		result = -EXFULL;
	if (!result)
		result = fill(l);
	if (!result)
		result = task_list_write(&l->out);
	page_cache__free(l->cache);
	free(l);
	return result;
}
