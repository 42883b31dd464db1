/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_run.h - both sides of the anchor protocol over the model: the kernel side's real
 * headers and the user side's real merging, each check of which can be removed; a second profiler;
 * and losses between the two sides. Part of test_anchor.c, which includes it.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_RUN_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_RUN_H

#include "support_anchor_model.h"
#include "support_anchor_writer.h"

/* Small, so that stacks get too deep and chains longer than an anchor can slide. */
#undef KRAIT_MAX_FRAMES
#define KRAIT_MAX_FRAMES 64
#undef KRAIT_ANCHOR_FRAMES
#define KRAIT_ANCHOR_FRAMES 16
#define AUDIT_EVERY 8
#define ANCHOR_AUDIT_DEPTH 24
#define QUEUE 32

enum mutant {
	MUTANT_NONE,
	MUTANT_CHAIN_ADDR,
	MUTANT_NOT_SLID,
	MUTANT_EPOCH_SET,
	MUTANT_THREAD_STATE,
	MUTANT_EPOCH_SAME,
	MUTANT_EPOCH_STILL,
	MUTANT_MET,
	MUTANT_WHOLE,
	MUTANT_SENT,
	MUTANT_ENTRY_FRAME,
	MUTANT_BASE_EPOCH,
	MUTANT_CFRAME, /* of 3.11 and 3.12, which have no anchors */
	MUTANT_READ_AFTER, /* reads the epoch before the thread state instead of after it */
};

/* What to remove. */
struct without {
	const char *name;
	enum mutant check, second_check;
	enum writer_mutant writer;
	bool wrong; /* expects wrong stacks; otherwise they may also be refused */
	__u64 seed; /* of the first program to try; 0: 1 */
};

static struct without without;
static void interleave(void);

static bool is_away(enum mutant check)
{
	interleave();
	return check == without.check || check == without.second_check;
}

