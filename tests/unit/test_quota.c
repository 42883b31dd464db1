/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_quota.c - one owner's greed costs nobody else: root's reserve, room for newcomers, accounts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel/maps/owner_books.h"
#include "base/share/quota.h"

#define TOTAL 90000
#define RESERVE 9000
/*
 * One owner gets eight ninths of the free part, after subtracting the share kept for those who hold
 * little.
 */
#define MOST(free) (((free)-TOTAL / OWNER_KEEP) / 9 * 8)
#define LITTLE (TOTAL / OWNER_KEEP / OWNER_CNT)

/* Takes one at a time until refused. */
static __u64 take_all(struct quota *q, unsigned owner)
{
	__u64 n = 0;

	while (!quota__take(q, owner, 1))
		n++;
	return n;
}

static __u64 sum(const struct quota *q)
{
	__u64 held = 0;

	for (unsigned i = 0; i < OWNER_CNT; i++)
		held += quota__held(q, i);
	return held;
}

static void root_gets_what_there_is(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	assert_int_equal(take_all(q, OWNER_ROOT), TOTAL);
	assert_int_equal(quota__refused(q, OWNER_ROOT), 1);
	assert_int_equal(take_all(q, 5), 0);
	quota__free(q);
}

static void one_user_gets_most_of_it(void **state)
{
	struct quota *q = quota__new(TOTAL, 0);

	assert_int_equal(take_all(q, 5), MOST(TOTAL));
	assert_int_equal(quota__held(q, 5), MOST(TOTAL));
	assert_int_equal(quota__refused(q, 5), 1);
	quota__free(q);
}

static void all_users_together_leave_root_its_reserve(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	for (unsigned i = 1; i < OWNER_CNT; i++)
		take_all(q, i);
	assert_true(quota__held_by_all(q) <= TOTAL - RESERVE);
	assert_true(take_all(q, OWNER_ROOT) >= RESERVE);
	assert_int_equal(quota__held_by_all(q), TOTAL);
	assert_int_equal(sum(q), TOTAL);
	quota__free(q);
}

/* Root's holdings count towards its reserve: users lose no more than the reserve. */
static void the_reserve_is_there_once(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	assert_int_equal(quota__take(q, OWNER_ROOT, RESERVE), 0);
	assert_int_equal(take_all(q, 5), MOST(TOTAL - RESERVE));
	quota__free(q);
}

/* One attacker may have any number of uids. */
static void a_newcomer_finds_room(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	for (unsigned i = 1; i < OWNER_CNT - 1; i++)
		take_all(q, i);
	assert_true(LITTLE > 10);
	assert_true(take_all(q, OWNER_CNT - 1) >= LITTLE);
	assert_true(quota__held_by_all(q) <= TOTAL - RESERVE);
	quota__free(q);
}

/* A newcomer gets one of a handful. */
static void a_newcomer_finds_room_where_there_is_little(void **state)
{
	struct quota *q = quota__new(64, 8);

	for (unsigned i = 1; i < 1 + 3; i++)
		assert_true(take_all(q, i) >= 1);
	assert_int_equal(quota__take(q, 100, 1), 0);
	assert_true(take_all(q, OWNER_ROOT) >= 8);
	quota__free(q);
}

static void the_largest_holder_is_refused_first(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	take_all(q, 7);
	assert_int_equal(quota__take(q, 8, LITTLE), 0);
	assert_int_equal(quota__take(q, 7, 1), -EDQUOT);
	assert_int_equal(quota__take(q, 8, 1000), 0);
	quota__free(q);
}

static void what_is_given_back_can_be_taken_again(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);
	__u64 n = take_all(q, 5);

	quota__give(q, 5, n);
	assert_int_equal(quota__held_by_all(q), 0);
	assert_int_equal(take_all(q, 5), n);
	quota__give(q, 5, ~0ULL); /* more than it has */
	assert_int_equal(quota__held_by_all(q), 0);
	quota__give(q, ~0U, 1); /* no such owner */
	assert_int_equal(quota__held_by_all(q), 0);
	quota__free(q);
}

static void too_much_at_once_is_refused_as_a_whole(void **state)
{
	struct quota *q = quota__new(TOTAL, RESERVE);

	assert_int_equal(quota__take(q, OWNER_ROOT, TOTAL + 1), -EDQUOT);
	assert_int_equal(quota__take(q, 5, ~0ULL), -EDQUOT);
	assert_int_equal(quota__held_by_all(q), 0);
	quota__free(q);
}

/* ---- owners ----------------------------------------------------------------------------------- */

static void a_uid_keeps_its_owner(void **state)
{
	struct owner_table t = { 0 };
	__u32 owner = owner_of(&t, 1000);

	assert_int_equal(owner_of(&t, 0), OWNER_ROOT);
	assert_in_range(owner, 1, OWNER_CNT - 1);
	for (__u32 uid = 1; uid < 30; uid++)
		assert_int_not_equal(owner_of(&t, uid), owner);
	assert_int_not_equal(owner_of(&t, 65534), owner);
	assert_int_equal(owner_of(&t, 1000), owner);
	assert_false(t.shared[owner]);
}

