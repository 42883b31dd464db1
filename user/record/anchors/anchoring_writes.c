/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/anchors/anchoring_parts.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "kernel/maps/anchors.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/*
 * A thread younger than KRAIT_ANCHOR_AGE_NS gets no anchor: it may end, and free its thread state,
 * between the look at it and the write.
 */

/* How long an emptied slot must stay empty before krait uses it; doubles with every failure. */
#define WATCH_MIN_NS (2 * NS_PER_SEC)
#define WATCH_MAX_NS (64 * NS_PER_SEC)

void anchored_enqueue(struct anchoring *a, struct anchored *t)
{
	if (t->queued || a->batch_cnt == MAX_BATCH)
		return;
	t->queued = true;
	a->batch[a->batch_cnt++] = t->tid;
}

void anchored_watch(struct anchoring *a, struct anchored *t, __u64 now_ns)
{
	if (t->watch_ns)
		t->watch_ns = t->watch_ns * 2 < WATCH_MAX_NS ? t->watch_ns * 2 : WATCH_MAX_NS;
	else
		t->watch_ns = WATCH_MIN_NS;
	t->hold = HOLD_WATCH;
	t->watch_until_ns = now_ns + t->watch_ns;
	t->addr_cnt = 0;
	anchored_enqueue(a, t);
}

void anchored_refuse(struct anchoring *a, struct anchored *t, const char *why)
{
	t->hold = HOLD_REFUSED;
	anchored_give_back(a, t);
	log_debug("anchoring", "thread %d gets full walks only: %s", t->tid, why);
}

/* Asks nothing more about its threads. */
static void refuse_process(struct admitted *p, const char *why)
{
	if (p->refused)
		return;
	p->refused = why;
	log_warn("anchoring", "krait walks the stacks of process %d in full each time: %s",
		 p->process.pid, why);
}

void anchored_stop(struct anchoring *a, const struct anchored *t)
{
	if (t->index >= 0)
		anchors__stop(a->anchors, t->index);
}

/* Gets an index and ties it to the thread, if either is still missing. */
static int prepare(struct anchoring *a, struct anchored *t)
{
	int err;

	if (t->index >= 0)
		return 0;
	t->index = anchors__take(a->anchors, t->owner);
	if (t->index < 0)
		return t->index;
	t->deltas = anchors__deltas(a->anchors, t->index);
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

/* Ends the watch, or prolongs it with a longer pause. */
static void on_look(struct anchoring *a, struct anchored *t, int result,
		    const struct probe_anchor_state *state)
{
	if (result || !state || state->lpf_addr)
		anchored_watch(a, t, clock_monotonic_ns());
	else
		t->hold = HOLD_FRESH;
}

/* Counts deltas that were too short to be read here: the kernel has counted them. */
static void take_in_deltas(struct anchoring *a, struct anchored *t)
{
	struct anchor_deltas now = anchors__deltas(a->anchors, t->index);
	__u32 cnt = now.cnt - t->deltas.cnt, frames = now.frames - t->deltas.frames;

	if ((__s32)cnt > 0 && (__s32)frames > 0)
		placement_skip(&t->placement, cnt, frames);
	t->deltas = now;
}

static void on_written(struct anchoring *a, struct anchored *t, int result,
		       const struct probe_anchor_state *state)
{
	__u64 now_ns = clock_monotonic_ns();

	if (!result && state) {
		anchors__complete(a->anchors, t->index, state->seq);
		a->stats.writes++;
		t->hold = HOLD_OWNED;
		take_in_deltas(a, t);
		placement_written(&t->placement, now_ns);
	} else if (result == -EBUSY) {
		anchored_watch(a, t, now_ns);
	} else if (result && result != -ESTALE && result != -EAGAIN) {
		a->stats.refused++;
		anchored_refuse(a, t, strerror(-result));
	}
}

static void ask(struct anchoring *a, struct anchored *t, enum asked what);

static void on_answer(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct anchored *t = ctx;
	struct anchoring *a = t->anchoring;
	const struct probe_anchor_state *state =
		data && len == sizeof(struct probe_anchor_state) ? data : NULL;
	enum asked asked = t->asked;

	t->asked = ASKED_NOTHING;
	if (!data && (result == -ETIMEDOUT || result == -EIO || result == -EUSERS)) {
		refuse_process(t->process, "writing an anchor hangs");
		a->stats.refused++;
		anchored_refuse(a, t, strerror(-result));
	} else if (t->hold == HOLD_REFUSED && asked != ASKED_CLEAR) {
		/*
		 * Its anchor was given back while the answer was on its way: remove what was
		 * written.
		 */
		if (asked == ASKED_WRITE && !result && !t->process->refused)
			ask(a, t, ASKED_CLEAR);
	} else if (asked == ASKED_LOOK) {
		on_look(a, t, result, state);
	} else if (asked == ASKED_WRITE) {
		on_written(a, t, result, state);
	} else if (result && result != -ESTALE && result != -EAGAIN && result != -ESRCH) {
		a->stats.refused++;
		anchored_refuse(a, t, strerror(-result));
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

/* Does what was decided earlier, if it is still allowed. */
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
		anchored_stop(a, t);
		ask(a, t, ASKED_CLEAR);
		return;
	}
	/* No anchor free, or no slot yet: full walks still work. */
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

	/* A write that finds a foreign value queues another write: for the next flush. */
	a->batch_cnt = 0;
	for (int i = 0; i < cnt; i++) {
		HASH_FIND_INT(a->by_tid, &a->batch[i], t);
		if (!t)
			continue;
		t->queued = false;
		act(a, t, now_ns);
	}
}

bool anchoring__detach(struct anchoring *a)
{
	struct anchored *t, *next;
	bool some = false;

	HASH_ITER(hh, a->by_tid, t, next) {
		if (!t->asked && t->hold == HOLD_OWNED && !t->process->refused && t->dumpable) {
			t->hold = HOLD_REFUSED;
			anchored_stop(a, t);
			ask(a, t, ASKED_CLEAR);
		}
		some = some || t->asked;
	}
	return some;
}
