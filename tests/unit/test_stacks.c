/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stacks.c - whole stacks from full records: what is kept, and for whom. test_stacks_delta.c
 * and test_anchor.c cover deltas.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/data/vec.h"
#include "record/stack/stacks.h"

#define TID 101

struct fixture {
	struct stacks *stacks;
	struct last_stack *last[8192]; /* by tid */
	struct record_sample event;
	struct frame frames[KRAIT_MAX_FRAMES]; /* leaf first, as in a record */
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	x->stacks = stacks__new();
	x->event = (struct record_sample){ .tid = TID, .thread_start_ns = 7 };
	*state = x;
	return x->stacks ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	for (int i = 0; i < 8192; i++)
		stacks__forget(x->stacks, &x->last[i]);
	stacks__free(x->stacks);
	free(x);
	return 0;
}

static struct frame frame_of(char name)
{
	return (struct frame){ .code_addr = 0x1000 + (__u64)name,
			       .frame_addr = 0x7f0000 + 16 * (__u64)name,
			       .instr_off = 2 * name };
}

static void reserve(struct named *n, __u32 cnt)
{
	assert_int_equal(vec_reserve(n->list, n->cap, cnt), 0);
}

/* Merges a stack named root first, one letter per frame, and checks the result. */
static struct stack *merge(struct fixture *x, const char *names)
{
	struct stack *stack = NULL;

	x->event.cnt[SECTION_FRAMES] = strlen(names);
	for (__u32 i = 0; i < x->event.cnt[SECTION_FRAMES]; i++)
		x->frames[i] = frame_of(names[x->event.cnt[SECTION_FRAMES] - 1 - i]);
	assert_int_equal(
		stacks__merge(x->stacks, &x->last[x->event.tid], &x->event, x->frames, &stack), 0);
	assert_int_equal(stack->cnt, strlen(names));
	for (__u32 i = 0; i < stack->cnt; i++) {
		struct frame expected = frame_of(names[i]);

		assert_memory_equal(&stack->frames[i], &expected, sizeof(expected));
	}
	return stack;
}

/* How many frames are unchanged since the consumer took the last stack; takes this one. */
static __u32 kept(struct fixture *x, const char *names)
{
	struct stack *stack = merge(x, names);
	__u32 cnt = stack->kept;

	stack->kept = stack->cnt;
	return cnt;
}

static void a_first_stack_keeps_nothing(void **state)
{
	assert_int_equal(kept(*state, "abc"), 0);
}

static void the_root_side_that_is_the_same_is_kept(void **state)
{
	struct fixture *x = *state;

	kept(x, "abcd");
	assert_int_equal(kept(x, "abcd"), 4);
	assert_int_equal(kept(x, "abcx"), 3);
	assert_int_equal(kept(x, "ab"), 2);
	assert_int_equal(kept(x, "abcd"), 2);
	assert_int_equal(kept(x, "xbcd"), 0);
	assert_int_equal(kept(x, "bcd"), 0);
	assert_int_equal(kept(x, ""), 0);
	assert_int_equal(kept(x, "bcd"), 0);
}

static void stacks_that_the_consumer_does_not_take_count_as_well(void **state)
{
	struct fixture *x = *state;

	kept(x, "abcd");
	merge(x, "abx");
	merge(x, "abcd");
	assert_int_equal(kept(x, "abcd"), 2);
	assert_int_equal(kept(x, "abcd"), 4);
}

static void any_difference_of_a_frame_ends_what_is_kept(void **state)
{
	struct fixture *x = *state;

	for (size_t byte = 0; byte < sizeof(struct frame); byte++) {
		struct stack *stack;

		kept(x, "abcd");
		((char *)&x->frames[1])[byte] ^= 1; /* c */
		assert_int_equal(stacks__merge(x->stacks, &x->last[x->event.tid], &x->event,
					       x->frames, &stack),
				 0);
		assert_int_equal(stack->kept, 2);
		assert_memory_equal(&stack->frames[2], &x->frames[1], sizeof(struct frame));
	}
}

static void a_frame_whose_position_has_moved_has_survived(void **state)
{
	struct fixture *x = *state;
	struct stack *stack;

	kept(x, "abcd");
	x->frames[1].instr_off += 2;
	x->frames[0].instr_off += 2;
	assert_int_equal(
		stacks__merge(x->stacks, &x->last[x->event.tid], &x->event, x->frames, &stack), 0);
	assert_int_equal(stack->kept, 2);
	assert_int_equal(stack->survived, 4);
	x->frames[1].frame_addr += 16;
	assert_int_equal(
		stacks__merge(x->stacks, &x->last[x->event.tid], &x->event, x->frames, &stack), 0);
	assert_int_equal(stack->survived, 2);
}

