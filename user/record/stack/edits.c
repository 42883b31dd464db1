/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/stack/edits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "python/code/symbolizer.h"
#include "base/data/hash.h"

/* Appends from's items first .. end - 1. */
static void copy(struct items *to, const struct items *from, __u32 first, __u32 end)
{
	if (end > first)
		memcpy(&to->list[to->cnt], &from->list[first], (end - first) * sizeof(*to->list));
	to->cnt += end - first;
}

/* Does it stand for the greenlet or task itself, whose frames follow? */
static bool is_head(const struct frame *part)
{
	return !part->code_addr;
}

/* ---- greenlets -------------------------------------------------------------------------------- */

int edit_parents(const struct items *from, const struct frame *parts, __u32 part_cnt,
		 struct items *to, bool *ret_cut)
{
	__u32 notes = 0;

	if (items_begin(to, from->cnt + part_cnt + 3))
		return -ENOMEM;
	for (__u32 i = 0; i < part_cnt; i++)
		if (is_head(&parts[i]))
			notes |= parts[i].fingerprint;
	*ret_cut = notes;
	if (notes & TASK_TORN)
		items_add_mark(to, ITEM_GREENLETS_TORN, 0);
	if (notes & TASK_LIMIT)
		items_add_mark(to, ITEM_GREENLETS_LIMIT, 0);
	if (notes & TASK_FRAMES)
		items_add_mark(to, ITEM_GREENLETS_FRAMES, 0);
	for (__u32 i = part_cnt; i-- > 0;)
		if (!is_head(&parts[i]))
			items_add_frame(to, &parts[i], i | ITEM_PARENT);
	copy(to, from, 0, from->cnt);
	return 0;
}

/* ---- tasks ------------------------------------------------------------------------------------ */

/* The end of the parts that belong to the task at parts[at] and its frames. */
static __u32 task_end(const struct tasks *t, __u32 at)
{
	__u32 end = at + 1;

	while (end < t->cnt && !is_head(&t->parts[end]))
		end++;
	return end;
}

/* The part with the task's own coroutine, after its name; end, the task's: it has none. */
static __u32 coroutine_of(const struct tasks *t, __u32 task, __u32 end)
{
	__u32 at = task + 1;

	while (at < end && task_part_is_name(&t->parts[at]))
		at++;
	return at;
}

/* A cyclic chain has the same tasks several times: finds where the first repetition begins. */
static __u32 find_cycle(const struct tasks *t)
{
	__u64 addrs[KRAIT_MAX_TASK_PARTS];
	__u32 cnt = 0;

	for (__u32 i = 0; i < t->cnt && cnt < KRAIT_MAX_TASK_PARTS; i++) {
		if (!is_head(&t->parts[i]))
			continue;
		for (__u32 j = 0; j < cnt; j++)
			if (addrs[j] == t->parts[i].frame_addr)
				return i;
		addrs[cnt++] = t->parts[i].frame_addr;
	}
	return t->cnt;
}

/* The outermost of the tasks that create each other, or the one that the loop runs. */
static __u32 find_outermost(const struct tasks *t, const struct tasks_loop *loop)
{
	__u32 at = loop->first;

	while (t->parts[at].fingerprint & TASK_EAGER && task_end(t, at) < loop->end)
		at = task_end(t, at);
	return at;
}

static bool has_tasks(const struct tasks *t)
{
	return t->cnt && is_head(&t->parts[0]);
}

/* The item of a coroutine that is on the stack, before item below; from->cnt: it is not, or there is none. */
static __u32 find_coroutine(const struct items *from, const struct tasks *t, __u32 task,
			    __u32 below)
{
	__u32 end = task_end(t, task), own = coroutine_of(t, task, end);

	if (own == end)
		return from->cnt;
	for (__u32 i = below; i-- > 0;)
		if (from->list[i].kind == ITEM_PYTHON &&
		    from->list[i].frame.frame_addr == t->parts[own].frame_addr)
			return i;
	return from->cnt;
}

