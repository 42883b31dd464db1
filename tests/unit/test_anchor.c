/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_anchor.c - the anchor protocol (bpf/python/anchor.h, bpf/python/walk.h, user/record/stack/stacks.c) on a model of
 * the interpreter: every resulting stack is the true one, whatever happens between two stores:
 * delayed writes of our own writer, lost records and threads, faults, another profiler. With any
 * one of its checks removed, wrong stacks appear or deltas get lost.
 *
 * Assumption about the other profiler: between two samples of a thread state it writes at most
 * once, and only 0 or an address on the stack at that time. (Two writes can undo each other; a dead
 * frame's address can come alive elsewhere, be popped and restore the anchor by chance.
 * KRAIT_DEAD=1 allows those writes, too.)
 *
 * Environment: KRAIT_SEED, KRAIT_STEPS (of the interpreters, in each of two runs).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_anchor_sample.h"
#include "support_sanitized.h"

#define STEPS (SANITIZED ? 1000000 : is_short() ? 3000000 : 10000000)
/* A mutant must show itself within so many programs of so many steps. */
#define MUTANT_RUNS 100
#define MUTANT_STEPS 100000

static __u64 number_from(const char *name, __u64 otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void report(void)
{
	const __u64 *n = run.notes;

	printf("# %llu steps, %llu pops, %llu slides; %llu samples: %llu complete, %llu truncated,"
	       " %llu dropped\n",
	       run.m->steps, run.m->pops, run.m->slides, run.samples, run.complete, run.truncated,
	       run.dropped);
	printf("# %llu deltas, %llu confirmed after slides of %llu, %llu audits and %llu"
	       " that were too deep, %llu slid off, %llu foreign after %llu writes of the other\n",
	       n[ANCHOR_NOTE_DELTA], run.slid_confirms, n[ANCHOR_NOTE_CONFIRM],
	       n[ANCHOR_NOTE_AUDIT], run.cut_audits, n[ANCHOR_NOTE_SLID], n[ANCHOR_NOTE_FOREIGN],
	       run.foreign_writes);
	printf("# %llu writes, %llu too late; %llu threads forgotten, %llu deltas lost for that\n",
	       run.sides[0].writer.writes + run.sides[1].writer.writes,
	       run.sides[0].writer.stale + run.sides[1].writer.stale, run.evicted,
	       run.lost_explained);
	printf("# wrong %llu, lost %llu, mismatched %llu\n", run.wrong, run.lost, mismatched());
}

/* A run with too few events proves nothing. */
static void check_effect(__u64 steps)
{
	__u64 least = steps / 10000;

	assert_true(run.notes[ANCHOR_NOTE_DELTA] > 5 * least);
	assert_true(run.slid_confirms > least);
	assert_true(run.notes[ANCHOR_NOTE_CONFIRM] > least);
	assert_true(run.notes[ANCHOR_NOTE_AUDIT] > least / 4);
	assert_true(run.notes[ANCHOR_NOTE_SLID] > least);
	assert_true(run.notes[ANCHOR_NOTE_FOREIGN] > least);
	assert_true(run.truncated > least / 4);
	assert_true(run.dropped > least);
}

static void check_run(__u64 seed)
{
	__u64 steps = number_from("KRAIT_STEPS", STEPS);

	printf("# KRAIT_SEED=%llu\n", seed);
	run_begin(seed, &(struct without){ 0 });
	run_steps(steps, failures);
	report();
	assert_int_equal(failures(), 0);
	check_effect(steps);
	run_end();
}

/* An even seed gives shallow stacks and restless thread states, an odd one deep stacks. */
static void every_stack_of_deep_programs_is_true(void **state)
{
	check_run(number_from("KRAIT_SEED", 1) | 1);
}

static void every_stack_of_restless_programs_is_true(void **state)
{
	check_run((number_from("KRAIT_SEED", 1) + 1) & ~1ULL);
}

/* ---- without a check -------------------------------------------------------------------------- */

static __u64 wrong(void)
{
	return run.wrong;
}

static void check_mutant(const struct without *w)
{
	__u64 first = w->seed ? w->seed : 1, steps = 0;

	for (__u64 seed = first; seed < first + MUTANT_RUNS; seed++) {
		run_begin(seed, w);
		run_steps(MUTANT_STEPS, w->wrong ? wrong : failures);
		steps += run.m->steps;
		if (w->wrong ? run.wrong : failures()) {
			printf("# without %s: after %llu steps: %llu wrong, %llu lost, "
			       "%llu mismatched, %llu astray\n",
			       w->name, steps, run.wrong, run.lost, mismatched(), strays());
			run_end();
			return;
		}
		run_end();
	}
	printf("# without %s: nothing wrong in %llu steps\n", w->name, steps);
	fail();
}

/*
 * NOT_SLID, the full walk after a slide, is not included: without it the model is wrong only once
 * in 40 million steps (5 wrong and 2 lost in 2 x 100 million, with late foreign writes of dead
 * frames).
 */
static void every_check_is_needed(void **state)
{
	/* Two that show themselves rarely begin with a program in which they do. */
	static const struct without mutants[] = {
		{ "the address in the chain", MUTANT_CHAIN_ADDR },
		{ "epoch 0", MUTANT_EPOCH_SET },
		{ "a new state for a new epoch", MUTANT_EPOCH_SAME },
		{ "the second look at the epoch", MUTANT_EPOCH_STILL, .seed = 21 },
		{ "meeting the anchor", MUTANT_MET },
		{ "the whole chain", MUTANT_WHOLE, .wrong = true },
		{ "a record that is sent", MUTANT_SENT },
		{ "the end at entry frames", MUTANT_ENTRY_FRAME, .wrong = true },
		/* Each of these two is backed up by another check. */
		{ "a record that is sent and its epoch", MUTANT_SENT, MUTANT_BASE_EPOCH,
		  .wrong = true },
		{ "the epoch read after the thread", MUTANT_READ_AFTER, MUTANT_EPOCH_STILL,
		  .seed = 3 },
		{ "the writer's look at the identity", .writer = WRITER_NO_IDENTITY },
		{ "the writer's epoch 0", .writer = WRITER_NO_ZERO },
		{ "the writer's epoch at the end", .writer = WRITER_EPOCH_FIRST },
	};

	for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++)
		check_mutant(&mutants[i]);
}

