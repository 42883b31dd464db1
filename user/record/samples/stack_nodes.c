/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/stack_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/follow/greenlet_watch.h"
#include "record/follow/processes.h"
#include "record/follow/tables.h"
#include "process/space/space.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "kernel/sampler/record.h"
#include "record/samples/native_part.h"
#include "record/stack/stacks.h"
#include "python/code/symbolizer.h"
#include "base/text/printable.h"

void stack_nodes_free(struct stack_nodes *n)
{
	items_free(&n->items);
	items_free(&n->edited);
	free(n->once.list);
}

/* ---- naming ----------------------------------------------------------------------------------- */

/* A sample whose list is being named. */
struct sample {
	struct stack_nodes *n;
	struct process *p;
	const struct record_sample *record;
	__u32 root;
};

static __u32 name_mark(const struct sample *s, __u32 parent, enum item_mark mark, __u32 number)
{
	static const char *const texts[] = {
		[ITEM_NO_PYTHON] = MARK_NO_PYTHON,
		[ITEM_GC] = MARK_GC,
		[ITEM_GREENLETS_TORN] = MARK_GREENLETS_TORN,
		[ITEM_GREENLETS_LIMIT] = MARK_GREENLETS_LIMIT,
		[ITEM_GREENLETS_FRAMES] = MARK_GREENLET_FRAMES,
		[ITEM_GREENLETS_LATE] = MARK_GREENLETS_LATE,
		[ITEM_GREENLETS_UNKNOWN] = MARK_GREENLETS_UNKNOWN,
		[ITEM_TASKS_TORN] = MARK_TASKS_TORN,
		[ITEM_TASKS_LIMIT] = MARK_TASKS_LIMIT,
		[ITEM_TASKS_LATE] = MARK_TASKS_LATE,
		[ITEM_TASKS_CYCLE] = MARK_TASKS_CYCLE,
		[ITEM_TASK_FOREIGN] = MARK_TASK_FOREIGN,
		[ITEM_TASK_FRAMES] = MARK_TASK_FRAMES,
	};
	char made[MARK_SIZE];
	const char *text = made;

	if (mark == ITEM_TRUNCATED)
		mark_truncated(made, (enum reason)number);
	else if (mark == ITEM_TASK_WAITERS)
		mark_waiters(made, number);
	else
		text = mark == ITEM_REASON ? mark_of((enum reason)number) : texts[mark];
	return dict__named_child(s->n->naming.profile->dict, parent, FRAME_MARK, text, 0, 0);
}

static __u32 name_task(const struct sample *s, __u32 parent, __u32 part)
{
	char name[TASK_TEXT_SIZE], shown[4 * sizeof(name)], text[sizeof(shown) + 16];
	const struct frame *parts;
	__u32 cnt;

	parts = record__section(s->record, SECTION_TASKS, &cnt);
	task_name(parts, cnt, part, name);
	printable_into(shown, sizeof(shown), name);
	snprintf(text, sizeof(text), "[task %s]", shown);
	return dict__named_child(s->n->naming.profile->dict, parent, FRAME_MARK, text, 0, 0);
}

static __u32 item_node(const struct sample *s, __u32 parent, const struct item *item,
		       bool *ret_later)
{
	enum item_mark mark = (enum item_mark)item->frame.code_addr;

	switch ((enum item_kind)item->kind) {
	case ITEM_HIDDEN:
		return parent;
	case ITEM_PYTHON:
		return naming_node(&s->n->naming, s->p, parent, s->record, &item->frame);
	case ITEM_TASK:
		return name_task(s, parent, item->index);
	case ITEM_MARK:
		if (mark < ITEM_OWN || mark > ITEM_NATIVE_UNKNOWN)
			return name_mark(s, parent, mark, item->frame.fingerprint);
		/* fall through */
	case ITEM_NATIVE:
	case ITEM_KERNEL:
		break;
	}
	return dict__child(s->n->naming.profile->dict, parent,
			   native_part__frame(s->n->natives, item, ret_later));
}

