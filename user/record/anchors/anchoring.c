/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/anchors/anchoring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernel/maps/anchors.h"
#include "kernel/sampler/record.h"
#include "record/anchors/anchoring_parts.h"
#include "base/data/cleanup.h"

/* Admitted processes: each needs two descriptors. */
#define MAX_PROCESSES 2048
/* Threads whose ends were dropped stay known until their process ends. */
#define MAX_THREADS (2 * KRAIT_MAX_SLOTS)

struct anchoring *anchoring__new(enum anchor_mode mode, struct anchors *anchors,
				 const struct anchor_access *access)
{
	struct anchoring *a = calloc(1, sizeof(*a));

	if (a)
		a->stacks = stacks__new();
	if (!a || !a->stacks) {
		free(a);
		return NULL;
	}
	a->mode = mode;
	a->anchors = anchors;
	a->access = *access;
	return a;
}

void anchored_give_back(struct anchoring *a, struct anchored *t)
{
	if (t->index < 0)
		return;
	a->access.tie(a->access.ctx, t->slot, t->tid, t->start_ns, KRAIT_NO_ANCHOR);
	anchors__give_back(a->anchors, t->index);
	t->index = -1;
}

static void forget(struct anchoring *a, struct anchored *t)
{
	if (t->asked)
		a->access.forget(a->access.ctx, t);
	anchored_give_back(a, t);
	a->access.remove(a->access.ctx, t->slot, t->tid, t->start_ns);
	stacks__forget(a->stacks, &t->stack);
	TAILQ_REMOVE(&t->process->threads, t, of_process);
	HASH_DEL(a->by_tid, t);
	a->stats.threads--;
	free(t->addrs);
	free(t);
}

/* Removes the process together with its threads. */
static void dismiss(struct anchoring *a, struct admitted *p)
{
	struct anchored *t;

	while ((t = TAILQ_FIRST(&p->threads)))
		forget(a, t);
	HASH_DEL(a->by_pid, p);
	cleanup_close_(&p->process.dir);
	cleanup_close_(&p->process.mem);
	free(p);
}

void anchoring__free(struct anchoring *a)
{
	struct admitted *p, *next;

	if (!a)
		return;
	HASH_ITER(hh, a->by_pid, p, next)
		dismiss(a, p);
	stacks__free(a->stacks);
	free(a);
}

/* ---- processes -------------------------------------------------------------------------------- */

static struct admitted *find_process(struct anchoring *a, pid_t pid)
{
	struct admitted *p;

	HASH_FIND(hh, a->by_pid, &pid, sizeof(pid), p);
	return p;
}

void anchoring__admit(struct anchoring *a, const struct anchor_process *process)
{
	struct admitted *p = find_process(a, process->pid);

	if (p)
		dismiss(a, p);
	p = HASH_COUNT(a->by_pid) < MAX_PROCESSES ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		int dir = process->dir, mem = process->mem;

		cleanup_close_(&dir);
		cleanup_close_(&mem);
		return;
	}
	p->process = *process;
	TAILQ_INIT(&p->threads);
	HASH_ADD(hh, a->by_pid, process.pid, sizeof(pid_t), p);
}

/* Does the sample belong to the process as it was admitted? */
static bool is_of(const struct admitted *p, const struct record_sample *record)
{
	return record->time_ns >= p->process.since_ns &&
	       start_order(record->thread_start_ns, p->process.start_ns) >= 0;
}

