/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/anchors/anchor_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "record/replay/input_writer.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/reader.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "record/anchors/anchor_link.h"
#include "process/probe/prober.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"

/* Records to read before looking at the probers' answers again. */
#define TURN_RECORDS 512
/* Longest sleep, whatever else there is to wait for. */
#define SLEEP_MS 1000
/* Time limit for clearing all anchors at the end. */
#define DETACH_NS (500 * NS_PER_MS)
/*
 * Probers: one, and a second for when the first one is blocked. The first starts with the first
 * anchor, which most recordings never want.
 */
#define WORKERS 2
/* A thread that waits behind a process that hangs must get its anchor within 40 ms all the same. */
#define PATIENCE_NS (15 * NS_PER_MS)

/* A message from the main thread. */
struct letter {
	struct letter *next;
	bool admit; /* else reset */
	struct anchor_process process;
	pid_t tid;
	__u64 start_ns;
};

struct anchor_thread {
	struct anchor_link link;
	struct queue *queue;
	struct sampler_handler handler;
	pthread_t thread;
	bool started, finished;
	bool quit; /* quit without clearing */

	pthread_mutex_t lock; /* of the letters */
	struct letter *first, **end;
};

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
			anchoring__admit(t->link.anchoring, &l->process);
		else
			anchoring__reset(t->link.anchoring, l->tid, l->start_ns);
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

/* Reads some records; false when there are none left for now. */
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

/* until_ns: when the probers want attention; 0: no deadline. */
static void sleep_until(struct anchor_thread *t, __u64 until_ns)
{
	struct pollfd fds[1 + PROBERS_MAX];
	unsigned cnt = prober__poll(t->link.prober, fds + 1) + 1;

	fds[0] = (struct pollfd){ .fd = queue__fd(t->queue, CURSOR_ANCHORS), .events = POLLIN };
	if (queue__arm(t->queue, CURSOR_ANCHORS) && !has_letters(t) && !is_set(&t->quit))
		poll(fds, cnt, timeout_ms(until_ns));
	queue__disarm(t->queue, CURSOR_ANCHORS);
}

/*
 * A process that does not answer in time keeps its anchor, which slides to the root as its frames
 * return.
 */
static void detach(struct anchor_thread *t)
{
	__u64 end_ns = clock_monotonic_ns() + DETACH_NS;

	while (anchoring__detach(t->link.anchoring) && clock_monotonic_ns() < end_ns)
		prober__wait(t->link.prober, 20);
}

static void *thread_main(void *arg)
{
	struct anchor_thread *t = arg;
	__u64 until_ns;
	bool more;

	while (!is_set(&t->quit) && !queue__is_over(t->queue, CURSOR_ANCHORS)) {
		read_letters(t);
		more = read_some(t);
		anchoring__flush(t->link.anchoring);
		until_ns = prober__pending(t->link.prober) ? prober__step(t->link.prober) : 0;
		if (!more)
			sleep_until(t, until_ns);
	}
	read_letters(t);
	if (!is_set(&t->quit))
		detach(t);
	prober__free(t->link.prober);
	t->link.prober = NULL;
	return NULL;
}

/* ---- its life --------------------------------------------------------------------------------- */

static int build(struct anchor_thread *t, enum anchor_mode mode, unsigned *probers_alive,
		 struct input_writer *inputs)
{
	const struct anchor_access access = anchor_link_access(&t->link);

	t->handler = anchor_link_handler(&t->link);
	t->link.anchoring = anchoring__new(mode, sampler__parts(t->link.sampler)->anchors, &access);
	t->link.prober = prober__new(WORKERS);
	if (!t->link.anchoring || !t->link.prober)
		return ENOMEM;
	prober__hurry(t->link.prober, PATIENCE_NS);
	prober__share(t->link.prober, probers_alive);
	if (inputs)
		prober__tap(t->link.prober, input_writer_answer, inputs);
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
		t->link.sampler = sampler;
		t->queue = sampler__parts(sampler)->queue;
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
	if (t->link.anchoring)
		read_letters(t); /* takes over their descriptors */
	anchoring__free(t->link.anchoring);
	prober__free(t->link.prober);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t)
{
	return anchoring__stats(t->link.anchoring);
}