/*
 * A function that is unknown is named anew in the next list: its snapshot may still come, if the
 * sample interrupted another one that was about to send it (bpf/python/code_snapshot.h). So is native
 * code without a name.
 */
static __u32 name_item(const void *ctx, __u32 parent, const struct item *item, bool *ret_later)
{
	const struct sample *s = ctx;
	__u32 node = item_node(s, parent, item, ret_later);

	*ret_later = *ret_later || dict__node_at(s->n->naming.profile->dict, node)->unknown;
	return node;
}

static struct named_under under_of(const struct sample *s)
{
	return (struct named_under){
		.root_tag = dict__tag(s->n->naming.profile->dict, s->root),
		.digest = s->n->natives && s->p->space ? space__digest(s->p->space) : 0,
		.code_generation = s->record->code_generation,
		.interp_addr = s->record->interp_addr,
	};
}

static __u32 name_list(const struct sample *s, const struct named_under *under, struct named *named,
		       __u32 same)
{
	s->n->named = named;
	s->n->root = s->root;
	return named_take(named, under, &s->n->items, same, s->root, name_item, s);
}

/* The same without a last list. */
static __u32 name_once(const struct sample *s)
{
	struct named_under under = under_of(s);

	return name_list(s, &under, &s->n->once, 0);
}

__u32 stack_nodes_frame(const struct stack_nodes *n, __u32 item)
{
	const struct named_item *list = n->named->list;
	__u32 parent = item ? list[item - 1].node : n->root;

	if (list[item].node == parent)
		return 0;
	return dict__node_at(n->naming.profile->dict, list[item].node)->frame;
}

/* ---- editing ---------------------------------------------------------------------------------- */

/* What there is to edit. */
struct edits {
	const struct frame *parents; /* of the current greenlet */
	__u32 parent_cnt;
	bool unparented; /* parents may be missing: a mark says so */
	enum item_mark missing;
	struct tasks tasks;
	bool collecting;
	__u64 collecting_addr; /* the frame that does it; 0: unknown */
	bool truncated;
};

static bool edits_nothing(const struct edits *e)
{
	return !e->parent_cnt && !e->unparented && !e->tasks.cnt && !e->tasks.late &&
	       !e->collecting && !e->truncated;
}

static bool has_code(const struct frame *frames, __u32 cnt)
{
	for (__u32 i = cnt; i-- > 0;)
		if (frames[i].code_addr)
			return true;
	return false;
}

/*
 * May the stack belong to a greenlet whose parents the kernel does not know, yet or ever? Until it is
 * known where the process has its greenlets, one may that does not begin as threads do.
 */
static void find_unparented(struct process *p, const struct record_sample *record,
			    const struct stack *stack, struct edits *e)
{
	bool late = greenlet_watch_is_late(p, record->time_ns);
	const struct frame *root = stack->frames, *end = root + stack->cnt;

	if ((!late && !p->greenlets.refused) || reason_outcome(record->reason) != OUTCOME_COMPLETE)
		return;
	while (root < end && !root->code_addr)
		root++;
	if (root == end || naming_role(p, record, root) & CODE_THREAD_ROOT)
		return;
	e->missing = late ? ITEM_GREENLETS_LATE : ITEM_GREENLETS_UNKNOWN;
	/* Samples from before they were known cannot be completed. */
	e->unparented = !late || p->greenlets.known || greenlet_watch_hurry(p, root->code_addr);
}

