/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_owner_turns.c - owners of slow items, and others that want theirs done as well.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/system/clock.h"
#include "base/share/owner_turns.h"

static void add(struct owner_turns *t, uid_t owner, unsigned cnt)
{
	while (cnt--)
		owner_turns_add(t, owner);
}

/* Does items until the time is over: each takes each_ns, those of one owner a different time. */
static void run(struct owner_turns *t, __u64 all_ns, __u64 each_ns, uid_t slow, __u64 slow_ns)
{
	struct owner_turn *turn;

	for (__u64 now_ns = 0; now_ns < all_ns && (turn = owner_turns_next(t));) {
		__u64 ns = turn->owner >= slow ? slow_ns : each_ns;

		turn->next++;
		owner_turns_note(t, turn, ns);
		now_ns += ns;
	}
}

static const struct owner_turn *of(const struct owner_turns *t, uid_t owner)
{
	for (unsigned i = 0; i < t->cnt; i++) {
		if (t->list[i].owner == owner)
			return &t->list[i];
	}
	fail();
	return NULL;
}

static unsigned left(const struct owner_turns *t, uid_t owner)
{
	return of(t, owner)->end - of(t, owner)->next;
}

static void everything_is_done_where_there_is_time(void **state)
{
	struct owner_turns t = { 0 };

	assert_null(owner_turns_next(&t));
	add(&t, 0, 3);
	add(&t, 7, 2);
	add(&t, 8, 4);
	assert_int_equal(owner_turns_left(&t), 9);
	assert_int_equal(of(&t, 7)->next, 3);
	assert_int_equal(of(&t, 8)->end, 9);
	run(&t, NS_PER_SEC, 1000, 7, 1000);
	assert_int_equal(owner_turns_left(&t), 0);
	assert_null(owner_turns_next(&t));
}

/* It comes first and has items for hours. */
static void an_owner_with_much_costs_others_nothing(void **state)
{
	struct owner_turns t = { 0 };

	add(&t, 1, 50);
	add(&t, 2, 50);
	add(&t, 999, 10000);
	run(&t, 20 * NS_PER_SEC, NS_PER_SEC / 10, 999, 5 * NS_PER_SEC);
	assert_int_equal(left(&t, 1), 0);
	assert_int_equal(left(&t, 2), 0);
	/* It gets all the remaining time. */
	assert_true(of(&t, 999)->ns >= 8 * NS_PER_SEC);
}

static void many_owners_do_not_take_roots_time(void **state)
{
	struct owner_turns t = { 0 };

	add(&t, 0, 90);
	for (uid_t uid = 1000; uid < 2000; uid++)
		add(&t, uid, 100);
	assert_int_equal(t.cnt, OWNER_TURNS_MAX);
	assert_int_equal(owner_turns_left(&t), 90 + 1000 * 100);
	run(&t, 20 * NS_PER_SEC, NS_PER_SEC / 10, 1000, NS_PER_SEC);
	assert_int_equal(left(&t, 0), 0);
	assert_in_range(t.others_ns, 9 * NS_PER_SEC, 12 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_done_where_there_is_time),
		cmocka_unit_test(an_owner_with_much_costs_others_nothing),
		cmocka_unit_test(many_owners_do_not_take_roots_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
