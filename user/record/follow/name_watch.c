/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/name_watch.h"

#include <stddef.h>
#include <string.h>

#include "bpf/abi.h"
#include "record/follow/process_table.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/text/printable.h"

/*
 * A program names a thread before it starts, or in its first moments, and records are some
 * milliseconds old already. Later it hardly ever does, unless it has done so before.
 */
static const __u64 pauses_ns[NAME_PAUSES] = {
	0,	    40 * NS_PER_MS, 160 * NS_PER_MS, 250 * NS_PER_MS, 500 * NS_PER_MS,
	NS_PER_SEC, 2 * NS_PER_SEC, 4 * NS_PER_SEC
};
enum {
	PAUSE_NEW, /* a thread that was not looked for yet */
	PAUSE_RENAMED = 3, /* the longest, in a program that renames threads */
	PAUSE_FIRST_THREAD = 5, /* which has a name only if the program has renamed it */
	PAUSE_LONGEST = NAME_PAUSES - 1,
};
/* Looks at one process take about 1 / so much of the time, however many new threads it has. */
#define REST_FACTOR 400

/*
 * CPU time for looks at the processes of one owner: 0.3 % of a CPU, and 100 ms at once, for
 * the beginning. A look costs what its prober says, and to be asked and answered.
 */
#define LOOK_US_AT_ONCE 100000U
#define LOOK_US_PER_SEC 3000U
#define LOOK_US_EXTRA 20U

/* Looks pending at a time. */
#define LOOKS_AT_ONCE 16U
/* For the samples of a thread whose name decides: how often to look, and how long to wait. */
#define AWAIT_LOOKS 5U
#define AWAIT_NS (20 * NS_PER_MS)

static struct process *process_of(struct name_watch *w)
{
	return (struct process *)((char *)w - offsetof(struct process, names));
}

static struct processes *table_of(struct process *p)
{
	return ((struct entry *)((char *)p - offsetof(struct entry, process)))->table;
}

void name_watches_init(struct name_watches *w)
{
	for (unsigned i = 0; i < NAME_PAUSES; i++)
		TAILQ_INIT(&w->queues[i]);
	for (unsigned i = 0; i < OWNER_CNT; i++)
		w->budgets[i] = allowance_of(LOOK_US_AT_ONCE, LOOK_US_PER_SEC);
}

/* ---- the queues ------------------------------------------------------------------------------- */

static void leave_queue(struct processes *ps, struct name_watch *w)
{
	if (w->queued)
		TAILQ_REMOVE(&ps->watches.queues[w->pause], w, queue);
	w->queued = false;
}

static void enter_queue(struct processes *ps, struct name_watch *w, __u8 pause)
{
	leave_queue(ps, w);
	w->pause = pause;
	w->due_ns = clock_monotonic_ns() + pauses_ns[pause];
	w->queued = true;
	TAILQ_INSERT_TAIL(&ps->watches.queues[pause], w, queue);
}

/* The pause before a look for new threads: none, if the last one was long enough ago. */
static __u8 pause_of_new(const struct name_watch *w)
{
	const __u64 now_ns = clock_monotonic_ns();
	__u8 pause = PAUSE_NEW;

	while (pause < PAUSE_RENAMED && now_ns + pauses_ns[pause] < w->rested_ns)
		pause++;
	return pause;
}

/* Has a thread to look at, and nothing is under way. */
static void plan(struct processes *ps, struct name_watch *w, __u8 pause)
{
	if (!w->asked && (!w->queued || pause < w->pause))
		enter_queue(ps, w, pause);
}

void name_watch_begin(struct processes *ps, struct process *p, const struct process *parent)
{
	struct name_watch *w = &p->names;

	*w = (struct name_watch){ .begun = true };
	TAILQ_INIT(&w->waiting);
	TAILQ_INIT(&w->in_question);
	/* Where they are in the copy, too. */
	if (parent)
		memcpy(w->places, parent->names.places, sizeof(w->places));
}

