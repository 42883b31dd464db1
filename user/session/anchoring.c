/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/anchoring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <uthash.h>

#include "sampler/anchors.h"
#include "stack/placement.h"
#include "stack/stacks.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"

/*
 * A thread younger than KRAIT_ANCHOR_AGE_NS may be gone, its thread state freed, between the look at it
 * and the write: it gets none.
 */

/* How long an emptied slot must stay empty before krait uses it; doubles with every failure. */
#define WATCH_MIN_NS (2 * NS_PER_SEC)
#define WATCH_MAX_NS (64 * NS_PER_SEC)
/* Writes in one batch. */
#define MAX_BATCH 256
/* Processes with descriptors for it: two each. */
#define MAX_PROCESSES 2048
/* Threads whose ends were dropped are known until their process ends. */
#define MAX_THREADS (2 * KRAIT_MAX_SLOTS)

enum hold {
	HOLD_FRESH, /* never written */
	HOLD_OWNED, /* what is in the slot comes from us */
	HOLD_WATCH, /* emptied; is somebody else writing? */
	HOLD_REFUSED, /* left alone for good */
};

enum asked {
	ASKED_NOTHING,
	ASKED_WRITE, /* of addrs */
	ASKED_CLEAR,
	ASKED_LOOK, /* has it stayed empty? */
};

struct admitted {
	struct anchor_process process;
	const char *refused; /* why it gets no anchors any more */
	TAILQ_HEAD(, anchored) threads;
	UT_hash_handle hh;
};

struct anchored {
	struct anchoring *anchoring;
	struct admitted *process;
	pid_t tid;
	unsigned owner; /* who pays for its anchor: bpf/share.h */
	__u64 start_ns;
	__u32 slot;
	struct last_stack *stack;
	enum hold hold;
	enum asked asked;
	int index; /* of the anchor, < 0 none */
	bool queued;
	bool dumpable; /* when it was seen last */
	__u32 addr_cnt; /* of addrs, to be written; 0 empties the slot */
	__u64 *addrs; /* the frame to anchor at and its callers */
	__u64 watch_ns, watch_until_ns;
	__u64 tstate_addr, interp_addr, thread_ptr; /* as the last sample said */
	struct placement placement;
	TAILQ_ENTRY(anchored) of_process;
	UT_hash_handle hh;
};

struct anchoring {
	enum anchor_mode mode;
	struct anchors *anchors;
	struct anchor_access access;
	struct admitted *by_pid;
	struct anchored *by_tid;
	struct stacks *stacks;
	struct anchoring_stats stats;
	int batch_cnt;
	pid_t batch[MAX_BATCH];
};

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

static void give_back(struct anchoring *a, struct anchored *t)
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
	give_back(a, t);
	a->access.remove(a->access.ctx, t->slot, t->tid, t->start_ns);
	stacks__forget(a->stacks, &t->stack);
	TAILQ_REMOVE(&t->process->threads, t, of_process);
	HASH_DEL(a->by_tid, t);
	a->stats.threads--;
	free(t->addrs);
	free(t);
}

/* It takes its threads along. */
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

/* Is the sample one of the process as it was admitted? */
static bool is_of(const struct admitted *p, const struct record_sample *record)
{
	return record->time_ns >= p->process.since_ns &&
	       start_order(record->thread_start_ns, p->process.start_ns) >= 0;
}

void anchoring__process_gone(struct anchoring *a, pid_t pid, __u64 start_ns, __u64 before_ns)
{
	struct admitted *p = find_process(a, pid);

	if (p && same_start(p->process.start_ns, start_ns) && p->process.since_ns < before_ns)
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

/* Of an admitted process, or NULL. Only what has a slot can be tied to an anchor. */
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
	/* An anchor is tied to a slot, so the number is needed whoever gave the thread its slot. */
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
	give_back(a, t);
	log_debug("anchoring", "thread %d gets full walks only: %s", t->tid, why);
}