static void process_gone(struct anchoring *a, const struct record_task *record)
{
	struct admitted *p = find_process(a, (pid_t)record->pid);

	if (p && same_start(p->process.start_ns, record->start_ns) &&
	    p->process.since_ns < record->time_ns)
		dismiss(a, p);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static struct anchored *find(struct anchoring *a, pid_t tid, __u64 start_ns)
{
	struct anchored *t;

	HASH_FIND_INT(a->by_tid, &tid, t);
	if (t && t->start_ns != start_ns) {
		forget(a, t);
		t = NULL;
	}
	return t;
}

/*
 * Adds a thread of an admitted process; NULL: not admitted, or no room. Only a thread with a slot
 * can be tied to an anchor.
 */
static struct anchored *add(struct anchoring *a, const struct record_sample *record)
{
	struct admitted *p = find_process(a, (pid_t)record->pid);
	struct anchored *t;

	if (!p || !is_of(p, record) || HASH_COUNT(a->by_tid) >= MAX_THREADS)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->anchoring = a;
	t->process = p;
	t->tid = (pid_t)record->tid;
	t->start_ns = record->thread_start_ns;
	t->owner = record->owner;
	t->index = -1;
	t->slot = KRAIT_NO_SLOT;
	HASH_ADD_INT(a->by_tid, tid, t);
	TAILQ_INSERT_TAIL(&p->threads, t, of_process);
	a->stats.threads++;
	return t;
}

static struct anchored *find_or_add(struct anchoring *a, const struct record_sample *record)
{
	struct anchored *t;

	if (!a->by_pid)
		return NULL;
	t = find(a, (pid_t)record->tid, record->thread_start_ns);
	if (!t)
		t = add(a, record);
	/* An anchor is tied to a slot, so we need its number no matter who assigned the slot. */
	if (t && (t->slot == KRAIT_NO_SLOT || !(record->flags & SAMPLE_HAS_SLOT)))
		a->access.add(a->access.ctx, record, &t->slot);
	return t;
}

/* The frame and its callers down to the first entry frame. */
static int set_addrs(struct anchored *t, const struct stack *stack, int frame)
{
	if (!t->addrs)
		t->addrs = calloc(KRAIT_ANCHOR_FRAMES, sizeof(*t->addrs));
	if (!t->addrs)
		return -ENOMEM;
	t->addr_cnt = 0;
	for (int i = frame; i >= 0 && t->addr_cnt < KRAIT_ANCHOR_FRAMES; i--) {
		if (!stack->frames[i].code_addr)
			break;
		t->addrs[t->addr_cnt++] = stack->frames[i].frame_addr;
	}
	return 0;
}

static void take_sample(struct anchored *t, const struct record_sample *e)
{
	t->tstate_addr = e->tstate_addr;
	t->interp_addr = e->interp_addr;
	t->thread_ptr = e->thread_ptr;
	if (e->cnt[SECTION_FRAMES] >= KRAIT_ANCHOR_WORTH)
		t->dumpable = e->flags & SAMPLE_DUMPABLE;
}

/*
 * Frames that the record would have carried if the walk had not gone to the root for an audit or a
 * confirmation.
 */
static __u32 frames_above(const struct record_sample *record)
{
	bool whole = record->anchor == ANCHOR_NOTE_AUDIT || record->anchor == ANCHOR_NOTE_CONFIRM;

	return whole ? record->anchor_index + 1 : record->cnt[SECTION_FRAMES];
}

/* Other notes are as rare as writes. */
static void count_note(struct anchoring *a, __u32 note)
{
	a->stats.slid += note == ANCHOR_NOTE_SLID;
	a->stats.foreign += note == ANCHOR_NOTE_FOREIGN;
}

static void consider(struct anchoring *a, struct anchored *t, const struct record_sample *record,
		     const struct stack *stack)
{
	struct placement_sample sample = {
		.time_ns = record->time_ns,
		.stack = stack,
		.emitted = frames_above(record),
		.confirmed = record->anchor == ANCHOR_NOTE_CONFIRM,
		.over = record->anchor == ANCHOR_NOTE_SLID || record->anchor == ANCHOR_NOTE_FOREIGN,
	};
	int frame;

	if (t->hold == HOLD_REFUSED)
		return;
	count_note(a, record->anchor);
	if (stack->mismatch) {
		anchored_refuse(a, t, "an audit found a wrong base");
		return;
	}
	take_sample(t, record);
	/* A walk of too deep a stack never reaches the root, so it can confirm no anchor. */
	if (record->reason == REASON_DEPTH)
		return;
	frame = placement_observe(&t->placement, &sample, a->mode == ANCHOR_MODE_ON);
	if (t->asked)
		return; /* its outcome is not known yet */
	if (t->hold == HOLD_WATCH) {
		if (record->time_ns >= t->watch_until_ns)
			anchored_enqueue(a, t);
	} else if (record->anchor == ANCHOR_NOTE_FOREIGN) {
		anchored_watch(a, t, record->time_ns);
	} else if (frame >= 0 && !set_addrs(t, stack, frame)) {
		anchored_enqueue(a, t);
	}
}

void anchoring__sample(struct anchoring *a, const struct record_sample *record,
		       const struct frame *frames)
{
	struct anchored *t = find_or_add(a, record);
	struct stack *stack;
	int err;

	if (!t || !record_is_for_anchors(record, KRAIT_ANCHOR_WORTH))
		return;
	if (record->anchor == ANCHOR_NOTE_DELTA) {
		t->deltas.cnt++;
		t->deltas.frames += record->cnt[SECTION_FRAMES];
	}
	err = stacks__merge(a->stacks, &t->stack, record, frames, &stack);
	if (err == -ESTALE)
		anchored_stop(a, t);
	if (!err)
		consider(a, t, record, stack);
}

void anchoring__reset(struct anchoring *a, pid_t tid, __u64 start_ns)
{
	struct anchored *t = find(a, tid, start_ns);

	if (t)
		anchored_stop(a, t);
}

static void thread_gone(struct anchoring *a, const struct record_task *record)
{
	const pid_t tid = (pid_t)record->tid;
	struct anchored *t;

	HASH_FIND_INT(a->by_tid, &tid, t);
	if (t && t->start_ns == record->start_ns)
		forget(a, t);
}

void anchoring__task(struct anchoring *a, const struct record_task *record)
{
	if (record->type == RECORD_THREAD_EXIT)
		thread_gone(a, record);
	else if (record->type == RECORD_EXIT || record->type == RECORD_EXEC)
		process_gone(a, record);
}

const struct anchoring_stats *anchoring__stats(const struct anchoring *a)
{
	return &a->stats;
}
