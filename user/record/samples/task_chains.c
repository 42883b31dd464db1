/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/task_chains.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "process/probe/probe_tasks.h"

#define NO_TASK (~0U)

struct by_addr {
	__u64 addr;
	__u32 index;
};

struct task_chains {
	const struct probe_tasks *list;
	struct by_addr *sorted;
	__u32 *awaiters; /* for each task its first awaiter in the list, or NO_TASK */
	__u32 *met; /* the last chain in which each task was met */
	__u32 chain; /* number of the current one, from 1 */
};

static int compare(const void *a, const void *b)
{
	const struct by_addr *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static __u32 find(const struct task_chains *c, __u64 addr)
{
	const struct by_addr key = { addr, 0 };
	const struct by_addr *found =
		bsearch(&key, c->sorted, c->list->head.task_cnt, sizeof(*c->sorted), compare);

	return found ? found->index : NO_TASK;
}

static __u32 first_awaiter(const struct task_chains *c, const struct probe_task *t)
{
	__u32 found = NO_TASK;

	for (__u32 i = 0; i < t->waiter_cnt && found == NO_TASK; i++)
		found = find(c, c->list->waiters[t->first_waiter + i]);
	return found;
}

struct task_chains *task_chains__new(const struct probe_tasks *list)
{
	struct task_chains *c = calloc(1, sizeof(*c));
	const __u32 cnt = list->head.task_cnt;

	if (!c)
		return NULL;
	c->list = list;
	c->sorted = calloc(cnt + 1, sizeof(*c->sorted));
	c->awaiters = calloc(cnt + 1, sizeof(*c->awaiters));
	c->met = calloc(cnt + 1, sizeof(*c->met));
	if (!c->sorted || !c->awaiters || !c->met) {
		task_chains__free(c);
		return NULL;
	}
	for (__u32 i = 0; i < cnt; i++)
		c->sorted[i] = (struct by_addr){ list->tasks[i].addr, i };
	qsort(c->sorted, cnt, sizeof(*c->sorted), compare);
	for (__u32 i = 0; i < cnt; i++)
		c->awaiters[i] = first_awaiter(c, &list->tasks[i]);
	return c;
}

void task_chains__free(struct task_chains *c)
{
	if (!c)
		return;
	free(c->sorted);
	free(c->awaiters);
	free(c->met);
	free(c);
}

/* Puts as much of an ASCII name as the parts can hold. Returns the number of parts. */
static __u32 put_name(const struct task_chains *c, const struct probe_task *t, struct frame *parts,
		      __u32 room)
{
	const char *name = t->flags & PROBE_TASK_NAMED ? c->list->texts + t->name : "";
	size_t len = strlen(name);
	__u32 cnt = (__u32)(len + TASK_NAME_PART - 1) / TASK_NAME_PART;

	if (!is_ascii(name))
		return 0;
	cnt = cnt < TASK_NAME_PARTS ? cnt : TASK_NAME_PARTS;
	cnt = cnt < room ? cnt : room;
	for (__u32 i = 0; i < cnt; i++) {
		size_t left = len - i * TASK_NAME_PART;

		parts[i] = (struct frame){ .code_addr = TASK_NAME_TEXT };
		memcpy(&parts[i].frame_addr, name + i * TASK_NAME_PART,
		       left < TASK_NAME_PART ? left : TASK_NAME_PART);
	}
	return cnt;
}

/* Puts the task, its name, and as many of its frames as there is room for. */
static __u32 put_task(const struct task_chains *c, const struct probe_task *t, struct frame *parts,
		      __u32 room)
{
	const __u32 name = put_name(c, t, parts + 1, room - 1);
	__u32 cnt = t->frame_cnt < room - 1 - name ? t->frame_cnt : room - 1 - name;

	parts[0] = (struct frame){ .frame_addr = t->addr,
				   .instr_off = (__s32)t->waiter_cnt,
				   .fingerprint = t->notes };
	if (cnt < t->frame_cnt)
		parts[0].fingerprint |= TASK_FRAMES;
	for (__u32 i = 0; i < cnt; i++) {
		parts[1 + name + i] = c->list->frames[t->first_frame + i];
		/* Pythons with tasks have a generation of code objects instead. */
		parts[1 + name + i].fingerprint = 0;
	}
	return 1 + name + cnt;
}

__u32 task_chains__of(struct task_chains *c, __u32 task, struct frame *parts, __u32 room)
{
	__u32 cnt = 0, last = 0;

	c->chain++;
	while (task != NO_TASK && cnt < room) {
		const bool again = c->met[task] == c->chain;

		last = cnt;
		cnt += put_task(c, &c->list->tasks[task], parts + cnt, room - cnt);
		if (again)
			return cnt;
		c->met[task] = c->chain;
		task = c->awaiters[task];
	}
	if (task != NO_TASK)
		parts[last].fingerprint |= TASK_LIMIT;
	return cnt;
}
