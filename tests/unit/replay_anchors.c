/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_anchors.c - whoever places anchors, without a thread of its own (replay.h): takes in a record after
 * the main loop has, and is answered from the log. In place of session/anchor_thread.c, so every function of
 * anchor_thread.h is here.
 */
#include <stdlib.h>

#include "replay_anchors.h"
#include "sampler/record.h"
#include "sampler/sampler.h"
#include "target/prober.h"

struct anchor_thread {
	struct sampler *sampler;
	struct anchoring *anchoring;
	struct prober *prober;
	struct sampler_handler handler;
};

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

static void on_bad_record(void *ctx)
{
}

static int access_ask(void *ctx, const struct probe_request *r, const int fds[2],
		      probe_done_fn done, void *done_ctx)
{
	struct anchor_thread *t = ctx;

	return prober__ask(t->prober, PROBER_LATER, r, fds, 2, done, done_ctx);
}

static void access_forget(void *ctx, const void *done_ctx)
{
	struct anchor_thread *t = ctx;

	prober__forget(t->prober, done_ctx);
}

static int access_add(void *ctx, const struct record_sample *record, __u32 *slot)
{
	struct anchor_thread *t = ctx;

	return sampler__add_thread(t->sampler, record, slot);
}

static void access_remove(void *ctx, __u32 slot, pid_t tid, __u64 start_ns)
{
}

static int access_tie(void *ctx, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct anchor_thread *t = ctx;

	return sampler__tie_anchor(t->sampler, slot, tid, start_ns, anchor);
}

struct anchor_thread *anchor_thread__new(enum anchor_mode mode, struct sampler *sampler,
					 unsigned *probers_alive, struct input_writer *inputs,
					 struct error *err)
{
	struct anchor_thread *t = calloc(1, sizeof(*t));
	const struct anchor_access access = {
		.ask = access_ask,
		.forget = access_forget,
		.add = access_add,
		.remove = access_remove,
		.tie = access_tie,
		.ctx = t,
	};

	t->sampler = sampler;
	t->prober = prober__new(1);
	t->anchoring = anchoring__new(mode, sampler__anchors(sampler), &access);
	t->handler = (struct sampler_handler){
		.sample = on_sample,
		.task = on_task,
		.code = on_code,
		.mmap = on_mmap,
		.bad_record = on_bad_record,
		.ctx = t,
	};
	return t;
}

void anchor_thread__free(struct anchor_thread *t)
{
	if (!t)
		return;
	anchoring__free(t->anchoring);
	prober__free(t->prober);
	free(t);
}

void anchor_thread__admit(struct anchor_thread *t, const struct anchor_process *process)
{
	anchoring__admit(t->anchoring, process);
}

void anchor_thread__reset(struct anchor_thread *t, const struct record_sample *record)
{
	anchoring__reset(t->anchoring, (pid_t)record->tid, record->thread_start_ns);
}

void anchor_thread__finish(struct anchor_thread *t)
{
	while (anchoring__detach(t->anchoring) && prober__step(t->prober))
		;
}

const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t)
{
	return anchoring__stats(t->anchoring);
}

void replay_anchors_record(struct anchor_thread *t, const void *data, size_t size)
{
	record_dispatch(&t->handler, data, size);
	replay_anchors_step(t);
}

__u64 replay_anchors_step(struct anchor_thread *t)
{
	anchoring__flush(t->anchoring);
	return prober__step(t->prober);
}
