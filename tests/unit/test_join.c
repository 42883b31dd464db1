/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_join.c - native and Python frames become one stack by their stack addresses.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_drawing.h"

static void whole_stacks(void **state)
{
	static const struct drawing d[] = {
		{ "Python only, leaf in eval", "E5 E35 mm", "i40 i50 c60 c0", "2 3",
		  "c3 c2 i1 i0 2 3" },
		{ "leaf in an interpreter's helper", "E5 E35 m", "i10 i20 i40 c0", "2",
		  "c3 i2 2 i1 i0" },
		{ "leaf in an extension", "E5 E35 m", "x10 x20 i30 i40 c0", "2 x1 x0",
		  "c4 i3 2 i2 x1 x0" },
		{ "leaf in the C library, called by an extension", "E5 E35 m", "c10 x20 i40 c0",
		  "2 x1 c0" },
		{ "leaf in the kernel", "E5 E35 m", "c10 i40 c0", "2 c0 k1 k0", NULL, 2 },
		{ "five levels, leaf in Python", FIVE_PYTHON, FIVE_NATIVE,
		  "2 x9 4 5 x7 x6 7 x4 9 x1 11 12",
		  "c11 i10 2 x9 i8 4 5 x7 x6 i5 7 x4 i3 i2 9 x1 i0 11 12" },
		{ "five levels, leaf in C", FIVE_PYTHON, "x3 i7 " FIVE_NATIVE,
		  "2 x11 4 5 x9 x8 7 x6 9 x3 11 12 x0" },
		{ "an application that embeds Python", "E5 E35 m", "i40 i50 x60 x70 c80 c0",
		  "x3 x2 2", "c5 c4 x3 x2 i1 i0 2" },
		{ "no Python at all", "", "x10 x20 c30", "x1 x0" },
		{ "an idle thread", "E5", "c10 i20 c30", "c0" },
		{ "a frame that is being cleared", "E5 E35 mz", "i40 c0", "2 3" },
		{ "two entry frames in one native frame", "E5 E35 m E33 m", "x10 i40 c0", "2 4 x0",
		  "c2 i1 2 4 x0" },
		{ "_start has called the C library", "E5 E35 m", "i40 i50 c60 i0", "2",
		  "i3 c2 i1 i0 2" },
		{ "an application's _start", "E5 E35 m", "i40 x50 c60 x0", "x1 2" },
		{ "an eval loop in somebody's library", "E5 E35 m", "x40 i50 c0", "x0 2",
		  "c2 i1 x0 2" },
	};

	CHECK(d);
}

static void truncated_stacks(void **state)
{
	static const struct drawing d[] = {
		{ "only the leaf, in the interpreter", "E5 E35 mm", "i-", "2 3 /", "2 3 / i0", 0,
		  true, true },
		{ "only the leaf, in an extension", "E5 E35 mm", "x-", "2 3 / x0", "2 3 / x0", 0,
		  true, true },
		{ "the kernel, and no more", "E5 E35 m", "c-", "2 / c0 k0", NULL, 1, true, true },
		{ "two frames", "E5 E35 m", "x10 x-", "2 / x1 x0", NULL, 0, true, true },
		{ "ended by a zero that was no end", "E5 E35 m", "x10 x0", "2 ! x1 x0", NULL, 0,
		  false, true },
		{ "before the first eval", FIVE_PYTHON, "x-", "2 4 5 7 9 11 12 / x0", NULL, 0, true,
		  true },
		{ "behind the first eval", FIVE_PYTHON, "i20 x-", "2 4 5 7 9 / x1 11 12", NULL, 0,
		  true, true },
		{ "behind the first eval, nothing of others", FIVE_PYTHON, "i20 i-",
		  "2 4 5 7 9 / 11 12", NULL, 0, true, true },
		{ "behind the second", FIVE_PYTHON, "i20 x30 i40 i45 x-", "2 4 5 7 / x4 9 x1 11 12",
		  NULL, 0, true, true },
		{ "behind the third", FIVE_PYTHON, "i20 x30 i40 i45 x50 i60 x65 x-",
		  "2 4 5 / x7 x6 7 x4 9 x1 11 12", NULL, 0, true, true },
		{ "behind the fourth", FIVE_PYTHON, "i20 x30 i40 i45 x50 i60 x65 x70 i80 x-",
		  "2 / x9 4 5 x7 x6 7 x4 9 x1 11 12", NULL, 0, true, true },
		{ "behind the fifth, in the interpreter", FIVE_PYTHON,
		  "i20 x30 i40 i45 x50 i60 x65 x70 i80 x90 i100 i-",
		  "2 x9 4 5 x7 x6 7 x4 9 x1 11 12",
		  "/ i11 i10 2 x9 i8 4 5 x7 x6 i5 7 x4 i3 i2 9 x1 i0 11 12", 0, true, true },
		{ "behind the fifth, in the C library", FIVE_PYTHON,
		  "i20 x30 i40 i45 x50 i60 x65 x70 i80 x90 i100 c-",
		  "2 x9 4 5 x7 x6 7 x4 9 x1 11 12", NULL, 0, true, true },
		{ "entry frames that do not go up", "E5 E15 m E35 m", "i40 x60 i80 c0", "2 ! x1 4",
		  NULL, 0, false, true },
		{ "a Python chain without its root", "mm", "i20 x30 c0", "0 1 ! x1", NULL, 0, false,
		  true },
		{ "no native frame at all", "E5 E35 m", "", "2 /", NULL, 0, true, true },
		{ "no native frame below the kernel's", "E5 E35 m", "", "2 / k0", NULL, 1, true,
		  true },
	};

	CHECK(d);
}

