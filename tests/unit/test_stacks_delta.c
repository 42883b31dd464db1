/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stacks_delta.c - whole stacks from deltas: what the base provides, and when there is no
 * base.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/stack/stacks.h"

#define EPOCH 5

struct fixture {
	struct stacks *stacks;
	struct last_stack *last[2]; /* of two threads */
	int thread;
	struct record_sample event;
	struct frame frames[64];
	struct stack *stack;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	x->stacks = stacks__new();
	x->event = (struct record_sample){ .anchor_epoch = EPOCH };
	*state = x;
	return x->stacks ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	for (int i = 0; i < 2; i++)
		stacks__forget(x->stacks, &x->last[i]);
	stacks__free(x->stacks);
	free(x);
	return 0;
}

/* A letter is a frame; a capital is the same frame at another instruction. */
static struct frame frame_of(char name)
{
	char low = name | 0x20;

	return (struct frame){ .code_addr = 0x1000 + (__u64)low,
			       .frame_addr = 16 * (__u64)low,
			       .instr_off = name };
}

/* Merges a record of the named frames, root side first; anchor also counts from the root side. */
static int merge(struct fixture *x, __u8 note, const char *names, int anchor, __u32 steps)
{
	__u32 cnt = x->event.cnt[SECTION_FRAMES] = strlen(names);

	x->event.anchor = note;
	x->event.anchor_index = anchor < 0 ? 0 : cnt - 1 - (__u32)anchor;
	x->event.anchor_steps = steps;
	for (__u32 i = 0; i < cnt; i++)
		x->frames[i] = frame_of(names[cnt - 1 - i]);
	return stacks__merge(x->stacks, &x->last[x->thread], &x->event, x->frames, &x->stack);
}

static void full(struct fixture *x, const char *names)
{
	assert_int_equal(merge(x, ANCHOR_NOTE_NONE, names, -1, 0), 0);
}

/* The base is "abcd", with d as the anchor. */
static void confirm(struct fixture *x)
{
	assert_int_equal(merge(x, ANCHOR_NOTE_CONFIRM, "abcdef", 3, 0), 0);
}

static int delta(struct fixture *x, const char *names, __u32 steps)
{
	return merge(x, ANCHOR_NOTE_DELTA, names, 0, steps);
}

static void assert_stack(struct fixture *x, const char *names)
{
	assert_int_equal(x->stack->cnt, strlen(names));
	for (__u32 i = 0; i < x->stack->cnt; i++) {
		struct frame expected = frame_of(names[i]);

		assert_memory_equal(&x->stack->frames[i], &expected, sizeof(expected));
	}
}

static void a_delta_stands_on_its_base(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	assert_int_equal(delta(x, "dxyz", 0), 0);
	assert_stack(x, "abcdxyz");
	assert_int_equal(x->stack->reused, 3);
}

static void the_anchor_itself_is_as_in_the_record(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	assert_int_equal(delta(x, "Dx", 0), 0);
	assert_stack(x, "abcDx");
	assert_int_equal(x->stack->reused, 3);
}

static void after_a_slide_less_of_the_base_is_used(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	assert_int_equal(delta(x, "Cxy", 1), 0);
	assert_stack(x, "abCxy");
	assert_int_equal(delta(x, "A", 3), 0);
	assert_stack(x, "A");
}

static void full_walks_in_between_do_not_harm_the_base(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	full(x, "pqrstuvw");
	assert_int_equal(delta(x, "dx", 0), 0);
	assert_stack(x, "abcdx");
	full(x, "ab");
	assert_int_equal(delta(x, "Cx", 1), 0);
	assert_stack(x, "abCx");
}

static void refuse(struct fixture *x, const char *names, __u32 steps)
{
	assert_int_equal(delta(x, names, steps), -ESTALE);
}

static void without_its_base_a_delta_is_refused(void **state)
{
	struct fixture *x = *state;

	refuse(x, "dx", 0);
	full(x, "abcdef");
	refuse(x, "dx", 0);
	confirm(x);
	x->event.anchor_epoch++;
	refuse(x, "dx", 0);
	confirm(x);
	refuse(x, "ax", 4);
	confirm(x);
	refuse(x, "cx", 0);
	confirm(x);
	refuse(x, "", 0);
	/* After a refusal the base is gone. */
	refuse(x, "dx", 0);
}

