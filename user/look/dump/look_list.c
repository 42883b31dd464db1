/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look/core/core.h"
#include "look/dump/look.h"
#include "base/data/memory.h"
#include "profile/marks.h"
#include "profile/thread_filter.h"
#include "record/samples/still.h"
#include "process/probe/probed.h"
#include "base/text/printable.h"
#include "base/data/vec.h"

/* Threads of one process to show. */
#define THREADS_SHOWN_MAX 16384U

/* ---- stacks ----------------------------------------------------------------------------------- */

/* Of one thread's C stack. */
struct copy {
	const char *bytes;
	__u64 addr, len;
};

static int read_copy(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct copy *c = ctx;
	__u64 at = addr - c->addr;

	if (addr < c->addr || at > c->len || len > c->len - at)
		return -EFAULT;
	memcpy(buf, c->bytes + at, len);
	return 0;
}

static const char *why_lost(enum reason reason)
{
	switch (reason) {
	case REASON_CYCLE:
		return "its frames form a cycle";
	case REASON_BAD_FRAME:
		return "one of its frames is malformed";
	default:
		return "its memory could not be read";
	}
}

/*
 * Gives a frame its variables. *next: earlier ones belong to frames further down the list; both are in
 * the same order.
 */
static int take_locals(struct look_process *p, struct look_frame *f, const struct probe_threads *l,
		       __u32 frame, __u32 *next)
{
	__u32 first = *next, end;

	while (first < l->local_cnt && l->locals[first].frame < frame)
		first++;
	for (end = first; end < l->local_cnt && l->locals[end].frame == frame;)
		end++;
	*next = end;
	if (first == end)
		return 0;
	f->locals = calloc(end - first, sizeof(*f->locals));
	if (!f->locals)
		return -ENOMEM;
	for (; first < end; first++)
		f->locals[f->local_cnt++] = (struct look_local){
			.name = look_text(&p->strings, l->texts + l->locals[first].name),
			.value = look_text(&p->strings, l->texts + l->locals[first].value),
			.changed = l->locals[first].changed,
		};
	return 0;
}

/* Of all frames of the list that the thread shows. */
static int take_all_locals(struct look_process *p, struct look_thread *t,
			   const struct probe_threads *l, __u32 *next)
{
	const struct frame *frames = l->frames + t->os.first_frame;
	__u32 shown = 0;
	int err = 0;

	for (__u32 i = 0; i < t->os.frame_cnt && !err; i++) {
		while (shown < t->frame_cnt && !t->frames[shown].python.code_addr)
			shown++;
		if (shown == t->frame_cnt)
			break;
		/* Others are not shown. */
		if (t->frames[shown].python.frame_addr == frames[i].frame_addr)
			err = take_locals(p, &t->frames[shown++], l, t->os.first_frame + i, next);
	}
	return err;
}

/* With native frames, if they are wanted. */
static int take_frames(struct look_process *p, struct look_thread *t, enum reason reason,
		       const struct probe_threads *l, __u32 *next_local)
{
	const struct probe_thread *os = &t->os;
	struct copy copy = { l->stacks + os->stack_at, os->stack_addr, os->stack_len };
	const struct memory copied = { .read = read_copy, .ctx = &copy };
	const struct still_thread of = {
		.reason = reason,
		.regs = os->flags & PROBE_THREAD_REGS ? os->regs : NULL,
		.behind_call = os->flags & PROBE_THREAD_BEHIND_CALL,
		.memory = p->core ? core__memory(p->core) : &copied,
		.frames = l->frames + os->first_frame,
		.frame_cnt = os->frame_cnt,
	};
	const struct stack_nodes *list = still__list(p->named, &of);
	int err = list ? look_thread_take(t, &p->strings, list) : -ENOMEM;

	t->joined = !err && still__has_natives(p->still);
	return err ? err : take_all_locals(p, t, l, next_local);
}