/* Before 3.11. */
struct paired {
	const char *what, *python, *native;
	const char *evals; /* e: an evaluation, of one frame; ?: its role is not known yet */
	const char *result;
	bool has_frame, unevaluated;
};

static void check_paired(const struct paired *p, bool ended)
{
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	struct items items = { 0 };
	struct join j;
	__u8 origins[DRAWN_MAX];
	bool guessed[DRAWN_MAX], evals[DRAWN_MAX];
	char result[512];
	struct join_input in = {
		.frames = frames,
		.frame_cnt = drawn_python(p->python, frames),
		.natives = natives,
		.native_cnt = drawn_native(p->native, natives, origins, guessed),
		.origins = origins,
		.guessed = guessed,
		.evals = evals,
		.evals_known = (__u32)strcspn(p->evals, "?"),
		.has_frame = p->has_frame,
		.unevaluated = p->unevaluated,
		.evaluator = JOIN_NONE,
		.kernel = drawn_kernel,
		.cut = DRAWN_CUT,
		.taken = true,
		.ended = ended,
	};

	for (size_t k = 0; k < strlen(p->evals); k++)
		evals[k] = p->evals[k] == 'e';
	assert_int_equal(join_stacks(&in, &items, &j), 0);
	draw_items(result, sizeof(result), &items, origins);
	if (strcmp(result, p->result))
		fail_msg("%s: got \"%s\", want \"%s\"", p->what, result, p->result);
	if (ended && j.complete != !strchr(result, '!'))
		fail_msg("%s: complete is %d", p->what, j.complete);
	items_free(&items);
}

static void frames_are_paired_with_evaluations(void **state)
{
	static const struct paired whole[] = {
		{ "one each", "mmm", "i10 i20 i30 i40 i50 c60 c0", ".e.e.e.", "0 1 2" },
		{ "C between", "mmm", "x5 i10 x20 x30 i40 i50 x55 c60 i0", ".e..ee...",
		  "x6 0 1 x3 x2 2 x0" },
		{ "one is about to begin", "mm", "i10 i20 x25 i30 c0", "ee.e.", "0 x2 1" },
		{ "one too few", "mmm", "i10 x20 i30 c0", "e.e.", "0 1 2 ! x1" },
		{ "two too many", "m", "i10 i20 x25 i30 c0", "ee.e.", "0 ! x2" },
		{ "a greenlet", "mm", "i10 x20 i30 g40 i50 x60 i70 c0", "e.e.e.e.", "0 x1 1" },
		{ "it switches", "m", "g5 g10 i40 c0", "..e.", "0 ! g1 g0" },
		{ "a fibre", "mm", "x5 i10 x20 c0", ".e..", "0 1 ! x2 x0" },
		{ "no Python", "", "x10 c0", "..", "x0" },
		{ "a role not known yet", "mm", "i10 x20 i30 c0", "e.?.", "0 1 ! x1" },
	};
	static const struct paired cut[] = {
		{ "leaf in C", "mmmm", "x5 i10 x20 x30 i40 i50 x55 i60 i-", ".e..e..e.",
		  "0 / 1 x6 2 x3 x2 3 x0", true },
		{ "leaf in libc, in C at the end", "mmm", "c5 i10 i20 i30 x-", ".e.e.",
		  "0 / x4 1 2 c0", true },
		{ "all frames are there", "mm", "x5 i10 x20 i30 i-", ".e.e.", "0 x2 1 x0", true },
		{ "leaf in Python", "mmmmm", "i10 i20 i30 i40 i50 i60 i-", "e.e.e..",
		  "0 1 2 / 3 4" },
		{ "leaf in Python, C further down", "mmmmm", "i10 i20 i30 i40 x50 i60 i-",
		  "e.e..e.", "0 1 2 3 / 4" },
		{ "leaf in Python, called from C", "mmmm", "i5 i10 x15 i20 i30 i-", ".e.e..",
		  "0 1 2 / 3" },
		{ "one frame", "m", "i5 i10 i-", ".e.", "/ 0" },
		{ "one frame, in C", "m", "x5 i10 i-", ".e.", "0 x0", true },
		{ "no evaluation yet", "mmm", "x5 i10 x15 i-", "....", "0 1 2 / x2 x0" },
		{ "more evaluations than frames", "m", "x5 i10 x20 i30 i-", ".e.e.", "0 / x2 x0",
		  true },
		{ "one more, about to begin", "m", "i10 x20 i30 i-", "e.e.", "0 x1" },
		{ "a role not known yet", "mmm", "x5 i10 x20 i30 x40 i50 i-", ".e.e.?.",
		  "0 / x4 1 x2 2 x0", true },
		{ "a guess", "mmm", "x5 i10 x20~ i30 x40 i50 i-", ".e.e.e.", "0 1 / x4 ! x2 2 x0",
		  true },
		{ "a leaf that is a guess", "mm", "x5~ i10 i20 i-", ".e..", "0 1 ! x0" },
		{ "some frames have no evaluation", "mm", "x5 i10 i20 i-", ".e..", "0 1 / x0", true,
		  true },
		{ "a greenlet above anything", "m", "x5 i10 g40 x-", ".e..", "0 x0", true },
	};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		check_paired(&whole[i], true);
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		check_paired(&cut[i], false);
}