/* ---- another thread state --------------------------------------------------------------------- */

static void quiet(void *context, struct model_thread *t)
{
}

static void write_anchor(struct model_thread *t, __u64 frame_addr)
{
	struct writer *w = &run.sides[t->index].writer;

	w->state_addr = model_active(t)->addr;
	w->interp_addr = model_active(t)->interp_addr;
	w->thread_id = t->thread_id;
	w->addrs[0] = frame_addr;
	w->addr_cnt = 1;
	w->pending = true;
	while (w->pending)
		writer_step(w, run.m);
}

static void sample_and_read(struct model_thread *t)
{
	sample(t);
	while (run.queue_cnt)
		user_step(true);
}

/*
 * A late write leaves a dead frame in one thread state's slot; a frame at the same address is
 * confirmed in another state of the same thread; then the first state has a frame there, too.
 */
static void alternate_states(__u64 seed, const struct without *w)
{
	struct model_thread *t;
	__u64 addr;

	run_begin(seed, w);
	run.m->between = quiet;
	run.with_strangers = false;
	t = &run.m->threads[0];
	sample_and_read(t);
	model_call(run.m, t, true);
	addr = model_truth(t)->nodes[2].frame_addr;
	model_pop(run.m, t);
	write_anchor(t, addr);
	model_enter_state(run.m, t);
	model_call(run.m, t, true);
	write_anchor(t, addr);
	sample_and_read(t);
	model_pop(run.m, t);
	model_leave_state(run.m, t);
	model_call(run.m, t, true);
	sample_and_read(t);
}

static void an_anchor_is_good_for_its_own_thread_state_only(void **state)
{
	const struct without none = { 0 }, mutant_of = { "", MUTANT_THREAD_STATE };
	__u64 wrong_cnt = 0;

	for (__u64 seed = 1; seed <= 100; seed++) {
		alternate_states(seed, &none);
		assert_int_equal(failures(), 0);
		run_end();
		alternate_states(seed, &mutant_of);
		wrong_cnt += run.wrong;
		run_end();
	}
	printf("# without the thread state: wrong in %llu of 100\n", wrong_cnt);
	assert_true(wrong_cnt > 0);
}

/* ---- too deep --------------------------------------------------------------------------------- */

static void call_to(struct model_thread *t, __u32 depth)
{
	while (model_truth(t)->cnt < depth)
		assert_true(model_call(run.m, t, false));
}

/* The stack exceeds what a full walk can hold, but the part up to its anchor does not. */
static void an_audit_that_cannot_reach_the_root_is_a_delta(void **state)
{
	struct model_thread *t;

	run_begin(1, &(struct without){ 0 });
	run.m->between = quiet;
	run.with_strangers = false;
	t = &run.m->threads[0];
	call_to(t, 40);
	write_anchor(t, model_truth(t)->nodes[model_truth(t)->cnt - 20].frame_addr);
	for (int i = 0; i < 8 * AUDIT_EVERY; i++) {
		sample_and_read(t);
		if (run.notes[ANCHOR_NOTE_DELTA] == 1)
			call_to(t, KRAIT_MAX_FRAMES + 6);
	}
	assert_int_equal(failures(), 0);
	assert_int_equal(run.truncated, 0);
	assert_true(run.cut_audits > 0);
	assert_int_equal(run.notes[ANCHOR_NOTE_AUDIT], 0);
	run_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stack_of_deep_programs_is_true),
		cmocka_unit_test(every_stack_of_restless_programs_is_true),
		cmocka_unit_test(every_check_is_needed),
		cmocka_unit_test(an_anchor_is_good_for_its_own_thread_state_only),
		cmocka_unit_test(an_audit_that_cannot_reach_the_root_is_a_delta),
	};

	return cmocka_run_group_tests_name("anchor", tests, NULL, NULL);
}