/* A removed check lets everything pass; a lost record counts as not lost. */
#define CHECK(name, condition)                                                                     \
	(is_away(MUTANT_##name) ? MUTANT_##name != MUTANT_SENT : !!(condition))
#define ANCHOR_CHECK(name, condition) CHECK(name, condition)
#define WALK_CHECK(name, condition) CHECK(name, condition)
#define STACKS_CHECK(name, condition) CHECK(name, condition)

#include "bpf/python/fingerprint.h"
#include "bpf/read.h"
#include "bpf/python/walk.h"
#include "bpf/python/anchor.h"
#include "../../user/record/stack/stacks.c"

struct record {
	struct record_sample sample;
	struct frame frames[KRAIT_MAX_FRAMES];
	struct model_chain truth;
	__u32 thread;
};

/* What kernel and user space know about a thread. */
struct side {
	struct anchor anchor;
	struct writer writer;
	__u64 start_ns; /* whose anchor and stack they are */
	struct last_stack *stack;
	__u64 evicted_start_ns; /* whose stack user space has forgotten */
	/* the state's birth, if nobody has written to it since a sample */
	__u64 untouched[MODEL_STATES];
};

static struct run {
	struct model *m;
	struct stacks *stacks;
	struct side sides[MODEL_THREADS];
	struct model_thread *sampled; /* the thread inside whose sample we are */
	struct record queue[QUEUE];
	__u32 queue_at, queue_cnt;
	bool with_strangers;
	__u32 fault_after; /* reads */
	__u32 sample_chance, user_patience, stranger_chance; /* one in so many; varies */
	struct walker walker;
	struct record record;
	__u64 samples, complete, truncated, dropped, deltas_over, wrong, lost, lost_explained,
		evicted;
	__u64 foreign_writes, notes[ANCHOR_NOTE_CNT], frames_kept, slid_confirms;
	__u64 cut_audits; /* for stacks too deep for it */
} run;

static bool one_in(__u32 n)
{
	return !model_below(&run.m->rng, n);
}

/* Returns a recently popped frame's address, in either thread state. */
static __u64 dead_addr(const struct model_thread *t)
{
	return t->states[model_below(&run.m->rng, MODEL_STATES)]
		.popped_addr[model_below(&run.m->rng, MODEL_POPPED)];
}

/* ---- the other profiler ----------------------------------------------------------------------- */

/*
 * Writes at most once to a thread state between two of our samples of it. (Two writes can undo each
 * other, which would hide the pops in between.) A thread state that is new since the last sample
 * counts as written to.
 */
static void stranger_writes(struct model_thread *t)
{
	__u32 which = model_below(&run.m->rng, MODEL_STATES), node;
	struct model_state *s = &t->states[which];
	struct model_chain *c;
	__u64 addr = 0;

	if (!s->addr || run.sides[t->index].untouched[which] != s->birth)
		return;
	c = &s->greenlets[s->running].chain;
	node = model_below(&run.m->rng, c->cnt);
	switch (model_below(&run.m->rng, 4)) {
	case 0:
		break;
	case 1:
		addr = dead_addr(t);
		break;
	default:
		addr = c->nodes[node].frame_addr;
	}
	run.sides[t->index].untouched[which] = 0;
	run.foreign_writes++;
	model_put(run.m, s->addr + (__u64)run.m->offsets.thread.last_profiled_frame, addr);
}

/* ---- user space ------------------------------------------------------------------------------- */

static void decide(struct side *x, const struct record *r, const struct stack *stack)
{
	struct writer *w = &x->writer;
	__u32 at = stack->survived ? stack->survived - 1 : 0;

	if (w->pending || !stack->cnt || !one_in(6))
		return;
	if (one_in(3) || at >= stack->cnt)
		at = model_below(&run.m->rng, stack->cnt);
	w->addr_cnt = 0;
	for (int i = (int)at; i >= 0 && w->addr_cnt < KRAIT_ANCHOR_FRAMES; i--) {
		if (!stack->frames[i].code_addr)
			break;
		w->addrs[w->addr_cnt++] = stack->frames[i].frame_addr;
	}
	if (!w->addr_cnt)
		return;
	if (one_in(20))
		w->addrs[0] = dead_addr(&run.m->threads[r->thread]);
	if (one_in(20))
		w->addr_cnt = 1 + model_below(&run.m->rng, w->addr_cnt);
	w->state_addr = r->sample.tstate_addr;
	w->interp_addr = r->sample.interp_addr;
	w->thread_id = r->sample.thread_ptr;
	w->pending = true;
}

static bool is_true(const struct stack *stack, const struct frame *truth)
{
	return !stack->cnt || !memcmp(stack->frames, truth, stack->cnt * sizeof(*truth));
}

static void judge(const struct record *r, const struct stack *stack)
{
	const struct model_chain *truth = &r->truth;
	bool is_whole = reason_outcome(r->sample.reason) == OUTCOME_COMPLETE;

	run.complete += is_whole;
	run.truncated += !is_whole;
	if (stack->cnt > truth->cnt || (is_whole && stack->cnt != truth->cnt) ||
	    !is_true(stack, truth->nodes + truth->cnt - stack->cnt))
		run.wrong++;
}

static void consume(const struct record *r)
{
	struct side *x = &run.sides[r->thread];
	struct stack *stack;
	int err;

	if (x->start_ns != r->sample.thread_start_ns) {
		writer_forget(&x->writer);
		stacks__forget(run.stacks, &x->stack);
		x->start_ns = r->sample.thread_start_ns;
	}
	if (one_in(500)) {
		stacks__forget(run.stacks, &x->stack);
		x->evicted_start_ns = x->start_ns;
		run.evicted++;
	}
	err = stacks__merge(run.stacks, &x->stack, &r->sample, r->frames, &stack);
	if (err) {
		if (x->evicted_start_ns == x->start_ns)
			run.lost_explained++;
		else
			run.lost++;
		x->anchor.epoch = 0;
		return;
	}
	if (r->sample.anchor == ANCHOR_NOTE_CONFIRM)
		x->evicted_start_ns = 0;
	run.frames_kept += stack->reused;
	judge(r, stack);
	decide(x, r, stack);
}

/* One store by user space, or one record. It is single-threaded: a write is never interrupted. */
static void user_step(bool may_read)
{
	__u32 i = model_below(&run.m->rng, MODEL_THREADS);

	for (int j = 0; j < MODEL_THREADS; j++) {
		if (run.sides[j].writer.stage) {
			writer_step(&run.sides[j].writer, run.m);
			return;
		}
	}
	if (run.sides[i].writer.pending && one_in(8)) {
		writer_step(&run.sides[i].writer, run.m);
	} else if (may_read && run.queue_cnt) {
		consume(&run.queue[run.queue_at]);
		run.queue_at = (run.queue_at + 1) % QUEUE;
		run.queue_cnt--;
	}
}

/* Within a sample, the other parties go on. */
static void interleave(void)
{
	if (!run.sampled)
		return;
	while (!one_in(run.user_patience))
		user_step(false);
	if (run.with_strangers && one_in(2000))
		stranger_writes(run.sampled);
}

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_RUN_H */