/* A chain of calls, whose stack is cut anywhere. */
struct cut_stack {
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	__u8 origins[DRAWN_MAX];
	bool evals[DRAWN_MAX];
	struct join_input in;
	struct item truth[2 * DRAWN_MAX]; /* leaf first */
	__u32 truth_cnt;
	bool begins; /* the leaf's evaluation has no frame */
};

static void draw_cut_stack(struct cut_stack *s)
{
	__u32 cnt = 2 + random() % (DRAWN_MAX - 2), frame = 0;

	memset(s, 0, sizeof(*s));
	s->begins = random() % 4 == 0;
	for (__u32 i = 0; i < cnt; i++) {
		bool first = !frame && s->begins;

		s->evals[i] = random() % 3 == 0 || (first && i);
		s->origins[i] = s->evals[i] || first || random() % 2 ? ORIGIN_INTERPRETER :
								       random() % 2;
		if (s->origins[i] != ORIGIN_INTERPRETER)
			s->truth[s->truth_cnt++] = (struct item){ .kind = ITEM_NATIVE, .index = i };
		if (s->evals[i] && frame++ >= s->begins)
			s->truth[s->truth_cnt++] = (struct item){ .kind = ITEM_PYTHON };
	}
	s->in = (struct join_input){
		.frames = s->frames,
		.frame_cnt = frame > s->begins ? frame - s->begins : 0,
		.natives = s->natives,
		.native_cnt = random() % cnt,
		.origins = s->origins,
		.evals = s->evals,
		.evals_known = DRAWN_MAX,
		.has_frame = !s->begins && random() % 2,
		.evaluator = JOIN_NONE,
		.taken = true,
		.cut = DRAWN_CUT,
	};
	for (__u32 i = 0, left = s->in.frame_cnt; i < s->truth_cnt; i++)
		if (s->truth[i].kind == ITEM_PYTHON) {
			s->truth[i].index = --left;
			s->frames[left].code_addr = 8;
		}
}

/*
 * From the leaf to the mark it is the truth, wherever the chain was cut, and Python is complete. Only
 * a callee of C that has just begun may count as its Python caller.
 */
static void cut_stacks_are_true_up_to_the_mark(void **state)
{
	struct items items = { 0 };
	struct join j;
	struct cut_stack s;
	__u32 paired = 0;

	srandom(7);
	for (int round = 0; round < 100000; round++) {
		__u32 left, at = 0, odd = 0;
		bool marked = false;

		draw_cut_stack(&s);
		left = s.in.frame_cnt;
		assert_int_equal(join_stacks(&s.in, &items, &j), 0);
		for (__u32 i = items.cnt; i-- > 0;) {
			const struct item *item = &items.list[i], *want = &s.truth[at];

			if (item->kind == ITEM_PYTHON)
				assert_int_equal(item->index, --left);
			marked = marked ||
				 (item->kind == ITEM_MARK && item->frame.code_addr == DRAWN_CUT);
			/* Without an evaluation nothing can be paired, as on all versions. */
			if (marked || !i)
				continue;
			if (item->kind == want->kind && item->index == want->index)
				at++;
			else
				odd++;
			paired += item->kind == ITEM_PYTHON;
		}
		assert_int_equal(left, 0);
		assert_true(!odd || (s.begins && odd == 1));
	}
	assert_true(paired > 50000);
	items_free(&items);
}