static void threads_do_not_mix(void **state)
{
	struct fixture *x = *state;

	kept(x, "abc");
	x->event.tid++;
	assert_int_equal(kept(x, "abc"), 0);
	kept(x, "axy");
	x->event.tid--;
	assert_int_equal(kept(x, "abc"), 3);
}

static void what_is_forgotten_is_gone(void **state)
{
	struct fixture *x = *state;

	kept(x, "abc");
	reserve(&merge(x, "abc")->named, 100);
	x->event.tid = TID + 1;
	kept(x, "abc");
	stacks__forget(x->stacks, &x->last[TID]);
	assert_null(x->last[TID]);
	stacks__forget(x->stacks, &x->last[TID + 77]);
	assert_int_equal(kept(x, "abc"), 3);
	x->event.tid = TID;
	assert_null(merge(x, "abc")->named.list);
	assert_int_equal(kept(x, "abc"), 0);
}

static void merge_deep(struct fixture *x, __u32 cnt)
{
	struct stack *stack;

	x->event.cnt[SECTION_FRAMES] = cnt;
	for (__u32 i = 0; i < cnt; i++)
		x->frames[i] = (struct frame){ .code_addr = 64 + i, .frame_addr = 640 + i };
	assert_int_equal(
		stacks__merge(x->stacks, &x->last[x->event.tid], &x->event, x->frames, &stack), 0);
	assert_int_equal(stack->cnt, cnt);
	assert_int_equal(stack->frames[0].code_addr, 64 + cnt - 1);
}

static void the_threads_sampled_longest_ago_are_forgotten_first(void **state)
{
	struct fixture *x = *state;
	const __u32 fit = STACKS_MAX_FRAMES / KRAIT_MAX_FRAMES;

	for (__u32 i = 0; i < fit; i++) {
		x->event.tid = 1000 + i;
		merge_deep(x, KRAIT_MAX_FRAMES);
	}
	assert_int_equal(stacks__stats(x->stacks)->evicted, 0);
	x->event.tid = 1000; /* samples the oldest one again */
	merge_deep(x, KRAIT_MAX_FRAMES);
	x->event.tid = 5000;
	merge_deep(x, KRAIT_MAX_FRAMES);
	assert_int_equal(stacks__stats(x->stacks)->evicted, 1);
	x->event.tid = 1000;
	merge_deep(x, KRAIT_MAX_FRAMES);
	assert_int_equal(stacks__stats(x->stacks)->evicted, 1);
	x->event.tid = 1001; /* this one had to go */
	merge_deep(x, 1);
	x->event.tid = 5000;
	merge_deep(x, KRAIT_MAX_FRAMES);
	assert_int_equal(stacks__stats(x->stacks)->evicted, 2);
}

static void what_was_named_takes_room_too(void **state)
{
	struct fixture *x = *state;

	merge_deep(x, 10);
	reserve(&merge(x, "abc")->named, STACKS_MAX_FRAMES);
	x->event.tid = 1000;
	merge_deep(x, 10);
	assert_int_equal(stacks__stats(x->stacks)->evicted, 0);
	x->event.tid = TID; /* where it is noticed */
	merge_deep(x, 10);
	x->event.tid = 1000;
	merge_deep(x, KRAIT_MAX_FRAMES);
	assert_true(stacks__stats(x->stacks)->evicted);
	assert_null(x->last[TID] && merge(x, "abc")->named.list ? x : NULL);
}

static void random_stacks_come_out_as_they_went_in(void **state)
{
	struct fixture *x = *state;
	char last[8][41] = { "" };
	unsigned seed = 42;

	for (int n = 0; n < 20000; n++) {
		int thread = rand_r(&seed) % 8, len = rand_r(&seed) % 40;
		__u32 same = 0;
		char names[41];

		for (int i = 0; i < len; i++)
			names[i] = last[thread][i] && rand_r(&seed) % 20 ? last[thread][i] :
									   'a' + rand_r(&seed) % 26;
		names[len] = '\0';
		while (names[same] && names[same] == last[thread][same])
			same++;
		x->event.tid = TID + thread;
		assert_int_equal(kept(x, names), same);
		strcpy(last[thread], names);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_first_stack_keeps_nothing),
		T(the_root_side_that_is_the_same_is_kept),
		T(stacks_that_the_consumer_does_not_take_count_as_well),
		T(any_difference_of_a_frame_ends_what_is_kept),
		T(a_frame_whose_position_has_moved_has_survived),
		T(threads_do_not_mix),
		T(what_is_forgotten_is_gone),
		T(the_threads_sampled_longest_ago_are_forgotten_first),
		T(what_was_named_takes_room_too),
		T(random_stacks_come_out_as_they_went_in),
	};

	return cmocka_run_group_tests_name("record/stack/stacks", tests, NULL, NULL);
}