void name_watch_sampled(struct processes *ps, struct thread *t, const struct record_sample *record)
{
	struct name_watch *w = &t->process->names;
	bool first = !t->thread_ptr;

	if (!record->tstate_addr || !record->thread_ptr || !w->begun)
		return;
	t->thread_ptr = record->thread_ptr;
	if (t->naming != NAMING_NONE)
		return;
	t->naming = NAMING_WAITS;
	if (first)
		TAILQ_INSERT_HEAD(&w->waiting, t, waiting);
	else
		TAILQ_INSERT_TAIL(&w->waiting, t, waiting);
	if (!first)
		plan(ps, w, w->pause);
	else if (t->tid == t->process->pid)
		plan(ps, w, w->pause ? w->pause : PAUSE_FIRST_THREAD);
	else
		plan(ps, w, pause_of_new(w));
}

void name_watch_thread_gone(struct thread *t)
{
	struct name_watch *w = &t->process->names;

	if (t->naming != NAMING_NONE)
		TAILQ_REMOVE(t->naming == NAMING_WAITS ? &w->waiting : &w->in_question, t, waiting);
	t->naming = NAMING_NONE;
}

/* ---- looks ------------------------------------------------------------------------------------ */

static const char *name_in(const struct probe_names *found, __u32 number)
{
	for (__u32 i = 0; i < found->cnt; i++)
		if (found->list[i].number == number)
			return found->list[i].name;
	return NULL;
}

/* One that has no name any more keeps what it had. */
static void take_name(struct processes *ps, struct thread *t, const char *raw)
{
	char name[sizeof(t->given)];

	printable_into(name, sizeof(name), raw);
	if (!strcmp(name, t->given))
		return;
	t->process->names.renames |= *t->given != '\0';
	memcpy(t->given, name, sizeof(name));
	if (ps->renamed)
		ps->renamed(ps->renamed_ctx, t);
}

/* found: NULL: there was no answer. Threads that were asked about may have gone meanwhile. */
static void take_names(struct processes *ps, struct name_watch *w, const struct probe_names *found)
{
	struct thread *t;

	while ((t = TAILQ_FIRST(&w->in_question))) {
		const char *name = found ? name_in(found, t->number) : NULL;

		name_watch_thread_gone(t);
		if (name)
			take_name(ps, t, name);
	}
}

/* An answer that a prober cannot have sent is none. */
static bool is_whole(const struct probe_names *found, size_t len)
{
	if (len < offsetof(struct probe_names, list) || found->cnt > PROBE_NAMES_MAX ||
	    len != probe_names_size(found->cnt))
		return false;
	for (__u32 i = 0; i < found->cnt; i++)
		if (!memchr(found->list[i].name, '\0', sizeof(found->list[i].name)))
			return false;
	return true;
}

static void on_names(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct name_watch *w = ctx;
	struct process *p = process_of(w);
	struct processes *ps = table_of(p);
	const struct probe_names *found = data;
	const struct thread *next;
	__u8 longest;

	w->asked = false;
	ps->watches.asked_cnt--;
	if (result || !data || !is_whole(found, len))
		found = NULL;
	take_names(ps, w, found);
	if (found) {
		log_debug("names", "%d: %u threads have names (%llu us)", p->pid, found->cnt,
			  found->took_ns / 1000);
		allowance_spend(&ps->watches.budgets[p->owner % OWNER_CNT],
				(__u32)(found->took_ns / 1000) + LOOK_US_EXTRA);
		w->rested_ns = clock_monotonic_ns() + REST_FACTOR * found->took_ns;
		memcpy(w->places, found->places, sizeof(w->places));
	}
	longest = w->renames ? PAUSE_RENAMED : PAUSE_LONGEST;
	w->pause = w->pause < longest ? w->pause + 1 : longest;
	next = TAILQ_FIRST(&w->waiting);
	if (next)
		enter_queue(ps, w, next->looks ? w->pause : pause_of_new(w));
}

