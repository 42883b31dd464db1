/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/anchoring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uthash.h>

#include "sampler/anchors.h"
#include "sampler/sampler.h"
#include "session/processes.h"
#include "stack/placement.h"
#include "stack/stacks.h"
#include "util/clock.h"
#include "util/log.h"

/* A younger thread may be gone, its thread state freed, between our look and our write. */
#define MIN_AGE_NS NS_PER_SEC
/* How long an emptied slot must stay empty before krait uses it; doubles with every failure. */
#define WATCH_MIN_NS (2 * NS_PER_SEC)
#define WATCH_MAX_NS (64 * NS_PER_SEC)
/* Writes in one batch, which comes after each 50 ms of records at the latest. */
#define MAX_BATCH 256

enum hold {
	HOLD_FRESH, /* never written */
	HOLD_OWNED, /* what is in the slot comes from us */
	HOLD_WATCH, /* emptied; is somebody else writing? */
	HOLD_REFUSED, /* left alone for good */
};

struct anchored {
	pid_t tid, pid;
	unsigned owner; /* who pays for its anchor: bpf/share.h */
	__u64 start_ns;
	enum hold hold;
	int index; /* of the anchor, < 0 none */
	bool queued;
	__u32 addr_cnt; /* of addrs, to be written; 0 empties the slot */
	__u64 *addrs; /* the frame to anchor at and its callers */
	__u64 watch_ns, watch_until_ns;
	struct py_offsets offsets;
	struct anchor_target target;
	struct placement placement;
	UT_hash_handle hh;
};

struct anchoring {
	enum anchor_mode mode;
	struct sampler *sampler;
	struct anchored *by_tid;
	struct anchoring_stats stats;
	int batch_cnt;
	pid_t batch[MAX_BATCH];
};

struct anchoring *anchoring__new(enum anchor_mode mode, struct sampler *sampler)
{
	struct anchoring *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->mode = mode;
	a->sampler = sampler;
	return a;
}

static void forget(struct anchoring *a, struct anchored *t)
{
	if (t->index >= 0) {
		sampler__tie_anchor(a->sampler, t->tid, t->start_ns, KRAIT_NO_ANCHOR);
		anchors__give_back(sampler__anchors(a->sampler), t->index);
	}
	HASH_DEL(a->by_tid, t);
	a->stats.threads--;
	free(t->addrs);
	free(t);
}

void anchoring__free(struct anchoring *a)
{
	struct anchored *t, *next;

	if (!a)
		return;
	HASH_ITER(hh, a->by_tid, t, next)
		forget(a, t);
	free(a);
}

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

