/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_anchors.c - places anchors without a thread of its own (replay.h): takes each record after
 * the main loop has, and gets answers from the log. Replaces record/anchors/anchor_thread.c, so it has
 * every function of anchor_thread.h.
 */
#include <stdlib.h>

#include "replay_anchors.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "record/anchors/anchor_link.h"
#include "process/probe/prober.h"

struct anchor_thread {
	struct anchor_link link;
	struct sampler_handler handler;
};

struct anchor_thread *anchor_thread__new(enum anchor_mode mode, struct sampler *sampler,
					 unsigned *probers_alive, struct input_writer *inputs,
					 struct error *err)
{
	struct anchor_thread *t = calloc(1, sizeof(*t));
	struct anchor_access access;

	access = anchor_link_access(&t->link);
	t->link.sampler = sampler;
	t->link.prober = prober__new(1);
	t->link.anchoring = anchoring__new(mode, sampler__parts(sampler)->anchors, &access);
	t->handler = anchor_link_handler(&t->link);
	return t;
}

void anchor_thread__free(struct anchor_thread *t)
{
	if (!t)
		return;
	anchoring__free(t->link.anchoring);
	prober__free(t->link.prober);
	free(t);
}

void anchor_thread__admit(struct anchor_thread *t, const struct anchor_process *process)
{
	anchoring__admit(t->link.anchoring, process);
}

void anchor_thread__reset(struct anchor_thread *t, const struct record_sample *record)
{
	anchoring__reset(t->link.anchoring, (pid_t)record->tid, record->thread_start_ns);
}

void anchor_thread__finish(struct anchor_thread *t)
{
	while (anchoring__detach(t->link.anchoring) && prober__step(t->link.prober))
		;
}

const struct anchoring_stats *anchor_thread__stats(const struct anchor_thread *t)
{
	return anchoring__stats(t->link.anchoring);
}

void replay_anchors_record(struct anchor_thread *t, const void *data, size_t size)
{
	record_dispatch(&t->handler, data, size);
	replay_anchors_step(t);
}

__u64 replay_anchors_step(struct anchor_thread *t)
{
	anchoring__flush(t->link.anchoring);
	return prober__step(t->link.prober);
}