/* None of its threads is asked about any more. */
static void refuse_process(struct admitted *p, const char *why)
{
	if (p->refused)
		return;
	p->refused = why;
	log_warn("anchoring", "process %d gets full walks only: %s", p->process.pid, why);
}

static void take_sample(struct anchored *t, const struct record_sample *e)
{
	t->tstate_addr = e->tstate_addr;
	t->interp_addr = e->interp_addr;
	t->thread_ptr = e->thread_ptr;
	if (e->cnt[SECTION_FRAMES] >= KRAIT_ANCHOR_WORTH)
		t->dumpable = e->flags & SAMPLE_DUMPABLE;
}

/* Frames that the record would carry had it not been walked to the end for a check or a confirmation. */
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
		refuse(a, t, "an audit found a wrong base");
		return;
	}
	take_sample(t, record);
	/* The root of a stack that is too deep is never met, so no anchor of it is ever confirmed. */
	if (record->reason == REASON_DEPTH)
		return;
	frame = placement_observe(&t->placement, &sample, a->mode == ANCHOR_MODE_ON);
	if (t->asked)
		return; /* what comes of that is not known yet */
	if (t->hold == HOLD_WATCH) {
		if (record->time_ns >= t->watch_until_ns)
			enqueue(a, t);
	} else if (record->anchor == ANCHOR_NOTE_FOREIGN) {
		watch(a, t, record->time_ns);
	} else if (frame >= 0 && !set_addrs(t, stack, frame)) {
		enqueue(a, t);
	}
}

/* Shorter by an anchor only if it carries some frames, and news of one only if it says so. */
static bool matters(const struct record_sample *record)
{
	return record->cnt[SECTION_FRAMES] >= KRAIT_ANCHOR_WORTH ||
	       record->anchor > ANCHOR_NOTE_DELTA;
}

static void stop(struct anchoring *a, const struct anchored *t)
{
	if (t->index >= 0)
		anchors__stop(a->anchors, t->index);
}

void anchoring__sample(struct anchoring *a, const struct record_sample *record,
		       const struct frame *frames)
{
	struct anchored *t = find_or_add(a, record);
	struct stack *stack;
	int err;

	if (!t)
		return;
	if (!matters(record)) {
		placement_skip(&t->placement, record->cnt[SECTION_FRAMES]);
		return;
	}
	err = stacks__merge(a->stacks, &t->stack, record, frames, &stack);
	if (err == -ESTALE)
		stop(a, t);
	if (!err)
		consider(a, t, record, stack);
}

void anchoring__reset(struct anchoring *a, pid_t tid, __u64 start_ns)
{
	struct anchored *t = find(a, tid, start_ns);

	if (t)
		stop(a, t);
}

/* ---- writes ----------------------------------------------------------------------------------- */

