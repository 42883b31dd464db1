/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/anchors/anchor_link.h"

#include "kernel/sampler/record.h"
#include "process/probe/prober.h"

/* ---- records ---------------------------------------------------------------------------------- */

static void on_sample(void *ctx, const struct record_sample *record)
{
	struct anchor_link *l = ctx;

	if (reason_outcome(record->reason) != OUTCOME_LOST)
		anchoring__sample(l->anchoring, record, record__frames(record));
}

static void on_task(void *ctx, const struct record_task *record)
{
	struct anchor_link *l = ctx;

	anchoring__task(l->anchoring, record);
}

/* Those that take no part in anchors are the main thread's, which counts the bad ones, too. */
struct sampler_handler anchor_link_handler(struct anchor_link *link)
{
	return (struct sampler_handler){
		.sample = on_sample,
		.task = on_task,
		.ctx = link,
	};
}

/* ---- questions -------------------------------------------------------------------------------- */

static int access_ask(void *ctx, const struct probe_request *r, const int fds[2],
		      probe_done_fn done, void *done_ctx)
{
	struct anchor_link *l = ctx;

	return prober__ask(l->prober, PROBER_LATER, r, fds, 2, done, done_ctx);
}

static void access_forget(void *ctx, const void *done_ctx)
{
	struct anchor_link *l = ctx;

	if (l->prober)
		prober__forget(l->prober, done_ctx);
}

static int access_add(void *ctx, const struct record_sample *record, __u32 *slot)
{
	struct anchor_link *l = ctx;

	return sampler__add_thread(l->sampler, record, slot);
}

static void access_remove(void *ctx, __u32 slot, pid_t tid, __u64 start_ns)
{
	struct anchor_link *l = ctx;

	sampler__remove_thread(l->sampler, slot, tid, start_ns);
}

static int access_tie(void *ctx, __u32 slot, pid_t tid, __u64 start_ns, __u32 anchor)
{
	struct anchor_link *l = ctx;

	return sampler__tie_anchor(l->sampler, slot, tid, start_ns, anchor);
}

struct anchor_access anchor_link_access(struct anchor_link *link)
{
	return (struct anchor_access){
		.ask = access_ask,
		.forget = access_forget,
		.add = access_add,
		.remove = access_remove,
		.tie = access_tie,
		.ctx = link,
	};
}
