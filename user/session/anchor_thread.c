/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/anchor_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replay/input_writer.h"
#include "sampler/queue.h"
#include "sampler/reader.h"
#include "sampler/record.h"
#include "sampler/sampler.h"
#include "target/prober.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/error.h"

#define NS_PER_MS 1000000ULL
/* Records between two looks at what probers have answered. */
#define TURN_RECORDS 512
/* Sleeps are not longer, whatever else there is to wait for. */
#define SLEEP_MS 1000
/* For clearing all anchors at the end. */
#define DETACH_NS (500 * NS_PER_MS)
/*
 * Probers: one, and one to go on with where that is kept waiting. The first is started with the first
 * anchor, which most recordings never want.
 */
#define WORKERS 2
/* Whoever waits behind a process that hangs shall have its anchor within 40 ms all the same. */
#define PATIENCE_NS (15 * NS_PER_MS)

/* What the main thread says. */
struct letter {
	struct letter *next;
	bool admit; /* otherwise: reset */
	struct anchor_process process;
	pid_t tid;
	__u64 start_ns;
};

struct anchor_thread {
	struct sampler *sampler;
	struct queue *queue;
	struct anchoring *anchoring;
	struct prober *prober;
	struct sampler_handler handler;
	pthread_t thread;
	bool started, finished;
	bool quit; /* without clearing */

	pthread_mutex_t lock; /* of the letters */
	struct letter *first, **end;
};

/* ---- records ---------------------------------------------------------------------------------- */

static void on_sample(void *ctx, const struct record_sample *record)
{
	struct anchor_thread *t = ctx;

	if (reason_outcome(record->reason) != OUTCOME_LOST)
		anchoring__sample(t->anchoring, record, record__frames(record));
}

static void on_task(void *ctx, const struct record_task *record)
{
	struct anchor_thread *t = ctx;

	anchoring__task(t->anchoring, record);
}

static void on_code(void *ctx, const struct record_code *record)
{
}

static void on_mmap(void *ctx, const struct record_mmap *record)
{
}

/* The main thread counts it. */
static void on_bad_record(void *ctx)
{
}

/* ---- letters ---------------------------------------------------------------------------------- */

static void post(struct anchor_thread *t, const struct letter *text)
{
	struct letter *l = malloc(sizeof(*l));

	if (!l) {
		int dir = text->process.dir, mem = text->process.mem;

		if (text->admit) {
			cleanup_close_(&dir);
			cleanup_close_(&mem);
		}
		return;
	}
	*l = *text;
	l->next = NULL;
	pthread_mutex_lock(&t->lock);
	*t->end = l;
	t->end = &l->next;
	pthread_mutex_unlock(&t->lock);
	queue__wake(t->queue, CURSOR_ANCHORS);
}

void anchor_thread__admit(struct anchor_thread *t, const struct anchor_process *process)
{
	post(t, &(struct letter){ .admit = true, .process = *process });
}

void anchor_thread__reset(struct anchor_thread *t, const struct record_sample *record)
{
	post(t, &(struct letter){ .tid = (pid_t)record->tid, .start_ns = record->thread_start_ns });
}

static void read_letters(struct anchor_thread *t)
{
	struct letter *l, *next;

	pthread_mutex_lock(&t->lock);
	l = t->first;
	t->first = NULL;
	t->end = &t->first;
	pthread_mutex_unlock(&t->lock);
	for (; l; l = next) {
		next = l->next;
		if (l->admit)
			anchoring__admit(t->anchoring, &l->process);
		else
			anchoring__reset(t->anchoring, l->tid, l->start_ns);
		free(l);
	}
}