/* Adds the loop whose tasks begin at parts[first]. Returns where the next loop's begin. */
static __u32 find_loop(struct tasks *t, __u32 first)
{
	struct tasks_loop *loop = &t->loops[t->loop_cnt++];
	__u32 at = first, end = task_end(t, at);

	while (!(t->parts[at].fingerprint & TASK_WITHIN) && end < t->cycle_at) {
		at = end;
		end = task_end(t, at);
	}
	*loop = (struct tasks_loop){ .first = first, .end = end };
	loop->outermost = find_outermost(t, loop);
	t->eager |= loop->outermost > first;
	return loop->end;
}

__u32 tasks_find(struct tasks *t, const struct items *from)
{
	__u32 next = 0, below = from->cnt;

	t->loop_cnt = 0;
	t->eager = false;
	if (t->mode == ASYNC_OFF || (!has_tasks(t) && !t->late))
		return 0;
	if (!has_tasks(t))
		return from->cnt;
	t->cycle_at = find_cycle(t);
	while (next < t->cycle_at && t->loop_cnt < TASK_LOOPS_MAX) {
		struct tasks_loop *loop = &t->loops[t->loop_cnt];

		next = find_loop(t, next);
		loop->coroutine = find_coroutine(from, t, loop->outermost, below);
		below = loop->coroutine < below ? loop->coroutine : below;
	}
	t->deep = next < t->cycle_at;
	return t->loops[0].coroutine;
}

static bool is_loop(const struct item *item)
{
	return item->kind == ITEM_PYTHON && item->roles & CODE_LOOP;
}

/* The number of items up to the loop's last one. */
static __u32 end_of_loop(const struct items *from)
{
	__u32 i = from->cnt;

	while (i && !is_loop(&from->list[i - 1]))
		i--;
	return i;
}

/* The next Python frame that is shown; from->cnt: there is none. */
static __u32 next_python(const struct items *from, __u32 i)
{
	while (i < from->cnt && from->list[i].kind != ITEM_PYTHON)
		i++;
	return i;
}

/* What to make of the tasks of one loop. */
struct plan {
	const struct tasks *t;
	const struct tasks_loop *loop;
	__u32 at; /* items before the chain */
	__u32 skip; /* leading parts that are the thread's own frames */
	bool unknown; /* who creates the running task: a mark comes instead of the chain */
};

/* below: where the chain of the loop within it goes, or the number of items. */
static struct plan plan_of(const struct items *from, const struct tasks *t,
			   const struct tasks_loop *loop, __u32 below)
{
	struct plan p = { .t = t, .loop = loop, .at = loop->coroutine };
	__u32 next;

	if (p.at < from->cnt) {
		p.skip = task_end(t, loop->outermost) - 1;
		return p;
	}
	p.at = below;
	if (loop->first)
		return p;
	p.at = end_of_loop(from);
	/* A loop in C has no frames: then it comes after all that the task does that runs it. */
	for (__u32 l = 1; l < t->loop_cnt; l++) {
		if (t->loops[l].coroutine < from->cnt && t->loops[l].coroutine >= p.at) {
			p.at = from->cnt;
			return p;
		}
	}
	/* Is there a function of the program after the loop, and not one that a task's C code calls? */
	next = next_python(from, p.at);
	p.unknown = p.at && !loop->outermost && !(t->parts[0].fingerprint & TASK_NO_COROUTINE) &&
		    next < from->cnt && !(from->list[next].roles & CODE_ASYNCIO);
	return p;
}

/* own: the task's coroutine_of(). */
static void put_name(const struct tasks *t, __u32 at, __u32 own, struct items *to)
{
	struct item *item;

	if (own == at + 1)
		return;
	item = items_add(to, ITEM_TASK, at);
	for (__u32 i = at + 1; i < own && i - at <= TASK_NAME_PARTS; i++) {
		const struct frame *part = &t->parts[i];
		__u64 words[3];

		memcpy(words, part, sizeof(words));
		for (size_t k = 0; k < 3; k++)
			item->frame.code_addr = hash_step(item->frame.code_addr, words[k]);
	}
}

