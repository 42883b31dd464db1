/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/task_nodes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "follow/processes.h"
#include "follow/tables.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "sampler/record.h"
#include "session/naming.h"
#include "stack/stacks.h"
#include "util/hash.h"
#include "util/printable.h"

static bool is_task(const struct frame *part)
{
	return !part->code_addr;
}

/* The end of the parts that belong to one task and its frames. */
static __u32 task_end(const struct task_plan *plan, __u32 at)
{
	__u32 end = at + 1;

	while (end < plan->cnt && !is_task(&plan->parts[end]))
		end++;
	return end;
}

/* A cyclic chain has the same tasks several times: finds where the first repetition begins. */
static __u32 find_cycle(const struct frame *parts, __u32 cnt)
{
	for (__u32 i = 1; i < cnt; i++) {
		if (!is_task(&parts[i]))
			continue;
		for (__u32 j = 0; j < i; j++)
			if (is_task(&parts[j]) && parts[j].frame_addr == parts[i].frame_addr)
				return i;
	}
	return cnt;
}

/* Addresses of tasks and frames are left out: many requests look the same. */
static __u64 digest(const struct task_plan *plan)
{
	__u64 hash = plan->skip + 1 + ((__u64)plan->unknown << 32);

	for (__u32 i = 0; i < plan->cnt; i++) {
		const struct frame *f = &plan->parts[i];

		hash = hash_step(hash, f->code_addr ^ (__u64)f->opcode << 56);
		hash = hash_step(hash, (__u64)(__u32)f->instr_off << 32 | f->fingerprint);
		if (task_part_is_name(f))
			hash = hash_step(hash, f->frame_addr);
	}
	return hash ? hash : 1;
}

static bool is_loop_frame(struct naming *n, struct process *p, const struct record_sample *record,
			  const struct frame *f)
{
	return f->code_addr && naming_is_event_loop(n, p, record, f);
}

/* The number of frames up to the loop's last one. */
static __u32 end_of_loop(struct naming *n, struct process *p, const struct record_sample *record,
			 const struct stack *stack)
{
	__u32 i = stack->cnt;

	while (i && !is_loop_frame(n, p, record, &stack->frames[i - 1]))
		i--;
	return i;
}

/*
 * Is there a function of the program right after the loop, and is it not one that a task's C code
 * has called?
 */
static bool is_in_creator(struct naming *n, struct process *p, const struct record_sample *record,
			  const struct stack *stack, __u32 at)
{
	while (at < stack->cnt && !stack->frames[at].code_addr)
		at++;
	return at < stack->cnt && !naming_is_asyncio(n, p, record, &stack->frames[at]);
}

/* The outermost of the tasks that create each other, or the running one. */
static __u32 find_outermost(const struct task_plan *plan)
{
	__u32 at = 0;

	while (plan->parts[at].fingerprint & TASK_EAGER && task_end(plan, at) < plan->cycle_at)
		at = task_end(plan, at);
	return at;
}

/* The part with the task's own coroutine; the task's end: it has none. */
static __u32 coroutine_of(const struct task_plan *plan, __u32 task)
{
	__u32 end = task_end(plan, task), at = task + 1;

	while (at < end && task_part_is_name(&plan->parts[at]))
		at++;
	return at;
}

/*
 * Finds the coroutine of the running task, or of the outermost one on the stack, and how many parts
 * are redundant because of that.
 */
static void find_coroutine(struct task_plan *plan, struct naming *n, struct process *p,
			   const struct record_sample *record, const struct stack *stack)
{
	__u32 end, own;

	plan->outermost = find_outermost(plan);
	end = task_end(plan, plan->outermost);
	own = coroutine_of(plan, plan->outermost);
	if (end > own) {
		for (__u32 i = stack->cnt; i-- > 0;) {
			if (stack->frames[i].code_addr &&
			    stack->frames[i].frame_addr == plan->parts[own].frame_addr) {
				plan->at = i;
				plan->skip = end - 1;
				return;
			}
		}
	}
	/*
	 * The task is just being entered or left. Without a loop in sight, it belongs to what is
	 * missing at the root.
	 */
	plan->at = end_of_loop(n, p, record, stack);
	if (plan->at && !plan->outermost && !(plan->parts[0].fingerprint & TASK_NO_COROUTINE) &&
	    is_in_creator(n, p, record, stack, plan->at))
		plan->unknown = true;
}

/*
 * For samples from before the kernel knew where the tasks are: the stack stays the thread's own,
 * with a mark if it runs the loop.
 */
static void find_late(struct task_plan *plan, struct naming *n, struct process *p,
		      const struct record_sample *record, const struct stack *stack)
{
	__u32 i;

	if (!tables_tasks_are_late(p, record->time_ns))
		return;
	plan->at = end_of_loop(n, p, record, stack);
	for (i = plan->at; i < stack->cnt && !stack->frames[i].code_addr;)
		i++;
	plan->late = plan->at && i < stack->cnt;
	plan->digest = plan->late ? TASK_PLAN_LATE : 0;
}

