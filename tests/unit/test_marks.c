/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_marks.c - marks for missing code: one text for each reason, one frame for each mark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/accounts.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/states.h"

static void a_reason_has_a_mark_where_there_is_no_python(void **state)
{
	assert_string_equal(mark_of(REASON_NO_RUNTIME), "[interpreter not running]");
	assert_string_equal(mark_of(REASON_NATIVE_THREAD), "[native thread]");
	assert_string_equal(mark_of(REASON_EXITING), "[exiting]");
	assert_string_equal(mark_of(REASON_EXECING), "[exec]");
	assert_null(mark_of(REASON_PYTHON));
	assert_null(mark_of(REASON_DEPTH));
	assert_null(mark_of(REASON_RING_FULL));
}

static void what_was_cut_says_why_and_fits(void **state)
{
	char text[MARK_SIZE];

	for_each_reason(r) {
		size_t len;

		mark_truncated(text, r);
		len = strlen(text);
		assert_true(len < MARK_SIZE - 1);
		assert_memory_equal(text, "[truncated: ", strlen("[truncated: "));
		assert_int_equal(text[len - 1], ']');
		assert_true(mark_is(text, len));
		assert_false(mark_is_native(text));
	}
}

static void marks_are_known_by_their_brackets(void **state)
{
	assert_true(mark_is("[exec] f", 6));
	assert_false(mark_is("[exec] f", 8));
	assert_false(mark_is("[]", 2));
	assert_false(mark_is(MARK_UNKNOWN, strlen(MARK_UNKNOWN)));
	assert_true(mark_is_native(MARK_NATIVE_TRUNCATED));
	assert_true(mark_is_native(MARK_NATIVE_DEPTH));
	assert_true(mark_is_native(MARK_NATIVE_UNKNOWN));
	assert_false(mark_is_native(MARK_NO_PYTHON));
}

static void assert_frame(const struct dict *d, __u32 id, enum frame_kind kind, const char *name,
			 const char *file)
{
	const struct profile_frame *f = dict__frame_at(d, id);

	assert_int_equal(f->kind, kind);
	assert_string_equal(dict__text(d, f->name), name);
	assert_string_equal(dict__text(d, f->file), file);
}

static void a_frame_of_the_kernel_is_one_whoever_asks(void **state)
{
	struct dict *d = dict__new(profile_limits_default());
	__u32 itself = frame_kernel(d, "vfs_read", "", 0);
	__u32 module = frame_kernel(d, "ext4_read", "ext4", 0);

	assert_non_null(d);
	assert_frame(d, itself, FRAME_KERNEL, "vfs_read", "[kernel.kallsyms]");
	assert_frame(d, module, FRAME_KERNEL, "ext4_read", "[ext4]");
	/* With a module as a symbol has it, and as a capture has stored it. */
	assert_int_equal(frame_kernel(d, "vfs_read", "[kernel.kallsyms]", 0), itself);
	assert_int_equal(frame_kernel(d, "ext4_read", "[ext4]", 0), module);
	assert_frame(d, frame_kernel(d, NULL, "", 0), FRAME_KERNEL, NAME_KERNEL, "");
	assert_int_not_equal(frame_kernel(d, NULL, "", 4096), frame_kernel(d, NULL, "", 8192));
	dict__free(d);
}

static void an_address_in_nothing_is_a_mark(void **state)
{
	struct dict *d = dict__new(profile_limits_default());

	assert_non_null(d);
	assert_frame(d, frame_unknown(d), FRAME_MARK, MARK_UNKNOWN, "");
	assert_frame(d, frame_native(d, &(struct native_place){ "deflate", "/lib/libz.so.1" }),
		     FRAME_NATIVE, "deflate", "/lib/libz.so.1");
	dict__free(d);
}

static void every_mark_has_a_meaning(void **state)
{
	static const char *const marks[] = {
		MARK_NO_PYTHON,	     MARK_NO_STACK,	MARK_GC,	   MARK_NATIVE_TRUNCATED,
		MARK_NATIVE_UNKNOWN, MARK_TASKS_TORN,	MARK_TASKS_LIMIT,  MARK_TASKS_LATE,
		MARK_TASKS_CYCLE,    MARK_TASK_FOREIGN, MARK_TASK_FRAMES,  MARK_UNKNOWN,
		MARK_NO_FUNCTION,    MARK_SMALL,	MARK_NATIVE_DEPTH,
	};
	const char *none = mark_meaning("[no such mark]");
	char text[MARK_SIZE];

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		assert_string_not_equal(mark_meaning(marks[i]), none);
	for (int reason = 0; reason < REASON_CNT; reason++) {
		if (mark_of((enum reason)reason))
			assert_string_not_equal(mark_meaning(mark_of((enum reason)reason)), none);
		mark_truncated(text, (enum reason)reason);
		assert_string_not_equal(mark_meaning(text), none);
	}
	for (int s = STATE_GIL; s < STATE_CNT; s++) {
		snprintf(text, sizeof(text), "[%s]", state_name((enum state)s));
		assert_string_not_equal(mark_meaning(text), none);
	}
	mark_waiters(text, 3);
	assert_string_not_equal(mark_meaning(text), none);
	/* The one without a reason says that nothing is lost. */
	assert_non_null(strstr(mark_meaning(MARK_NATIVE_TRUNCATED), "no sample is lost"));
	assert_null(strstr(mark_meaning("[truncated: depth]"), "no sample is lost"));
	assert_non_null(strstr(mark_meaning(MARK_NATIVE_DEPTH), "deeper than krait walks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mark_has_a_meaning),
		cmocka_unit_test(a_reason_has_a_mark_where_there_is_no_python),
		cmocka_unit_test(what_was_cut_says_why_and_fits),
		cmocka_unit_test(marks_are_known_by_their_brackets),
		cmocka_unit_test(a_frame_of_the_kernel_is_one_whoever_asks),
		cmocka_unit_test(an_address_in_nothing_is_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