static void put_task(const struct plan *p, __u32 at, __u32 end, struct items *to)
{
	const struct frame *task = &p->t->parts[at];
	__u32 own = coroutine_of(p->t, at, end);

	/* Marks before the frames of a task, whose awaiters come before. */
	if (task->fingerprint & (TASK_TORN | TASK_LIMIT))
		items_add_mark(
			to, task->fingerprint & TASK_TORN ? ITEM_TASKS_TORN : ITEM_TASKS_LIMIT, 0);
	if (task->instr_off > 1)
		items_add_mark(to, ITEM_TASK_WAITERS, (__u32)task->instr_off);
	put_name(p->t, at, own, to);
	if (task->fingerprint & TASK_NO_COROUTINE)
		items_add_mark(to, ITEM_TASK_FOREIGN, 0);
	if (at < p->skip)
		return;
	for (__u32 i = own; i < end; i++)
		items_add_frame(to, &p->t->parts[i], ITEM_NO_FRAME);
	if (task->fingerprint & TASK_FRAMES)
		items_add_mark(to, ITEM_TASK_FRAMES, 0);
}

static void put_chain(const struct plan *p, struct items *to)
{
	if (p->unknown) {
		items_add_mark(to, ITEM_TASKS_TORN, 0);
		return;
	}
	if (p->loop == &p->t->loops[p->t->loop_cnt - 1]) {
		if (p->t->deep)
			items_add_mark(to, ITEM_TASKS_LIMIT, 0);
		else if (p->t->cycle_at < p->t->cnt)
			items_add_mark(to, ITEM_TASKS_CYCLE, 0);
	}
	for (__u32 i = p->loop->end, end = i; i-- > p->loop->outermost;) {
		if (!is_head(&p->t->parts[i]))
			continue;
		put_task(p, i, end, to);
		end = i;
	}
}

/* If the frame is the coroutine of a task that another one creates: that task's name. */
static void put_created(const struct tasks *t, const struct item *item, struct items *to)
{
	for (__u32 l = 0; l < t->loop_cnt; l++) {
		for (__u32 i = t->loops[l].first; i < t->loops[l].outermost; i = task_end(t, i)) {
			__u32 end = task_end(t, i), own = coroutine_of(t, i, end);

			if (own < end && t->parts[own].frame_addr == item->frame.frame_addr) {
				put_name(t, i, own, to);
				return;
			}
		}
	}
}

/* The items from first on before the chain: without the loop's frames, and what these call in C. */
static void put_before(const struct plan *p, const struct items *from, __u32 first,
		       struct items *to)
{
	bool folding = false;

	for (__u32 i = first; i < p->at; i++) {
		const struct item *item = &from->list[i];

		if (item->kind == ITEM_PYTHON)
			folding = p->t->mode == ASYNC_TASKS && is_loop(item);
		if (p->t->eager && item->kind == ITEM_PYTHON)
			put_created(p->t, item, to);
		to->list[to->cnt++] = *item;
		if (!folding)
			continue;
		to->list[to->cnt - 1].kind = ITEM_HIDDEN;
		if (item->kind > ITEM_PYTHON)
			to->list[to->cnt - 1].index = ITEM_NO_FRAME;
	}
}

static bool is_cut(const struct tasks *t)
{
	for (__u32 i = 0; i < t->cnt; i++)
		if (is_head(&t->parts[i]) &&
		    t->parts[i].fingerprint & (TASK_TORN | TASK_LIMIT | TASK_FRAMES))
			return true;
	return t->deep;
}

/* The most that a part becomes: a task's marks before and after, and its name. */
#define PART_ITEMS 5