static struct edits find_edits(struct stack_nodes *n, struct process *p,
			       const struct record_sample *record, enum reason reason,
			       const struct stack *stack)
{
	struct edits e = { .tasks.mode = n->async,
			   .truncated = reason_outcome(reason) == OUTCOME_TRUNCATED };
	const struct interp_facts *interp;
	__u32 cnt;

	e.parents = record__section(record, SECTION_GREENLETS, &e.parent_cnt);
	if (!e.parent_cnt)
		find_unparented(p, record, stack, &e);
	if (n->async != ASYNC_OFF) {
		e.tasks.parts = record__section(record, SECTION_TASKS, &e.tasks.cnt);
		if (!e.tasks.cnt || e.tasks.parts->code_addr) {
			e.tasks.cnt = 0;
			e.tasks.late = tables_tasks_are_late(p, record->time_ns);
		}
	}
	if (record->flags & SAMPLE_GC) {
		interp = record__section(record, SECTION_INTERP, &cnt);
		e.collecting = cnt;
		e.collecting_addr = cnt ? interp->gc_frame_addr : 0;
	}
	return e;
}

/* What an editor wrote becomes the list. Returns err. */
static int take(struct stack_nodes *n, int err)
{
	struct items edited = n->edited;

	if (err)
		return err;
	n->edited = n->items;
	n->items = edited;
	return 0;
}

static int put_parents(struct stack_nodes *n, const struct process *p, const struct edits *e)
{
	bool cut = false;
	int err = 0;

	if (e->parent_cnt)
		err = take(n, edit_parents(&n->items, e->parents, e->parent_cnt, &n->edited, &cut));
	n->greenlets.chains += e->parent_cnt > 0;
	n->greenlets.cut += cut;
	n->greenlets.unknown += e->unparented && p->greenlets.refused;
	n->greenlets.late += e->unparented && !p->greenlets.refused;
	return err;
}

static int put_tasks(struct stack_nodes *n, struct process *p, const struct record_sample *record,
		     struct named *last, struct edits *e)
{
	struct tasks_notes notes;
	int err;

	if (!e->tasks.cnt && !e->tasks.late)
		return 0;
	naming_roles(p, record, &n->items, tasks_find(&e->tasks, &n->items), last);
	err = take(n, edit_tasks(&n->items, &e->tasks, &n->edited, &notes));
	n->task_chains += notes.chain;
	n->task_chains_cut += notes.cut;
	n->task_chains_late += notes.late;
	return err;
}

/*
 * The interpreter is collecting garbage. The thread is the one that does it, unless the frame in
 * which the collection began is not among its frames: then a finaliser has released the GIL, and
 * another thread collects. But that frame may be among those that are missing.
 */
static int put_collecting(struct stack_nodes *n, const struct record_sample *record,
			  const struct edits *e, bool *ret_collects)
{
	int err;

	*ret_collects = false;
	if (!e->collecting)
		return 0;
	err = edit_collecting(&n->items, e->collecting_addr, &n->edited, ret_collects);
	if (!err && !*ret_collects && e->collecting_addr &&
	    reason_outcome(record->reason) != OUTCOME_COMPLETE)
		err = edit_collecting(&n->items, 0, &n->edited, ret_collects);
	return err || !*ret_collects ? err : take(n, 0);
}

static int edit(struct stack_nodes *n, struct process *p, const struct record_sample *record,
		enum reason reason, struct named *last, struct edits *e, bool *ret_collects)
{
	int err = put_parents(n, p, e);