static void an_anchor_that_is_over_takes_its_base_along(void **state)
{
	static const __u8 notes[] = { ANCHOR_NOTE_SLID, ANCHOR_NOTE_FOREIGN };
	struct fixture *x = *state;

	for (int i = 0; i < 2; i++) {
		confirm(x);
		assert_int_equal(merge(x, notes[i], "abcdef", -1, 0), 0);
		refuse(x, "dx", 0);
	}
}

static void other_threads_have_other_bases(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	x->thread = 1;
	refuse(x, "dx", 0);
	x->thread = 0;
	assert_int_equal(delta(x, "dx", 0), 0);
	stacks__forget(x->stacks, &x->last[0]);
	refuse(x, "dx", 0);
}

static void an_audit_compares_what_the_base_would_have_given(void **state)
{
	static const struct {
		const char *names;
		int anchor;
		__u32 steps;
		bool mismatch;
	} audits[] = {
		{ "abcdxy", 3, 0, false }, { "abcDxy", 3, 0, false }, { "abCxy", 2, 1, false },
		{ "abxd", 3, 0, true },	   { "aBcdxy", 3, 0, true },  { "bcdxy", 2, 0, true },
		{ "xabcd", 4, 0, true },   { "abcdxy", 3, 1, true },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(audits) / sizeof(*audits); i++) {
		confirm(x);
		assert_int_equal(merge(x, ANCHOR_NOTE_AUDIT, audits[i].names, audits[i].anchor,
				       audits[i].steps),
				 0);
		assert_stack(x, audits[i].names);
		assert_int_equal(x->stack->mismatch, audits[i].mismatch);
		if (audits[i].mismatch)
			refuse(x, "dx", 0);
	}
	assert_int_equal(stacks__stats(x->stacks)->audited, 8);
	assert_int_equal(stacks__stats(x->stacks)->mismatched, 5);
}

/* Returns how many frames are unchanged since the consumer took the last stack; takes this one. */
static __u32 kept(struct fixture *x)
{
	__u32 cnt = x->stack->kept;

	x->stack->kept = x->stack->cnt;
	return cnt;
}

static void frames_of_the_base_are_kept_while_they_are_there(void **state)
{
	struct fixture *x = *state;

	confirm(x);
	assert_int_equal(kept(x), 0);
	assert_int_equal(delta(x, "dxy", 0), 0);
	assert_int_equal(kept(x), 4);
	assert_int_equal(delta(x, "dxy", 0), 0);
	assert_int_equal(kept(x), 6);
	full(x, "abqr");
	assert_int_equal(kept(x), 2);
	/* They come back from the base: they were not there. */
	assert_int_equal(delta(x, "dx", 0), 0);
	assert_int_equal(kept(x), 2);
}

static void the_counters_add_up(void **state)
{
	struct fixture *x = *state;
	const struct stacks_stats *s = stacks__stats(x->stacks);

	confirm(x);
	assert_int_equal(delta(x, "dxy", 0), 0);
	assert_int_equal(delta(x, "cx", 1), 0);
	refuse(x, "q", 0);
	assert_int_equal(s->full + 10 * s->delta, 21);
	assert_int_equal(s->confirmed + 10 * s->no_base, 11);
	assert_int_equal(s->frames_new, 6 + 3 + 2);
	assert_int_equal(s->frames_reused, 3 + 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_delta_stands_on_its_base),
		T(the_anchor_itself_is_as_in_the_record),
		T(after_a_slide_less_of_the_base_is_used),
		T(full_walks_in_between_do_not_harm_the_base),
		T(without_its_base_a_delta_is_refused),
		T(an_anchor_that_is_over_takes_its_base_along),
		T(other_threads_have_other_bases),
		T(an_audit_compares_what_the_base_would_have_given),
		T(frames_of_the_base_are_kept_while_they_are_there),
		T(the_counters_add_up),
	};

	return cmocka_run_group_tests_name("stacks: delta", tests, NULL, NULL);
}