int edit_tasks(const struct items *from, const struct tasks *t, struct items *to,
	       struct tasks_notes *ret)
{
	__u32 at, done = 0, below = from->cnt;
	struct plan plans[TASK_LOOPS_MAX];

	*ret = (struct tasks_notes){ .chain = has_tasks(t) };
	if (items_begin(to, 2 * from->cnt + PART_ITEMS * (t->cnt + 1)))
		return -ENOMEM;
	if (!ret->chain) {
		at = end_of_loop(from);
		ret->late = t->late && at && next_python(from, at) < from->cnt;
		copy(to, from, 0, at);
		if (ret->late)
			items_add_mark(to, ITEM_TASKS_LATE, 0);
		copy(to, from, at, from->cnt);
		return 0;
	}
	ret->cut = is_cut(t);
	for (__u32 l = 0; l < t->loop_cnt; l++) {
		plans[l] = plan_of(from, t, &t->loops[l], below);
		ret->cut |= plans[l].unknown;
		below = plans[l].at;
	}
	for (__u32 l = t->loop_cnt; l-- > 0; done = plans[l].at) {
		put_before(&plans[l], from, done, to);
		put_chain(&plans[l], to);
	}
	if (!t->eager) {
		copy(to, from, done, from->cnt);
		return 0;
	}
	for (; done < from->cnt; done++) {
		if (from->list[done].kind == ITEM_PYTHON)
			put_created(t, &from->list[done], to);
		to->list[to->cnt++] = from->list[done];
	}
	return 0;
}

int edit_suspended(const struct frame *parts, __u32 cnt, struct items *to)
{
	struct tasks t = { .parts = parts, .cnt = cnt, .mode = ASYNC_TASKS };
	const struct plan p = { .t = &t, .loop = t.loops };

	if (items_begin(to, PART_ITEMS * (cnt + 1)))
		return -ENOMEM;
	t.cycle_at = find_cycle(&t);
	t.loops[t.loop_cnt++].end = t.cycle_at;
	put_chain(&p, to);
	return 0;
}

void task_name(const struct frame *parts, __u32 cnt, __u32 at, char *text)
{
	const struct tasks t = { .parts = parts, .cnt = cnt };
	__u32 end = coroutine_of(&t, at, task_end(&t, at));

	memset(text, 0, TASK_TEXT_SIZE);
	if (end > at + 1 && parts[at + 1].code_addr == TASK_NAME_NUMBER)
		snprintf(text, TASK_TEXT_SIZE, "Task-%llu", parts[at + 1].frame_addr);
	for (__u32 i = at + 1; i < end && i - at <= TASK_NAME_PARTS; i++)
		if (parts[i].code_addr == TASK_NAME_TEXT)
			memcpy(text + (i - at - 1) * TASK_NAME_PART, &parts[i].frame_addr,
			       TASK_NAME_PART);
}

/* ---- marks ------------------------------------------------------------------------------------ */

int edit_collecting(const struct items *from, __u64 frame_addr, struct items *to, bool *ret_found)
{
	__u32 i = from->cnt;

	for (; i > 0; i--) {
		const struct item *item = &from->list[i - 1];

		if (item->kind <= ITEM_PYTHON && item->index != ITEM_NO_FRAME &&
		    (frame_addr ? item->frame.frame_addr == frame_addr : item->frame.code_addr))
			break;
	}
	*ret_found = i;
	if (!i)
		return 0;
	if (items_begin(to, from->cnt + 1))
		return -ENOMEM;
	copy(to, from, 0, i);
	items_add_mark(to, ITEM_GC, 0);
	copy(to, from, i, from->cnt);
	return 0;
}

int edit_root_mark(const struct items *from, enum item_mark mark, __u32 number, struct items *to)
{
	if (items_begin(to, from->cnt + 1))
		return -ENOMEM;
	items_add_mark(to, mark, number);
	copy(to, from, 0, from->cnt);
	return 0;
}
