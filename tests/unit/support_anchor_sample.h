/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_sample.h - the kernel side of support_anchor_run.h: a sample as sampler.bpf.c
 * takes it, and the whole run. Part of test_anchor.c, which includes it.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_SAMPLE_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_SAMPLE_H

#include "support_anchor_run.h"

static int read_model(void *ctx, __u64 addr, void *dst, size_t size)
{
	int err = model_read(run.m, dst, (__u32)size, addr);

	if (run.fault_after && !--run.fault_after)
		return -EFAULT;
	interleave();
	return err;
}

static const struct memory model_memory = { .read = read_model };

static void plan_anchor(struct anchor *a, struct anchor_plan *plan, const __u8 *window,
			__u64 early_epoch)
{
	const struct py_offsets *off = &run.m->offsets;

	plan->lpf_addr = window_u64(window, off->thread.last_profiled_frame, THREAD_WINDOW_MASK);
	plan->seq = window_u64(window, off->thread.last_profiled_frame_seq, THREAD_WINDOW_MASK);
	plan->audit_every = AUDIT_EVERY;
	plan->epoch = without.check == MUTANT_READ_AFTER ? early_epoch : a->epoch;
	anchor_decide(a, plan);
	anchor_aim(plan, &run.walker);
}

static void emit(struct side *x, const struct anchor_plan *plan)
{
	struct record *r = &run.record;

	if (run.queue_cnt == QUEUE || one_in(24)) {
		run.dropped++;
		if (r->sample.anchor == ANCHOR_NOTE_CONFIRM)
			anchor_unsent(&x->anchor, plan);
		return;
	}
	run.queue[(run.queue_at + run.queue_cnt++) % QUEUE] = *r;
}

static void note_anchor(struct record_sample *record, const struct anchor_plan *plan)
{
	record->anchor = plan->note;
	record->anchor_epoch = plan->epoch;
	record->anchor_steps = plan->steps;
	record->anchor_index = run.walker.mark_index;
	run.notes[plan->note]++;
	run.slid_confirms += plan->note == ANCHOR_NOTE_CONFIRM && plan->steps;
}

static void begin_record(struct record_sample *record, const struct model_thread *t)
{
	const struct model_state *s = &t->states[t->active];

	*record = (struct record_sample){
		.type = RECORD_SAMPLE,
		.pid = 99,
		.tid = 100 + t->index,
		.thread_start_ns = t->start_ns,
		.tstate_addr = s->addr,
		.interp_addr = s->interp_addr,
		.thread_ptr = t->thread_id,
	};
}

static void walk(struct record_sample *record, const __u8 *window, struct side *x,
		 struct anchor_plan *plan, __u64 early_epoch)
{
	const struct py_offsets *off = &run.m->offsets;
	struct walker *w = &run.walker;

	w->memory = &model_memory;
	walk_begin(w, window_u64(window, off->thread.current_frame, THREAD_WINDOW_MASK),
		   window_u64(window, off->thread.base_frame, THREAD_WINDOW_MASK), 0);
	if (x)
		plan_anchor(&x->anchor, plan, window, early_epoch);
	w->reason = REASON_DEPTH;
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		if (walk_step(w, off, run.record.frames))
			break;
	}
	if (x) {
		run.cut_audits += plan->audit;
		anchor_shorten(plan, w);
		run.cut_audits -= plan->audit;
	}
	record->reason = w->reason;
	record->cnt[SECTION_FRAMES] = w->frame_cnt;
	assert_true(w->reason == REASON_PYTHON || w->reason == REASON_DEPTH ||
		    w->reason == REASON_FRAME_FAULT);
	if (!x)
		return;
	anchor_settle(&x->anchor, plan, w);
	note_anchor(record, plan);
}

static void sample(struct model_thread *t)
{
	struct side *x = &run.sides[t->index], *with = x->start_ns == t->start_ns ? x : NULL;
	struct anchor_plan plan = { .tstate_addr = model_active(t)->addr };
	__u64 early_epoch = x->anchor.epoch;
	__u8 window[WINDOW_SIZE(KRAIT_THREAD_WINDOW)];

	run.samples++;
	run.sampled = t;
	run.fault_after = 0;
	interleave();
	begin_record(&run.record.sample, t);
	run.record.thread = t->index;
	run.record.truth = *model_truth(t);
	x->untouched[t->active] = model_active(t)->birth;
	if (memory_read(&model_memory, plan.tstate_addr, window, KRAIT_THREAD_WINDOW))
		abort();
	run.fault_after = one_in(24) ? 1 + model_below(&run.m->rng, 40) : 0;
	walk(&run.record.sample, window, with, &plan, early_epoch);
	run.sampled = NULL;
	run.fault_after = 0;
	emit(x, &plan);
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void between(void *context, struct model_thread *t)
{
	if (one_in(2000)) {
		run.sample_chance = 3U << model_below(&run.m->rng, 6);
		run.user_patience = one_in(3) ? 2 : 1;
	}
	if (model_active(t)->addr && one_in(run.sample_chance))
		sample(t);
	while (one_in(2))
		user_step(true);
	if (run.with_strangers && one_in(run.stranger_chance))
		stranger_writes(t);
}

static void run_begin(__u64 seed, const struct without *w)
{
	memset(&run, 0, sizeof(run));
	without = *w;
	run.m = model_new(seed);
	run.stacks = stacks__new();
	assert_non_null(run.stacks);
	run.m->restless = seed % 2 == 0;
	run.m->between = between;
	run.with_strangers = true;
	run.sample_chance = 8;
	run.stranger_chance = 400;
	run.user_patience = 1;
	for (int i = 0; i < MODEL_THREADS; i++) {
		run.sides[i].writer.anchor = &run.sides[i].anchor;
		run.sides[i].writer.mutant = w->writer;
	}
}

static void run_end(void)
{
	for (int i = 0; i < MODEL_THREADS; i++)
		stacks__forget(run.stacks, &run.sides[i].stack);
	stacks__free(run.stacks);
	model_free(run.m);
	without = (struct without){ 0 };
}

static __u64 mismatched(void)
{
	return stacks__stats(run.stacks)->mismatched;
}

/* Counts writes into the wrong thread states. */
static __u64 strays(void)
{
	return run.sides[0].writer.strays + run.sides[1].writer.strays;
}

static __u64 failures(void)
{
	return run.wrong + run.lost + mismatched() + strays();
}

static void run_steps(__u64 steps, __u64 (*is_over)(void))
{
	while (run.m->steps < steps && !is_over())
		model_run(run.m, &run.m->threads[model_below(&run.m->rng, MODEL_THREADS)]);
}

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_SAMPLE_H */