/* As many as typically log in on one machine. */
static void a_hundred_users_share_nothing(void **state)
{
	struct owner_table t = { 0 };

	for (__u32 uid = 1000; uid < 1100; uid++) {
		__u32 owner = owner_of(&t, uid);

		assert_int_equal(t.uids[owner], uid);
	}
	for (unsigned i = 0; i < OWNER_CNT; i++)
		assert_false(t.shared[i]);
}

static void more_uids_than_owners_share(void **state)
{
	struct owner_table t = { 0 };
	__u32 first = owner_of(&t, 1000);

	for (__u32 uid = 100000; uid < 165536; uid++)
		assert_in_range(owner_of(&t, uid), 1, OWNER_CNT - 1);
	assert_int_equal(owner_of(&t, 1000), first);
	assert_int_equal(owner_of(&t, 0), OWNER_ROOT);
	assert_int_equal(t.uids[OWNER_ROOT], 0);
	assert_false(t.shared[OWNER_ROOT]);
}

/* Nobody can choose uids that take the places of a certain one in every recording. */
static void places_cannot_be_foreseen(void **state)
{
	struct owner_table t;
	unsigned met = 0;

	for (unsigned i = 0; i < 256; i++) {
		owner_table_init(&t);
		/* Of one table, uids that would share the place. */
		met += owner_place(owner_hash(&t, 61001), 0) ==
		       owner_place(owner_hash(&t, 100123), 0);
	}
	assert_true(met < 12); /* of 256, one is expected */
}

static void a_place_is_found_again_behind_a_free_one(void **state)
{
	struct owner_table t = { 0 };
	__u32 owner = owner_of(&t, 1000), other = 1001;

	while (owner_place(owner_hash(&t, other), 0) != owner)
		other++;
	assert_int_not_equal(owner_of(&t, other), owner);
	t.uids[owner] = 0;
	assert_int_not_equal(owner_of(&t, other), owner);
	assert_int_equal(owner_find(&t, 1000), OWNER_UNKNOWN);
	assert_int_equal(owner_find(&t, 0), OWNER_ROOT);
	assert_int_equal(owner_find(&t, other), owner_of(&t, other));
}

static bool nothing_else(void *ctx, unsigned owner)
{
	return quota_knows(owner);
}

/* Who only passed by leaves no trace; who holds something, or was refused, keeps his place. */
static void places_are_given_back(void **state)
{
	struct owner_books *books = calloc(1, sizeof(*books));
	struct quota *q = quota__new(TOTAL, RESERVE);
	__u32 passed = owner_of(&books->table, 1000), holds = owner_of(&books->table, 1001);
	__u32 runs = owner_of(&books->table, 1002), refused = owner_of(&books->table, 1003);
	__u32 reads = owner_of(&books->table, 1004);

	assert_int_equal(quota__take(q, holds, 1), 0);
	assert_int_equal(quota__take(q, refused, TOTAL), -EDQUOT);
	books->use[runs].procs = 1;
	books->use[reads].produced = 8;
	owner_books_release(books, nothing_else, NULL);
	assert_int_equal(owner_find(&books->table, 1000), OWNER_UNKNOWN);
	assert_int_equal(books->table.uids[passed], 0);
	assert_int_equal(owner_find(&books->table, 1001), holds);
	assert_int_equal(owner_find(&books->table, 1002), runs);
	assert_int_equal(owner_find(&books->table, 1003), refused);
	assert_int_equal(owner_find(&books->table, 1004), reads);
	books->use[runs].procs = 0;
	books->use[reads].consumed = 8;
	quota__give(q, holds, 1);
	owner_books_release(books, nothing_else, NULL);
	assert_int_equal(owner_find(&books->table, 1001), OWNER_UNKNOWN);
	assert_int_equal(owner_find(&books->table, 1002), OWNER_UNKNOWN);
	assert_int_equal(owner_find(&books->table, 1003), refused);
	quota__free(q);
	assert_false(quota_knows(refused));
	free(books);
}

static void an_owner_has_a_name(void **state)
{
	struct owner_table t = { 0 };
	__u32 owner = owner_of(&t, 1000);
	char name[64];

	owner_name(&t, OWNER_ROOT, name, sizeof(name));
	assert_string_equal(name, "root");
	owner_name(&t, owner, name, sizeof(name));
	assert_string_equal(name, "user 1000");
	for (__u32 uid = 100000; uid < 165536; uid++)
		owner_of(&t, uid);
	owner_name(&t, owner, name, sizeof(name));
	assert_string_equal(name, "user 1000 and others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_gets_what_there_is),
		cmocka_unit_test(one_user_gets_most_of_it),
		cmocka_unit_test(all_users_together_leave_root_its_reserve),
		cmocka_unit_test(the_reserve_is_there_once),
		cmocka_unit_test(a_newcomer_finds_room),
		cmocka_unit_test(a_newcomer_finds_room_where_there_is_little),
		cmocka_unit_test(the_largest_holder_is_refused_first),
		cmocka_unit_test(what_is_given_back_can_be_taken_again),
		cmocka_unit_test(too_much_at_once_is_refused_as_a_whole),
		cmocka_unit_test(a_uid_keeps_its_owner),
		cmocka_unit_test(a_hundred_users_share_nothing),
		cmocka_unit_test(more_uids_than_owners_share),
		cmocka_unit_test(an_owner_has_a_name),
		cmocka_unit_test(places_cannot_be_foreseen),
		cmocka_unit_test(a_place_is_found_again_behind_a_free_one),
		cmocka_unit_test(places_are_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