/* Asks about the next threads. False: it cannot be asked now. */
static bool look(struct processes *ps, struct process *p, enum prober_lane lane)
{
	struct name_watch *w = &p->names;
	const int fds[] = { p->probed ? probed__dir(p->probed) : -1,
			    p->probed ? probed__mem(p->probed) : -1 };
	struct probe_request r = {
		.op = PROBE_NAMES,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.tasks = { .offsets = p->info.offsets, .runtime_addr = p->info.runtime_addr },
	};
	struct thread *t;

	if (fds[0] < 0 || fds[1] < 0 || probed__refused(p->probed))
		return false;
	leave_queue(ps, w);
	while ((t = TAILQ_FIRST(&w->waiting)) && r.names.cnt < PROBE_NAMES_MAX) {
		name_watch_thread_gone(t);
		t->naming = NAMING_ASKED;
		TAILQ_INSERT_TAIL(&w->in_question, t, waiting);
		t->looks += t->looks < AWAIT_LOOKS;
		r.names.threads[r.names.cnt++] =
			(struct probe_names_thread){ t->thread_ptr, t->tid, t->number };
	}
	memcpy(r.names.places, w->places, sizeof(w->places));
	log_debug("names", "%d: asking about %u threads", p->pid, r.names.cnt);
	w->asked = !prober__ask(ps->config.prober, lane, &r, fds, 2, on_names, w);
	ps->watches.asked_cnt += w->asked;
	if (!w->asked)
		take_names(ps, w, NULL);
	return w->asked;
}

/* Its turn has come. */
static void take_turn(struct processes *ps, struct name_watch *w)
{
	struct process *p = process_of(w);

	if (TAILQ_EMPTY(&w->waiting))
		leave_queue(ps, w);
	else if (!allowance_has(&ps->watches.budgets[p->owner % OWNER_CNT]) ||
		 !look(ps, p, PROBER_LATER))
		enter_queue(ps, w, PAUSE_FIRST_THREAD);
}

void name_watch_look(struct processes *ps, struct process *p)
{
	struct name_watch *w = &p->names;

	if (w->begun && !w->asked && !TAILQ_EMPTY(&w->waiting))
		(void)!look(ps, p, PROBER_LATER);
}

__u64 name_watch_step(struct processes *ps, __u64 now_ns)
{
	__u64 soonest = 0;

	for (unsigned i = 0; i < NAME_PAUSES; i++) {
		struct name_queue *q = &ps->watches.queues[i];
		struct name_watch *w;

		while ((w = TAILQ_FIRST(q)) && w->due_ns <= now_ns) {
			/* The next answer makes room. */
			if (ps->watches.asked_cnt >= LOOKS_AT_ONCE)
				return soonest;
			take_turn(ps, w);
		}
		if (w && (!soonest || w->due_ns < soonest))
			soonest = w->due_ns;
	}
	return soonest;
}

void name_watch_await(struct processes *ps, struct thread *t)
{
	struct name_watch *w = &t->process->names;
	__u64 end_ns = clock_monotonic_ns() + AWAIT_NS, now_ns;

	if (!t->thread_ptr || t->looks >= AWAIT_LOOKS || prober__is_nested(ps->config.prober))
		return;
	while (!*t->given && (w->asked || t->naming == NAMING_WAITS) &&
	       !prober__is_slow(ps->config.prober, w) && (now_ns = clock_monotonic_ns()) < end_ns) {
		if (!w->asked && !look(ps, t->process, PROBER_NOW))
			return;
		prober__wait(ps->config.prober, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	}
}

void name_watch_forget(struct processes *ps, struct process *p)
{
	struct name_watch *w = &p->names;

	if (w->asked) {
		prober__forget(ps->config.prober, w);
		ps->watches.asked_cnt--;
	}
	leave_queue(ps, w);
	*w = (struct name_watch){ .begun = false };
}