/* The native frames cannot be resolved: one mark says that there were some. */
static void unknown_natives_are_a_mark(void **state)
{
	static const struct {
		bool taken, unknown;
		__u32 kernel_cnt;
		const char *python, *result;
		__u32 own; /* of the kernel's frames */
	} cases[] = {
		{ false, true, 0, "E5 E35 mm", "2 3 ?" },
		{ false, true, 1, "E5 E35 mm", "2 3 ? k0" },
		{ false, true, 0, "E5 E35 m E20 m", "2 4 ?" },
		{ false, true, 0, "", "?" },
		{ false, false, 1, "E5 E35 m", "2 k0" },
		{ true, true, 0, "E5 E35 m", "2 x0" },
		{ false, true, 3, "E5 E35 mm", "2 3 ? k2 @", 2 },
		{ true, true, 2, "E5 E35 m", "2 x0 @", 2 },
	};
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	struct items items = { 0 };
	struct join j;
	__u8 origins[DRAWN_MAX];
	bool guessed[DRAWN_MAX];
	char result[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct join_input in = {
			.frames = frames,
			.frame_cnt = drawn_python(cases[i].python, frames),
			.natives = natives,
			.native_cnt = drawn_native("x10 i40 c0", natives, origins, guessed),
			.origins = origins,
			.kernel = drawn_kernel,
			.kernel_cnt = cases[i].kernel_cnt,
			.cut = DRAWN_CUT,
			.kernel_own = cases[i].own,
			.in_own = cases[i].own > 0,
			.evaluator = JOIN_NONE,
			.taken = cases[i].taken,
			.unknown = cases[i].unknown,
			.ended = true,
		};

		assert_int_equal(join_stacks(&in, &items, &j), 0);
		draw_items(result, sizeof(result), &items, origins);
		assert_string_equal(result, cases[i].result);
		assert_int_equal(j.complete, cases[i].taken);
	}
	items_free(&items);
}

/*
 * Whatever the addresses, Python frames are complete and in order, and each native frame is there
 * once.
 */
static void nothing_is_lost_or_doubled(void **state)
{
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	__u8 origins[DRAWN_MAX];
	bool guessed[DRAWN_MAX];
	struct items items = { 0 };
	struct join j;

	srandom(7);
	for (int round = 0; round < 20000; round++) {
		struct join_input in = { .frames = frames,
					 .natives = natives,
					 .origins = origins,
					 .guessed = guessed,
					 .evaluator = random() % 14,
					 .frame_cnt = random() % 12,
					 .native_cnt = random() % 12,
					 .kernel = drawn_kernel,
					 .kernel_cnt = random() % 3,
					 .cut = DRAWN_CUT,
					 .taken = random() % 4,
					 .unknown = random() % 2,
					 .ended = random() % 2,
					 .interpreter = true };
		__u32 pythons = 0, seen = 0, last_native = DRAWN_MAX, last = 0, marks = 0,
		      native = 0;
		__u32 guesses = 0, switchers = 0;
		bool order = true;

		for (__u32 i = 0; i < in.frame_cnt; i++) {
			frames[i] = (struct frame){ .code_addr = random() % 2,
						    .frame_addr = random() % 50 };
			pythons += frames[i].code_addr || !frames[i].frame_addr;
		}
		for (__u32 i = 0; i < in.native_cnt; i++) {
			natives[i].frame_addr = random() % 50;
			origins[i] = random() % 3;
			guessed[i] = random() % 8 == 0;
			guesses += guessed[i];
			if (random() % 16 == 0)
				origins[i] = ORIGIN_SWITCHER;
			switchers += origins[i] == ORIGIN_SWITCHER;
		}
		assert_int_equal(join_stacks(&in, &items, &j), 0);
		for (__u32 i = 0; i < items.cnt; i++) {
			const struct item *item = &items.list[i];

			if (drawn_is_python(item)) {
				order = order && (!seen || item->index > last);
				last = item->index;
				seen++;
			} else if (item->kind == ITEM_NATIVE) {
				order = order && item->index < last_native;
				last_native = item->index;
				native++;
			} else if (item->kind == ITEM_MARK && item->frame.code_addr != DRAWN_CUT) {
				marks++;
			}
		}
		assert_true(order);
		assert_int_equal(seen, pythons);
		if (switchers)
			assert_true(native <= in.native_cnt);
		else
			assert_int_equal(native, in.taken ? in.native_cnt : 0);
		assert_true(marks <= 1 + guesses);
		assert_true(marks || in.taken || !in.unknown);
	}
	items_free(&items);
}