	if (!err)
		err = put_tasks(n, p, record, last, e);
	if (!err)
		err = put_collecting(n, record, e, ret_collects);
	if (!err && e->unparented)
		err = take(n, edit_root_mark(&n->items, e->missing, 0, &n->edited));
	if (!err && e->truncated)
		err = take(n, edit_root_mark(&n->items, ITEM_TRUNCATED, reason, &n->edited));
	return err;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static int list_natives(struct stack_nodes *n, struct process *p,
			const struct record_sample *record, const struct stack *stack,
			struct edits *e)
{
	if (has_code(stack->frames, stack->cnt) || has_code(e->parents, e->parent_cnt))
		return native_part__items(n->natives, p, record, stack->frames, stack->cnt,
					  &n->items);
	e->tasks.cnt = 0;
	e->tasks.late = false;
	return native_part__items(n->natives, p, record, NULL, 0, &n->items) ?:
		       take(n, edit_root_mark(&n->items, ITEM_NO_PYTHON, 0, &n->edited));
}

/* Without the first `kept` items, which nobody will look at. */
static int list_python(struct stack_nodes *n, const struct stack *stack, __u32 kept)
{
	if (items_begin(&n->items, stack->cnt))
		return -ENOMEM;
	n->items.cnt = kept;
	for (__u32 i = kept; i < stack->cnt; i++)
		items_add_frame(&n->items, &stack->frames[i], i);
	return 0;
}

static bool is_root_mark(const struct item *item)
{
	return item->kind == ITEM_MARK && (item->frame.code_addr == ITEM_TRUNCATED ||
					   (item->frame.code_addr >= ITEM_GREENLETS_TORN &&
					    item->frame.code_addr <= ITEM_GREENLETS_UNKNOWN));
}

/* The node below which the stack begins, after marks that say what is missing at the root. */
static __u32 begin_of(const struct sample *s, const struct named *named)
{
	const struct items *items = &s->n->items;
	__u32 marks = 0;

	while (marks < items->cnt && is_root_mark(&items->list[marks]))
		marks++;
	return marks ? named->list[marks - 1].node : s->root;
}

/* All that there is, is not shown. */
static __u32 name_no_python(const struct sample *s, const struct named_under *under,
			    struct named *named)
{
	struct items *items = &s->n->items;
	__u32 cnt = items->cnt;

	if (items_grow(items))
		return 0;
	items_add_mark(items, ITEM_NO_PYTHON, 0);
	return name_list(s, under, named, named->cnt < cnt ? named->cnt : cnt);
}

__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, enum reason reason, struct stack *stack,
		     bool *ret_collects)
{
	const struct sample s = { n, p, record, root };
	struct edits e = find_edits(n, p, record, reason, stack);
	struct named_under under = under_of(&s);
	struct named *named = &stack->named;
	bool plain = !n->natives && edits_nothing(&e);
	__u32 kept = plain && !n->whole && !memcmp(&under, &named->under, sizeof(under)) ?
			     stack->kept :
			     0;
	__u32 node;
	int err;

	*ret_collects = false;
	stack->kept = plain ? stack->cnt : 0;
	if (kept > named->cnt)
		kept = named->cnt;
	if (n->natives)
		err = list_natives(n, p, record, stack, &e);
	else
		err = list_python(n, stack, kept);
	if (!err && !plain)
		err = edit(n, p, record, reason, named, &e, ret_collects);
	if (err) {
		named->cnt = 0;
		return 0;
	}
	/* Joining may have read the mappings anew. */
	under = under_of(&s);
	node = name_list(&s, &under, named,
			 named_same(named, &under, &n->items, kept, stack->reused));
	if (node && node == (plain ? root : begin_of(&s, named)))
		return name_no_python(&s, &under, named);
	return node;
}

__u32 stack_nodes_foreign(struct stack_nodes *n, struct process *p, __u32 root,
			  const struct record_sample *record)
{
	const struct sample s = { n, p, record, root };

	if ((n->natives ? native_part__items(n->natives, p, record, NULL, 0, &n->items) :
			  items_begin(&n->items, 0)) ||
	    take(n, edit_root_mark(&n->items, ITEM_REASON, record->reason, &n->edited)))
		return 0;
	return name_once(&s);
}

__u32 stack_nodes_suspended(struct stack_nodes *n, struct process *p, __u32 root,
			    const struct record_sample *record)
{
	const struct sample s = { n, p, record, root };
	const struct frame *parts;
	__u32 cnt;

	parts = record__section(record, SECTION_TASKS, &cnt);
	return edit_suspended(parts, cnt, &n->items) ? 0 : name_once(&s);
}
