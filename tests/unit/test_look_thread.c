/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_look_thread.c - what different looks say of one thread: variables stay with the frames that they
 * were read from, and with no other, whatever these are called.
 *
 * A stack is drawn root first: a letter for each function, followed by its frame's address and the
 * instruction, as in "a10 b25"; "-" is native code. All have the same name and line.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "look/dump/look_thread.h"
#include "base/data/vec.h"

static void draw(struct look_thread *t, const char *text, bool locals)
{
	*t = (struct look_thread){ .how = LOOK_AT_REST };
	for (const char *s = text + strlen(text); s > text;) {
		struct look_frame f = { .name = "f", .file = "f.py", .line = 1 };

		while (s > text && s[-1] != ' ')
			s--;
		if (*s == '-') {
			f.native = true;
		} else {
			f.python.code_addr = (__u64)*s;
			f.python.frame_addr = (__u64)(s[1] - '0');
			f.python.instr_off = s[2] - '0';
		}
		if (locals && !f.native) {
			f.locals = calloc(1, sizeof(*f.locals));
			f.locals[0].name = s;
			f.local_cnt = 1;
		}
		assert_int_equal(vec_reserve(t->frames, t->frame_cap, t->frame_cnt + 1), 0);
		t->frames[t->frame_cnt++] = f;
		s -= s > text;
	}
}

/* The functions that have variables, root first: "ab". */
static char *with_locals(const struct look_thread *t)
{
	static char text[32];
	char *at = text;

	for (__u32 i = t->frame_cnt; i-- > 0;)
		if (t->frames[i].local_cnt)
			*at++ = *t->frames[i].locals[0].name;
	*at = '\0';
	return text;
}

/* Of the first stack, the second gets the variables of these; how: afterwards. */
static void check(const char *before, const char *after, bool at_rest, const char *kept,
		  enum look_how how)
{
	struct look_thread t, from;

	draw(&t, before, true);
	draw(&from, after, false);
	look_thread_join(&t, &from, at_rest);
	assert_string_equal(with_locals(&t), kept);
	assert_int_equal(t.how, how);
	assert_true(t.joined && !from.frame_cnt);
	look_thread_clear(&t);
}

static void of_the_same_stack_all_stay(void **state)
{
	check("a10 b25", "- a10 - b25 -", false, "ab", LOOK_AT_REST);
}

static void another_run_of_a_function_has_its_own(void **state)
{
	/* Same names and lines: b was called again, and its frame is elsewhere. */
	check("a10 b25", "- a10 - b35 -", true, "a", LOOK_AT_REST);
	/* Another function in the same place. */
	check("a10 b25", "a10 c25", false, "a", LOOK_INTERRUPTED);
	/* From another call. */
	check("a10 b25", "a11 b25", false, "a", LOOK_INTERRUPTED);
}

static void a_frame_that_went_on_is_the_same(void **state)
{
	check("a10 b25", "a10 b26", false, "ab", LOOK_INTERRUPTED);
	check("a10 b25 c35", "a10 b26 -", true, "ab", LOOK_AT_REST);
	check("a10", "a10 b25", false, "a", LOOK_INTERRUPTED);
}

static void nothing_in_common(void **state)
{
	check("a10 b25", "c10", false, "", LOOK_INTERRUPTED);
	check("", "a10", true, "", LOOK_AT_REST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_same_stack_all_stay),
		cmocka_unit_test(another_run_of_a_function_has_its_own),
		cmocka_unit_test(a_frame_that_went_on_is_the_same),
		cmocka_unit_test(nothing_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
