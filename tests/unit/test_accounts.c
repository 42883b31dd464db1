/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_accounts.c - names, sums and the line of text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "profile/accounts.h"

static void every_reason_has_a_name_of_its_own(void **state)
{
	int cnt = 0;

	for_each_reason(r) {
		const char *name = reason_name(r);

		assert_string_not_equal(name, "unknown");
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz "), strlen(name));
		for_each_reason(other)
			assert_int_equal(!strcmp(name, reason_name(other)), r == other);
		cnt++;
	}
	assert_int_equal(cnt, REASON_COMPLETE_END + (REASON_TRUNCATED_END - REASON_DEPTH) +
				      (REASON_CNT - REASON_RUNTIME_FAULT));
	assert_string_equal(reason_name(REASON_COMPLETE_END), "unknown");
	assert_string_equal(reason_name(REASON_TRUNCATED_END), "unknown");
	assert_string_equal(reason_name(REASON_CNT), "unknown");
}

static void reasons_belong_to_the_outcomes_of_the_abi(void **state)
{
	assert_int_equal(reason_outcome(REASON_PYTHON), OUTCOME_COMPLETE);
	assert_int_equal(reason_outcome(REASON_NATIVE_THREAD), OUTCOME_COMPLETE);
	assert_int_equal(reason_outcome(REASON_DEPTH), OUTCOME_TRUNCATED);
	assert_int_equal(reason_outcome(REASON_NO_BASE), OUTCOME_TRUNCATED);
	assert_int_equal(reason_outcome(REASON_EXITING), OUTCOME_COMPLETE);
	assert_int_equal(reason_outcome(REASON_BAD_RECORD), OUTCOME_LOST);
}

static void the_three_outcomes_sum_up_to_all_reasons(void **state)
{
	struct accounts a = { 0 };
	__u64 sum = 0, one = 1;

	for_each_reason(r) {
		a.interrupts += a.reasons[r] = one;
		one *= 2;
	}
	for (int i = 0; i < OUTCOME_CNT; i++)
		sum += accounts_total(&a, (enum outcome)i);
	assert_int_equal(sum, a.interrupts);
	assert_int_equal(accounts_balance(&a), 0);
}

static void the_line_is_as_documented(void **state)
{
	struct accounts a = { .interrupts = 4970 };
	char buf[256];

	a.reasons[REASON_PYTHON] = 4968;
	a.reasons[REASON_RING_FULL] = 2;
	accounts_format(&a, buf, sizeof(buf));
	assert_string_equal(buf,
			    "4970 interrupts = 4968 complete + 0 truncated + 2 lost (ring full 2)");
}

static void all_reasons_but_the_ordinary_one_are_said(void **state)
{
	struct accounts a = { .interrupts = 20 };
	char buf[256];

	a.reasons[REASON_PYTHON] = 10;
	a.reasons[REASON_NATIVE_THREAD] = 4;
	a.reasons[REASON_DEPTH] = 1;
	a.reasons[REASON_RUNTIME_FAULT] = 2;
	a.reasons[REASON_CYCLE] = 3;
	accounts_format(&a, buf, sizeof(buf));
	assert_string_equal(buf, "20 interrupts = 14 complete (native thread 4) + "
				 "1 truncated (depth 1) + 5 lost (runtime fault 2, cycle 3)");
}

static void books_that_do_not_balance_say_so(void **state)
{
	struct accounts a = { .interrupts = 5 };
	char buf[256];

	a.reasons[REASON_PYTHON] = 3;
	assert_int_equal(accounts_balance(&a), 2);
	accounts_format(&a, buf, sizeof(buf));
	assert_string_equal(buf,
			    "5 interrupts = 3 complete + 0 truncated + 0 lost + 2 unaccounted");
	a.reasons[REASON_PYTHON] = 6;
	assert_int_equal(accounts_balance(&a), -1);
	accounts_format(&a, buf, sizeof(buf));
	assert_string_equal(buf,
			    "5 interrupts = 6 complete + 0 truncated + 0 lost - 1 unaccounted");
}

static void a_small_buffer_is_cut_and_terminated(void **state)
{
	struct accounts a = { .interrupts = 4970 };
	char buf[256];
	size_t size;

	for (size = 0; size < sizeof(buf); size++) {
		memset(buf, 'x', sizeof(buf));
		accounts_format(&a, buf, size);
		if (size)
			assert_true(strlen(buf) < size);
		assert_int_equal(buf[size], 'x');
	}
}

static void the_lost_share_of_nothing_is_0(void **state)
{
	struct accounts a = { 0 };

	assert_true(accounts_lost_share(&a) == 0);
	a.interrupts = 200;
	a.reasons[REASON_RING_FULL] = 3;
	assert_true(accounts_lost_share(&a) > 0.0149 && accounts_lost_share(&a) < 0.0151);
}

static void missed_ticks_are_beside_the_interrupts(void **state)
{
	struct accounts a = { .interrupts = 90, .ticks_asked = 250, .ticks_missed = 10 };
	char buf[256];

	a.reasons[REASON_PYTHON] = 90;
	accounts_format(&a, buf, sizeof(buf));
	assert_string_equal(buf, "90 interrupts = 90 complete + 0 truncated + 0 lost; "
				 "10 of 100 timer ticks missed");
	accounts_say(&a, buf, sizeof(buf));
	assert_string_equal(buf, "none lost, 10.0% of the timer's ticks never came");
	assert_int_equal(accounts_balance(&a), 0);
	assert_true(accounts_missed_share(&a) > 0.0999 && accounts_missed_share(&a) < 0.1001);
	a.ticks_missed = 0;
	accounts_format(&a, buf, sizeof(buf));
	assert_non_null(strstr(buf, "0 of 90 timer ticks missed"));
	accounts_say(&a, buf, sizeof(buf));
	assert_string_equal(buf, "none lost");
	/* Missing samples are accounted for, and unaccounted ones reported. */
	a.reasons[REASON_PYTHON] = 89;
	accounts_say(&a, buf, sizeof(buf));
	assert_string_equal(buf, "none lost, 1 unaccounted");
	a.reasons[REASON_RING_FULL] = 2;
	a.interrupts = 1002;
	a.reasons[REASON_PYTHON] = 997;
	a.reasons[REASON_DEPTH] = 3;
	accounts_say(&a, buf, sizeof(buf));
	assert_string_equal(buf, "2 of 1,002 lost (0.20%)");
	a = (struct accounts){ 0 };
	assert_true(accounts_missed_share(&a) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missed_ticks_are_beside_the_interrupts),
		cmocka_unit_test(every_reason_has_a_name_of_its_own),
		cmocka_unit_test(reasons_belong_to_the_outcomes_of_the_abi),
		cmocka_unit_test(the_three_outcomes_sum_up_to_all_reasons),
		cmocka_unit_test(the_line_is_as_documented),
		cmocka_unit_test(all_reasons_but_the_ordinary_one_are_said),
		cmocka_unit_test(books_that_do_not_balance_say_so),
		cmocka_unit_test(a_small_buffer_is_cut_and_terminated),
		cmocka_unit_test(the_lost_share_of_nothing_is_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