void task_plan_make(struct task_plan *ret, struct naming *n, struct process *p,
		    const struct record_sample *record, const struct stack *stack,
		    enum async_mode mode)
{
	*ret = (struct task_plan){ .mode = mode };
	if (mode == ASYNC_OFF)
		return;
	ret->parts = record__section(record, SECTION_TASKS, &ret->cnt);
	if (!ret->cnt || !is_task(&ret->parts[0])) {
		ret->cnt = 0;
		find_late(ret, n, p, record, stack);
		return;
	}
	ret->cycle_at = find_cycle(ret->parts, ret->cnt);
	find_coroutine(ret, n, p, record, stack);
	ret->digest = digest(ret);
}

bool task_plan_is_cut(const struct task_plan *plan)
{
	if (plan->unknown)
		return true;
	for (__u32 i = 0; i < plan->cnt; i++)
		if (is_task(&plan->parts[i]) &&
		    plan->parts[i].fingerprint & (TASK_TORN | TASK_LIMIT | TASK_FRAMES))
			return true;
	return false;
}

bool task_plan_folds(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, const struct stack *stack, __u32 index)
{
	return plan->cnt && plan->mode == ASYNC_TASKS && index < plan->at &&
	       is_loop_frame(n, p, record, &stack->frames[index]);
}

static __u32 mark(struct naming *n, __u32 node, const char *text)
{
	return node ? dict__named_child(n->profile->dict, node, FRAME_MARK, text, 0, 0) : 0;
}

/* Makes "[task NAME]" from the parts after at. *ret_end: the first part after the name. */
static __u32 name_node(const struct task_plan *plan, struct naming *n, __u32 at, __u32 end,
		       __u32 node, __u32 *ret_end)
{
	char name[TASK_NAME_PART * TASK_NAME_PARTS + 1] = "", shown[4 * sizeof(name)],
						     text[sizeof(shown) + 16];
	__u32 i = at + 1;

	if (i < end && plan->parts[i].code_addr == TASK_NAME_NUMBER)
		snprintf(name, sizeof(name), "Task-%llu", plan->parts[i].frame_addr);
	for (; i < end && i - at - 1 < TASK_NAME_PARTS && task_part_is_name(&plan->parts[i]); i++)
		if (plan->parts[i].code_addr == TASK_NAME_TEXT)
			memcpy(name + (i - at - 1) * TASK_NAME_PART, &plan->parts[i].frame_addr,
			       TASK_NAME_PART);
	*ret_end = i;
	if (i == at + 1)
		return node;
	printable_into(shown, sizeof(shown), name);
	snprintf(text, sizeof(text), "[task %s]", shown);
	return mark(n, node, text);
}

/* Adds marks before the frames of a task, whose awaiters come before. */
static __u32 marks_before(struct naming *n, const struct frame *task, __u32 node)
{
	char text[MARK_SIZE];

	if (task->fingerprint & (TASK_TORN | TASK_LIMIT))
		node = mark(n, node,
			    task->fingerprint & TASK_TORN ? MARK_TASKS_TORN : MARK_TASKS_LIMIT);
	if (task->instr_off > 1) {
		mark_waiters(text, (__u32)task->instr_off);
		node = mark(n, node, text);
	}
	return node;
}

static __u32 task_node(const struct task_plan *plan, struct naming *n, struct process *p,
		       const struct record_sample *record, __u32 at, __u32 node)
{
	const struct frame *task = &plan->parts[at];
	__u32 end = task_end(plan, at), first;

	node = marks_before(n, task, node);
	node = name_node(plan, n, at, end, node, &first);
	if (task->fingerprint & TASK_NO_COROUTINE)
		node = mark(n, node, MARK_TASK_FOREIGN);
	if (at < plan->skip)
		return node;
	for (__u32 i = first; i < end && node; i++)
		node = naming_node(n, p, node, record, &plan->parts[i]);
	if (task->fingerprint & TASK_FRAMES)
		node = mark(n, node, MARK_TASK_FRAMES);
	return node;
}

__u32 task_plan_node(const struct task_plan *plan, struct naming *n, struct process *p,
		     const struct record_sample *record, __u32 node)
{
	if (plan->unknown)
		return mark(n, node, MARK_TASKS_TORN);
	if (plan->late)
		return mark(n, node, MARK_TASKS_LATE);
	if (plan->cycle_at < plan->cnt)
		node = mark(n, node, MARK_TASKS_CYCLE);
	for (__u32 i = plan->cycle_at; i-- > plan->outermost && node;)
		if (is_task(&plan->parts[i]))
			node = task_node(plan, n, p, record, i, node);
	return node;
}

__u32 task_plan_created(const struct task_plan *plan, struct naming *n, const struct frame *f,
			__u32 node)
{
	for (__u32 i = 0; i < plan->outermost; i = task_end(plan, i)) {
		__u32 own = coroutine_of(plan, i), end = task_end(plan, i);

		if (own < end && plan->parts[own].frame_addr == f->frame_addr)
			return name_node(plan, n, i, end, node, &own);
	}
	return node;
}

__u32 task_suspended_node(struct naming *n, struct process *p, const struct record_sample *record,
			  __u32 node)
{
	struct task_plan plan = { .mode = ASYNC_TASKS };

	plan.parts = record__section(record, SECTION_TASKS, &plan.cnt);
	plan.cycle_at = find_cycle(plan.parts, plan.cnt);
	return task_plan_node(&plan, n, p, record, node);
}