/* An index and the tie to the thread, where they are still missing. */
static int prepare(struct anchoring *a, struct anchored *t)
{
	int err;

	if (t->index >= 0)
		return 0;
	t->index = anchors__take(a->anchors, t->owner);
	if (t->index < 0)
		return t->index;
	err = a->access.tie(a->access.ctx, t->slot, t->tid, t->start_ns, (__u32)t->index);
	if (err) {
		anchors__give_back(a->anchors, t->index);
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

/* The watch is over, or goes on, longer. */
static void on_look(struct anchoring *a, struct anchored *t, int result,
		    const struct probe_anchor_state *state)
{
	if (result || !state || state->lpf_addr)
		watch(a, t, clock_monotonic_ns());
	else
		t->hold = HOLD_FRESH;
}

static void on_written(struct anchoring *a, struct anchored *t, int result,
		       const struct probe_anchor_state *state)
{
	__u64 now_ns = clock_monotonic_ns();

	if (!result && state) {
		anchors__complete(a->anchors, t->index, state->seq);
		a->stats.writes++;
		t->hold = HOLD_OWNED;
		placement_written(&t->placement, now_ns);
	} else if (result == -EBUSY) {
		watch(a, t, now_ns);
	} else if (result && result != -ESTALE && result != -EAGAIN) {
		a->stats.refused++;
		refuse(a, t, strerror(-result));
	}
}

static void on_answer(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct anchored *t = ctx;
	struct anchoring *a = t->anchoring;
	const struct probe_anchor_state *state =
		data && len == sizeof(struct probe_anchor_state) ? data : NULL;
	enum asked asked = t->asked;

	t->asked = ASKED_NOTHING;
	if (!data && (result == -ETIMEDOUT || result == -EIO || result == -EUSERS)) {
		refuse_process(t->process, "writing an anchor does not come back");
		a->stats.refused++;
		refuse(a, t, strerror(-result));
	} else if (asked == ASKED_LOOK) {
		on_look(a, t, result, state);
	} else if (asked == ASKED_WRITE) {
		on_written(a, t, result, state);
	} else if (result && result != -ESTALE && result != -EAGAIN && result != -ESRCH) {
		a->stats.refused++;
		refuse(a, t, strerror(-result));
	}
}

static void ask(struct anchoring *a, struct anchored *t, enum asked what)
{
	const struct admitted *p = t->process;
	const struct py_offsets *off = &p->process.offsets;
	const int fds[] = { p->process.dir, p->process.mem };
	struct probe_request r = {
		.op = what == ASKED_LOOK ? PROBE_ANCHOR_READ : PROBE_ANCHOR_WRITE,
		.pid = p->process.pid,
		.anchor = {
			.tstate_addr = t->tstate_addr,
			.interp_addr = t->interp_addr,
			.thread_ptr = t->thread_ptr,
			.thread_id = off->thread.thread_id,
			.interp = off->thread.interp,
			.last_profiled_frame = off->thread.last_profiled_frame,
			.last_profiled_frame_seq = off->thread.last_profiled_frame_seq,
			.creds_digest = p->process.creds_digest,
			.frame_addr = what == ASKED_WRITE ? t->addrs[0] : 0,
			.foreign_ok = what == ASKED_CLEAR || t->hold == HOLD_OWNED,
		},
	};
	int err;

	t->asked = what;
	err = a->access.ask(a->access.ctx, &r, fds, on_answer, t);
	if (err)
		on_answer(t, err, NULL, 0, NULL);
}

/* What was decided on a while ago, if it still may be done. */
static void act(struct anchoring *a, struct anchored *t, __u64 now_ns)
{
	if (t->hold == HOLD_REFUSED || t->asked || t->process->refused || !t->dumpable ||
	    boot_clock_ns() < t->start_ns + KRAIT_ANCHOR_AGE_NS)
		return;
	if (t->hold == HOLD_WATCH && t->watch_until_ns <= now_ns) {
		ask(a, t, ASKED_LOOK);
		return;
	}
	if (t->hold == HOLD_WATCH) {
		stop(a, t);
		ask(a, t, ASKED_CLEAR);
		return;
	}
	/* All in use, or no slot yet: there is always the full walk. */
	if (!t->addr_cnt || prepare(a, t))
		return;
	anchors__begin(a->anchors, t->index, t->tstate_addr, t->addrs, t->addr_cnt);
	ask(a, t, ASKED_WRITE);
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
		act(a, t, now_ns);
	}
}

void anchoring__thread_gone(struct anchoring *a, pid_t tid, __u64 start_ns)
{
	struct anchored *t;

	HASH_FIND_INT(a->by_tid, &tid, t);
	if (t && t->start_ns == start_ns)
		forget(a, t);
}

bool anchoring__detach(struct anchoring *a)
{
	struct anchored *t, *next;
	bool some = false;

	HASH_ITER(hh, a->by_tid, t, next) {
		if (!t->asked && t->hold == HOLD_OWNED && !t->process->refused && t->dumpable) {
			t->hold = HOLD_REFUSED;
			stop(a, t);
			ask(a, t, ASKED_CLEAR);
		}
		some = some || t->asked;
	}
	return some;
}

const struct anchoring_stats *anchoring__stats(const struct anchoring *a)
{
	return &a->stats;
}