static struct anchored *find_or_add(struct anchoring *a, const struct event_sample *event)
{
	struct anchored *t = find(a, event->tid, event->thread_start_ns);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = event->tid;
	t->pid = event->pid;
	t->start_ns = event->thread_start_ns;
	t->owner = event->owner;
	t->index = -1;
	HASH_ADD_INT(a->by_tid, tid, t);
	a->stats.threads++;
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

static void enqueue(struct anchoring *a, struct anchored *t)
{
	if (t->queued || a->batch_cnt == MAX_BATCH)
		return;
	t->queued = true;
	a->batch[a->batch_cnt++] = t->tid;
}

/* Not krait's alone: empty the slot and see whether it stays so. */
static void watch(struct anchoring *a, struct anchored *t, __u64 now_ns)
{
	if (t->watch_ns)
		t->watch_ns = t->watch_ns * 2 < WATCH_MAX_NS ? t->watch_ns * 2 : WATCH_MAX_NS;
	else
		t->watch_ns = WATCH_MIN_NS;
	t->hold = HOLD_WATCH;
	t->watch_until_ns = now_ns + t->watch_ns;
	t->addr_cnt = 0;
	enqueue(a, t);
}

static void refuse(struct anchoring *a, struct anchored *t, const char *why)
{
	t->hold = HOLD_REFUSED;
	if (t->index >= 0) {
		sampler__tie_anchor(a->sampler, t->tid, t->start_ns, KRAIT_NO_ANCHOR);
		anchors__give_back(sampler__anchors(a->sampler), t->index);
		t->index = -1;
	}
	log_debug("anchoring", "thread %d gets full walks only: %s", t->tid, why);
}

static void set_target(struct anchored *t, const struct process *p, const struct event_sample *e)
{
	t->offsets = p->info.offsets;
	t->target = (struct anchor_target){
		.pid = p->pid,
		.tstate_addr = e->tstate_addr,
		.interp_addr = e->interp_addr,
		.thread_ptr = e->thread_ptr,
		.offsets = &t->offsets,
	};
}

/* The watch is over: was the slot left empty? */
static void end_watch(struct anchoring *a, struct anchored *t, __u64 now_ns)
{
	__u64 lpf_addr = 0;

	if (now_ns < t->watch_until_ns)
		return;
	if (anchors__read(&t->target, &lpf_addr) || lpf_addr)
		watch(a, t, now_ns);
	else
		t->hold = HOLD_FRESH;
}

/* Frames that the record would carry had it not been walked to the end for a check or a confirmation. */
static __u32 frames_above(const struct event_sample *event)
{
	bool whole = event->anchor == ANCHOR_NOTE_AUDIT || event->anchor == ANCHOR_NOTE_CONFIRM;

	return whole ? event->anchor_index + 1 : event->frame_cnt;
}

void anchoring__sample(struct anchoring *a, const struct process *process,
		       const struct event_sample *event, const struct stack *stack)
{
	struct placement_sample sample = {
		.time_ns = event->time_ns,
		.stack = stack,
		.emitted = frames_above(event),
		.confirmed = event->anchor == ANCHOR_NOTE_CONFIRM,
		.over = event->anchor == ANCHOR_NOTE_SLID || event->anchor == ANCHOR_NOTE_FOREIGN,
	};
	struct anchored *t;
	int frame;

	if (a->mode == ANCHOR_MODE_OFF || !py_process_has_anchors(&process->info))
		return;
	t = find_or_add(a, event);
	if (!t || t->hold == HOLD_REFUSED)
		return;
	a->stats.slid += event->anchor == ANCHOR_NOTE_SLID;
	a->stats.foreign += event->anchor == ANCHOR_NOTE_FOREIGN;
	if (stack->mismatch) {
		refuse(a, t, "an audit found a wrong base");
		return;
	}
	/* The root of a stack that is too deep is never met, so no anchor of it is ever confirmed. */
	if (event->reason == REASON_DEPTH)
		return;
	frame = placement_observe(&t->placement, &sample, a->mode == ANCHOR_MODE_ON);
	if (t->hold == HOLD_WATCH) {
		end_watch(a, t, event->time_ns);
	} else if (event->anchor == ANCHOR_NOTE_FOREIGN) {
		set_target(t, process, event);
		watch(a, t, event->time_ns);
	} else if (frame >= 0 && !set_addrs(t, stack, frame)) {
		set_target(t, process, event);
		enqueue(a, t);
	}
}

void anchoring__reset(struct anchoring *a, const struct event_sample *event)
{
	struct anchored *t = find(a, event->tid, event->thread_start_ns);

	if (t && t->index >= 0)
		anchors__stop(sampler__anchors(a->sampler), t->index);
}

/* An index and the tie to the thread, where they are still missing. */
static int prepare(struct anchoring *a, struct anchored *t)
{
	int err;

	if (t->index >= 0)
		return 0;
	t->index = anchors__take(sampler__anchors(a->sampler), t->owner);
	if (t->index < 0)
		return t->index;
	err = sampler__tie_anchor(a->sampler, t->tid, t->start_ns, (__u32)t->index);
	if (err) {
		anchors__give_back(sampler__anchors(a->sampler), t->index);
		t->index = -1;
	}
	return err;
}

static __u64 boot_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

static void write_one(struct anchoring *a, struct anchored *t, __u64 now_ns)
{
	bool emptying = t->hold == HOLD_WATCH, ours = emptying || t->hold == HOLD_OWNED;
	int err;

	if (t->hold == HOLD_REFUSED || boot_clock_ns() < t->start_ns + MIN_AGE_NS)
		return;
	if (prepare(a, t))
		return; /* all in use, or no slot yet: there is always the full walk */
	err = anchors__write(sampler__anchors(a->sampler), t->index, &t->target, t->addrs,
			     emptying ? 0 : t->addr_cnt, ours);
	if (!err && !emptying) {
		a->stats.writes++;
		t->hold = HOLD_OWNED;
		placement_written(&t->placement, now_ns);
	} else if (err == -EBUSY) {
		watch(a, t, now_ns);
	} else if (err && err != -ESTALE) {
		a->stats.refused++;
		refuse(a, t, strerror(-err));
	}
}

void anchoring__flush(struct anchoring *a)
{
	__u64 now_ns = clock_monotonic_ns();
	int cnt = a->batch_cnt;
	struct anchored *t;

	/* A write that meets a stranger queues another one: for the next time. */
	a->batch_cnt = 0;
	for (int i = 0; i < cnt; i++) {
		HASH_FIND_INT(a->by_tid, &a->batch[i], t);
		if (!t)
			continue;
		t->queued = false;
		write_one(a, t, now_ns);
	}
}

void anchoring__thread_gone(struct anchoring *a, pid_t tid)
{
	struct anchored *t;

	HASH_FIND_INT(a->by_tid, &tid, t);
	if (t)
		forget(a, t);
}

void anchoring__process_gone(struct anchoring *a, pid_t pid)
{
	struct anchored *t, *next;

	HASH_ITER(hh, a->by_tid, t, next) {
		if (t->pid == pid)
			forget(a, t);
	}
}

void anchoring__detach(struct anchoring *a)
{
	struct anchored *t, *next;

	HASH_ITER(hh, a->by_tid, t, next) {
		if (t->hold == HOLD_OWNED && anchors__write(sampler__anchors(a->sampler), t->index,
							    &t->target, NULL, 0, true))
			log_debug("anchoring", "thread %d: its anchor could not be cleared",
				  t->tid);
	}
}

const struct anchoring_stats *anchoring__stats(const struct anchoring *a)
{
	return &a->stats;
}