static void assert_native(const struct items *items, __u32 index, __u64 address, __u32 place)
{
	for (__u32 i = 0; i < items->cnt; i++) {
		const struct item *item = &items->list[i];

		if (item->kind != ITEM_NATIVE || item->index != index)
			continue;
		assert_int_equal(item->frame.code_addr, address);
		assert_int_equal(item->frame.fingerprint, place);
		return;
	}
	fail_msg("natives[%u] is not shown", index);
}

/* Readers of a chain take the first address as exact and all others as return addresses. */
static void what_is_shown_first_is_known(void **state)
{
	static const struct frame frames[] = { { .frame_addr = 35 },
					       { .code_addr = 8, .frame_addr = 800 } };
	static const struct native_frame natives[] = {
		{ 100, 10 }, { 200, 20 }, { 300, 40 }, { 400, 80 }
	};
	static const __u8 extension[] = { ORIGIN_OTHER, ORIGIN_OTHER, ORIGIN_INTERPRETER,
					  ORIGIN_LIBC };
	static const __u8 helper[] = { ORIGIN_INTERPRETER, ORIGIN_OTHER, ORIGIN_INTERPRETER,
				       ORIGIN_LIBC };
	struct join_input in = { .frames = frames,
				 .frame_cnt = 2,
				 .natives = natives,
				 .origins = extension,
				 .evaluator = JOIN_NONE,
				 .native_cnt = 4,
				 .kernel = drawn_kernel,
				 .kernel_cnt = 2,
				 .taken = true,
				 .ended = true };
	struct items items = { 0 };
	struct join j;

	assert_int_equal(join_stacks(&in, &items, &j), 0);
	assert_native(&items, 0, 100, 0);
	assert_native(&items, 1, 200, ITEM_CALLER | ITEM_BEHIND);
	in.origins = helper;
	assert_int_equal(join_stacks(&in, &items, &j), 0);
	assert_native(&items, 1, 199, ITEM_CALLER);
	/* The leaf evaluates the Python code. */
	in.natives = natives + 2;
	in.origins = helper + 2;
	in.native_cnt = 2;
	in.interpreter = true;
	assert_int_equal(join_stacks(&in, &items, &j), 0);
	assert_native(&items, 0, 301, ITEM_BEHIND);
	items_free(&items);
}

/* So that what begins there has its place in the list (edit_collecting()). */
static void entry_frames_lie_before_what_they_enter(void **state)
{
	struct native_frame natives[DRAWN_MAX];
	struct frame frames[DRAWN_MAX];
	__u8 origins[DRAWN_MAX];
	bool guessed[DRAWN_MAX];
	struct items items = { 0 };
	struct join j;
	struct join_input in = {
		.frames = frames,
		.frame_cnt = drawn_python("E5 E75 m E35 m E20", frames),
		.natives = natives,
		.native_cnt = drawn_native("x30 i40 x60 i80 c0", natives, origins, guessed),
		.origins = origins,
		.evaluator = JOIN_NONE,
		.taken = true,
		.ended = true,
	};
	static const __u8 kinds[] = { ITEM_HIDDEN, ITEM_HIDDEN, ITEM_PYTHON, ITEM_NATIVE,
				      ITEM_HIDDEN, ITEM_PYTHON, ITEM_NATIVE, ITEM_HIDDEN };

	assert_int_equal(join_stacks(&in, &items, &j), 0);
	assert_int_equal(items.cnt, sizeof(kinds));
	for (__u32 i = 0; i < items.cnt; i++)
		assert_int_equal(items.list[i].kind, kinds[i]);
	items_free(&items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shown_first_is_known),
		cmocka_unit_test(entry_frames_lie_before_what_they_enter),
		cmocka_unit_test(whole_stacks),
		cmocka_unit_test(truncated_stacks),
		cmocka_unit_test(frames_are_paired_with_evaluations),
		cmocka_unit_test(cut_stacks_are_true_up_to_the_mark),
		cmocka_unit_test(unknown_natives_are_a_mark),
		cmocka_unit_test(nothing_is_lost_or_doubled),
	};

	return cmocka_run_group_tests_name("record/stack/join", tests, NULL, NULL);
}
