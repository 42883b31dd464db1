/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vec.c - growing arrays with counters of any type, and search in sorted lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/data/search.h"
#include "base/data/vec.h"

static void elements_stay_while_it_grows(void **state)
{
	unsigned *list = NULL, cap = 0, grown = 0;

	for (unsigned i = 0; i < 100000; i++) {
		unsigned before = cap;

		assert_int_equal(vec_reserve(list, cap, i + 1), 0);
		assert_true(cap > i);
		grown += cap != before;
		list[i] = i * 7;
	}
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(list[i], i * 7);
	/* Doubling makes appending linear. */
	assert_in_range(grown, 10, 20);
	free(list);
}

static void many_are_there_at_once(void **state)
{
	size_t cap = 0;
	char *list = NULL;

	assert_int_equal(vec_reserve(list, cap, 5000), 0);
	assert_int_equal(cap, 5000);
	assert_int_equal(vec_reserve(list, cap, 5000), 0);
	assert_int_equal(cap, 5000);
	free(list);
}

/*
 * A capacity that does not fit the counter is refused: a wrapped one would claim too little or too
 * much.
 */
static void a_counter_does_not_wrap(void **state)
{
	uint8_t cap = 0;
	int *list = NULL;

	assert_int_equal(vec_reserve(list, cap, 200), 0);
	list[199] = 3;
	assert_int_equal(vec_reserve(list, cap, 201), -ENOMEM);
	assert_int_equal(cap, 200);
	assert_int_equal(list[199], 3);
	free(list);
}

static void what_is_below_is_counted_wherever_the_border_is(void **state)
{
	for (unsigned cnt = 0; cnt < 70; cnt++)
		for (unsigned border = 0; border <= cnt; border++)
			assert_int_equal(sorted_below(cnt, i, i < border), border);
}

static void nothing_beyond_the_list_is_looked_at(void **state)
{
	static const unsigned list[] = { 3, 5, 5, 9 };

	assert_int_equal(sorted_below(4, n, list[n] <= 2), 0);
	assert_int_equal(sorted_below(4, n, list[n] <= 5), 3);
	assert_int_equal(sorted_below(4, n, list[n] < 5), 1);
	assert_int_equal(sorted_below(4, n, list[n] <= ~0U), 4);
	assert_int_equal(sorted_below(0U, n, list[n] <= ~0U), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_stay_while_it_grows),
		cmocka_unit_test(many_are_there_at_once),
		cmocka_unit_test(a_counter_does_not_wrap),
		cmocka_unit_test(what_is_below_is_counted_wherever_the_border_is),
		cmocka_unit_test(nothing_beyond_the_list_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