static bool has_letters(struct anchor_thread *t)
{
	bool has;

	pthread_mutex_lock(&t->lock);
	has = t->first;
	pthread_mutex_unlock(&t->lock);
	return has;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* Some records; false when there are none left now. */
static bool read_some(struct anchor_thread *t)
{
	const void *data;
	size_t size;

	for (unsigned i = 0; i < TURN_RECORDS; i++) {
		data = queue__peek(t->queue, CURSOR_ANCHORS, &size);
		if (!data)
			return false;
		record_dispatch(&t->handler, data, size);
		queue__pop(t->queue, CURSOR_ANCHORS);
	}
	return true;
}

static int timeout_ms(__u64 until_ns)
{
	__u64 now_ns = clock_monotonic_ns();

	if (!until_ns || until_ns > now_ns + SLEEP_MS * NS_PER_MS)
		return SLEEP_MS;
	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* until_ns: when the probers want to be looked at, 0 whenever. */
static void sleep_until(struct anchor_thread *t, __u64 until_ns)
{
	struct pollfd fds[1 + PROBERS_MAX];
	unsigned cnt = prober__poll(t->prober, fds + 1) + 1;

	fds[0] = (struct pollfd){ .fd = queue__fd(t->queue, CURSOR_ANCHORS), .events = POLLIN };
	if (queue__arm(t->queue, CURSOR_ANCHORS) && !has_letters(t) && !is_set(&t->quit))
		poll(fds, cnt, timeout_ms(until_ns));
	queue__disarm(t->queue, CURSOR_ANCHORS);
}

/* What does not answer by then has its anchor for good; it slides to the root as its frames return. */
static void detach(struct anchor_thread *t)
{
	__u64 end_ns = clock_monotonic_ns() + DETACH_NS;

	while (anchoring__detach(t->anchoring) && clock_monotonic_ns() < end_ns)
		prober__wait(t->prober, 20);
}

static void *thread_main(void *arg)
{
	struct anchor_thread *t = arg;
	__u64 until_ns;
	bool more;

	while (!is_set(&t->quit) && !queue__is_over(t->queue, CURSOR_ANCHORS)) {
		read_letters(t);
		more = read_some(t);
		anchoring__flush(t->anchoring);
		until_ns = prober__pending(t->prober) ? prober__step(t->prober) : 0;
		if (!more)
			sleep_until(t, until_ns);
	}
	read_letters(t);
	if (!is_set(&t->quit))
		detach(t);
	prober__free(t->prober);
	t->prober = NULL;
	return NULL;
}

/* ---- its life --------------------------------------------------------------------------------- */

static int access_ask(void *ctx, const struct probe_request *r, const int fds[2],
		      probe_done_fn done, void *done_ctx)
{
	struct anchor_thread *t = ctx;

	return prober__ask(t->prober, PROBER_LATER, r, fds, 2, done, done_ctx);
}

static void access_forget(void *ctx, const void *done_ctx)
{
	struct anchor_thread *t = ctx;

	if (t->prober)
		prober__forget(t->prober, done_ctx);
}

static int access_add(void *ctx, const struct record_sample *record, __u32 *slot)
{
	struct anchor_thread *t = ctx;

	return sampler__add_thread(t->sampler, record, slot);
}

static void access_remove(void *ctx, __u32 slot, pid_t tid, __u64 start_ns)
{
	struct anchor_thread *t = ctx;

	sampler__remove_thread(t->sampler, slot, tid, start_ns);
}

static int access_tie(void *ctx, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct anchor_thread *t = ctx;

	return sampler__tie_anchor(t->sampler, slot, tid, start_ns, anchor);
}

static int build(struct anchor_thread *t, enum anchor_mode mode, unsigned *probers_alive,
		 struct input_writer *inputs)
{
	const struct anchor_access access = {
		.ask = access_ask,
		.forget = access_forget,
		.add = access_add,
		.remove = access_remove,
		.tie = access_tie,
		.ctx = t,
	};

	t->handler = (struct sampler_handler){
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.mmap = on_mmap,
		.bad_record = on_bad_record,
		.ctx = t,
	};
	t->anchoring = anchoring__new(mode, sampler__anchors(t->sampler), &access);
	t->prober = prober__new(WORKERS);
	if (!t->anchoring || !t->prober)
		return ENOMEM;
	prober__hurry(t->prober, PATIENCE_NS);
	prober__share(t->prober, probers_alive);
	if (inputs)
		prober__tap(t->prober, input_writer_answer, inputs);
	return pthread_create(&t->thread, NULL, thread_main, t);
}

struct anchor_thread *anchor_thread__new(enum anchor_mode mode, struct sampler *sampler,
					 unsigned *probers_alive, struct input_writer *inputs,
					 struct error *err)
{
	struct anchor_thread *t = calloc(1, sizeof(*t));
	int errnum = ENOMEM;

	if (t) {
		pthread_mutex_init(&t->lock, NULL);
		t->end = &t->first;
		t->sampler = sampler;
		t->queue = sampler__queue(sampler);
		errnum = build(t, mode, probers_alive, inputs);
		t->started = !errnum;
	}
	if (!errnum)
		return t;
	error_set(err, errnum, EXIT_CODE_KERNEL, "cannot start a thread: %s", strerror(errnum));
	anchor_thread__free(t);
	return NULL;
}

void anchor_thread__finish(struct anchor_thread *t)
{
	if (t->started && !t->finished)
		pthread_join(t->thread, NULL);
	t->finished = true;
}

void anchor_thread__free(struct anchor_thread *t)
{
	if (!t)
		return;
	__atomic_store_n(&t->quit, true, __ATOMIC_RELEASE);
	queue__wake(t->queue, CURSOR_ANCHORS);
	anchor_thread__finish(t);
	if (t->anchoring)
		read_letters(t); /* their descriptors */
	anchoring__free(t->anchoring);
	prober__free(t->prober);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t)
{
	return anchoring__stats(t->anchoring);
}