int look_list_stack(struct look_process *p, struct look_thread *t, const struct probe_threads *l,
		    __u32 *next_local)
{
	const struct probe_thread *os = &t->os;

	/* What its thread state says is no longer true. */
	if (os->state == 'Z' || os->state == 'X') {
		t->how = LOOK_ENDED;
		return 0;
	}
	/* All of its stack is native. */
	if (!(os->flags & PROBE_THREAD_PYTHON)) {
		t->how = LOOK_NATIVE;
		return still__has_natives(p->still) && os->flags & PROBE_THREAD_HELD ?
			       take_frames(p, t, REASON_NATIVE_THREAD, l, next_local) :
			       0;
	}
	if (!(os->flags & PROBE_THREAD_HELD)) {
		t->why = "it did not hold still";
		return 0;
	}
	if (reason_outcome(os->reason) == OUTCOME_LOST) {
		t->why = why_lost(os->reason);
		return 0;
	}
	t->how = LOOK_AT_REST;
	return take_frames(p, t, os->reason, l, next_local);
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* The thread for that list element; NULL: it needs nothing, or there is no room. */
static struct look_thread *thread_of(struct look_process *p, const struct probe_thread *os,
				     bool again)
{
	struct look_thread *t = again ? look__thread(p, os->tid) : NULL;

	if (t)
		return t->how == LOOK_NONE ? t : NULL;
	if (p->thread_cnt == THREADS_SHOWN_MAX) {
		p->cut = true;
		return NULL;
	}
	if (vec_reserve(p->threads, p->thread_cap, p->thread_cnt + 1))
		return NULL;
	t = &p->threads[p->thread_cnt++];
	*t = (struct look_thread){ .how = LOOK_NONE };
	return t;
}

static int compare_interps(const void *a, const void *b)
{
	const struct probe_interp *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* From the first list: the holder of a GIL must be of the same moment as its threads. */
static int take_interps(struct look_process *p, const struct probe_threads *l)
{
	if (p->interps || !l->interp_cnt)
		return 0;
	p->interps = malloc(l->interp_cnt * sizeof(*p->interps));
	if (!p->interps)
		return -ENOMEM;
	memcpy(p->interps, l->interps, l->interp_cnt * sizeof(*p->interps));
	p->interp_cnt = l->interp_cnt;
	qsort(p->interps, p->interp_cnt, sizeof(*p->interps), compare_interps);
	return 0;
}

/* By its name in the program, or the kernel's. */
static bool is_wanted_thread(const struct look_process *p, const struct probe_threads *l,
			     const struct probe_thread *os)
{
	return !p->thread || thread_filter_wants(p->thread, p->process.pid, os->tid, os->comm) ||
	       (os->name &&
		thread_filter_wants(p->thread, p->process.pid, os->tid, l->texts + os->name));
}

static void note_other(struct look_process *p, const struct probe_threads *l,
		       const struct probe_thread *os)
{
	char name[sizeof(p->others.most[0].name)];

	printable_into(name, sizeof(name),
		       thread_name_shown(os->name ? l->texts + os->name : NULL, os->comm,
					 p->process.comm));
	mentions_add(&p->others, os->tid, name, 1);
}

static int take_list(struct look_process *p, const struct probe_threads *l, bool again)
{
	__u32 next_local = 0;
	int err = take_interps(p, l);

	if (l->pause_ns) {
		p->pause_ns += l->pause_ns;
		p->pause_cnt++;
	}
	for (__u32 i = 0; i < l->thread_cnt && !err; i++) {
		const bool wanted = is_wanted_thread(p, l, &l->threads[i]);
		struct look_thread *t = wanted ? thread_of(p, &l->threads[i], again) : NULL;

		if (!wanted && !again)
			note_other(p, l, &l->threads[i]);
		if (!t)
			continue;
		t->os = l->threads[i];
		t->name = t->os.name ? look_text(&p->strings, l->texts + t->os.name) : NULL;
		err = look_list_stack(p, t, l, &next_local);
	}
	return err;
}

static int list_threads(struct look_process *p, const struct probe_threads_ask *ask,
			struct probe_threads *ret)
{
	return p->core ? core__threads(p->core, ask, ret) : probed__threads(p->probed, ask, ret);
}

static int take_threads(struct look_process *p, bool again)
{
	const struct memory *memory = p->core ? core__memory(p->core) : probed__memory(p->probed);
	struct probe_threads_ask ask = {
		.offsets = p->process.offsets,
		.runtime_addr = p->process.runtime_addr,
		.locals = p->locals,
		.pause = p->pause,
		.stacks = still__has_natives(p->still),
	};
	struct probe_threads l;
	int err = still__begin(p->named, memory);

	while (!err) {
		err = list_threads(p, &ask, &l);
		/* Check them afterwards: the list is from the time in between. */
		if (!err && !p->core)
			still__check(p->named);
		if (!err)
			err = take_list(p, &l, again);
		ask.first_tid = l.next_tid;
		p->cut = p->cut || l.locals_cut;
		probe_threads_free(&l);
		if (!ask.first_tid || p->cut)
			break;
	}
	return err;
}

static const char *why_not(const struct look_process *p, int err)
{
	if (err == -ESRCH)
		return "it has exited";
	if (err == -EPERM && p->pause)
		return "a debugger traces it already, or krait lacks the right to trace it";
	if ((err == -ETIMEDOUT || err == -EAGAIN) && p->pause)
		return "that took too long";
	if (err == -ETIMEDOUT || err == -EAGAIN)
		return "its memory does not come, or krait's helper got no CPU";
	return strerror(-err);
}

int look_list_take(struct look_process *p, bool again)
{
	int err = take_threads(p, again);

	if (err && !p->thread_cnt) {
		p->result = err;
		snprintf(p->process.why, sizeof(p->process.why), "its threads could not be %s: %s",
			 p->pause ? "paused" : "listed", why_not(p, err));
	}
	/* Nobody asks for a thread that does not exist. */
	if (!err && !p->thread_cnt && p->others.cnt) {
		char given[96], there[128];

		thread_filter_say(p->thread, given, sizeof(given));
		mentions_say(&p->others, there, sizeof(there));
		p->result = -ENOENT;
		snprintf(p->process.why, sizeof(p->process.why),
			 "no thread matches %.95s (its threads: %.120s)", given, there);
	}
	return p->result;
}
