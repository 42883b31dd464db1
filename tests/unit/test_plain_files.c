/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/types.h>

#include "bpf/abi.h"
#include "kernel/maps/plain_files.h"
#include "bpf/share.h"

#define ROOT OWNER_ROOT
#define USER 7
#define USER_UID 1007
#define OTHER 8
#define OTHER_UID 1008

static struct plain_key file_of(__u64 inode, __u32 uid)
{
	return (struct plain_key){
		.file = { .inode = inode, .size = 1000, .ctime_sec = 5, .dev = 3 },
		.uid = uid,
	};
}

static struct plain_key file(__u64 inode)
{
	return file_of(inode, 0);
}

static int begin(void **state)
{
	*state = plain_files__new(-1);
	return !*state;
}

static int end(void **state)
{
	plain_files__free(*state);
	return 0;
}

static void a_file_is_plain_when_its_processes_were_looked_at_often(void **state)
{
	const struct plain_key key = file(1);

	/* Each was seen at its start: its libraries may not have been loaded yet. */
	for (int i = 0; i < 7; i++) {
		plain_files__note(*state, &key, ROOT, 1);
		assert_false(plain_files__has(*state, &key));
	}
	plain_files__note(*state, &key, ROOT, 1);
	assert_true(plain_files__has(*state, &key));
}

static void long_lives_say_more(void **state)
{
	const struct plain_key key = file(1);

	plain_files__note(*state, &key, ROOT, 20);
	assert_false(plain_files__has(*state, &key));
	plain_files__note(*state, &key, ROOT, 3);
	assert_true(plain_files__has(*state, &key));
}

static void what_was_never_looked_at_says_nothing(void **state)
{
	const struct plain_key key = file(1);

	for (int i = 0; i < 100; i++)
		plain_files__note(*state, &key, ROOT, 0);
	assert_false(plain_files__has(*state, &key));
}

static void one_that_was_python_is_never_plain(void **state)
{
	const struct plain_key key = file(1), other = file(2);

	plain_files__note(*state, &key, ROOT, 9);
	plain_files__note(*state, &key, ROOT, 9);
	assert_true(plain_files__has(*state, &key));
	plain_files__is_python(*state, &key, ROOT);
	assert_false(plain_files__has(*state, &key));
	plain_files__is_python(*state, &other, ROOT);
	for (int i = 0; i < 9; i++) {
		plain_files__note(*state, &key, ROOT, 9);
		plain_files__note(*state, &other, ROOT, 9);
	}
	assert_false(plain_files__has(*state, &key));
	assert_false(plain_files__has(*state, &other));
}

static void a_file_that_has_changed_is_another(void **state)
{
	struct plain_key key = file(1);

	plain_files__note(*state, &key, ROOT, 9);
	plain_files__note(*state, &key, ROOT, 9);
	key.file.ctime_nsec++;
	assert_false(plain_files__has(*state, &key));
}

/*
 * One user's files are many: his own oldest are dropped, and those he uses stay; nobody else's are
 * dropped.
 */
static void an_owner_loses_its_own_only(void **state)
{
	const struct plain_key roots = file(1), used = file_of(2, USER_UID),
			       first = file_of(1000, USER_UID);
	struct plain_key key;

	for (int i = 0; i < 2; i++) {
		plain_files__note(*state, &roots, ROOT, 9);
		plain_files__note(*state, &used, USER, 9);
	}
	for (__u64 i = 0; i < 2 * KRAIT_MAX_PLAIN; i++) {
		key = file_of(1000 + i, USER_UID);
		plain_files__note(*state, &key, USER, 9);
		plain_files__note(*state, &key, USER, 9);
		plain_files__note(*state, &used, USER, 0);
	}
	assert_true(plain_files__has(*state, &roots));
	assert_true(plain_files__has(*state, &used));
	assert_true(plain_files__has(*state, &key));
	assert_false(plain_files__has(*state, &first));
}

static void make_plain(void *state, const struct plain_key *key, unsigned owner)
{
	plain_files__note(state, key, owner, 9);
	plain_files__note(state, key, owner, 9);
}

/*
 * A user can stop any program before it becomes Python: that must not delay looks at others'
 * processes.
 */
static void what_a_user_shows_is_for_that_user(void **state)
{
	const struct plain_key own = file_of(1, USER_UID), other = file_of(1, OTHER_UID),
			       roots = file(1);

	make_plain(*state, &own, USER);
	assert_true(plain_files__has(*state, &own));
	assert_false(plain_files__has(*state, &other));
	assert_false(plain_files__has(*state, &roots));
	/* An owner number that several uids share does not mix them either. */
	make_plain(*state, &(struct plain_key){ .file = file(2).file, .uid = USER_UID }, OTHER);
	assert_false(plain_files__has(*state, &(struct plain_key){ .file = file(2).file,
								   .uid = OTHER_UID }));
}

static void what_root_shows_is_for_all(void **state)
{
	const struct plain_key own = file_of(1, USER_UID), other = file_of(1, OTHER_UID),
			       roots = file(1);

	make_plain(*state, &roots, ROOT);
	assert_true(plain_files__has(*state, &own));
	/* But not for a user whose own processes are Python: only those. */
	plain_files__is_python(*state, &own, USER);
	assert_false(plain_files__has(*state, &own));
	assert_true(plain_files__has(*state, &other));
	assert_true(plain_files__has(*state, &roots));
}

static void where_roots_are_python_it_is_plain_for_nobody(void **state)
{
	const struct plain_key own = file_of(1, USER_UID), other = file_of(1, OTHER_UID),
			       roots = file(1);

	make_plain(*state, &own, USER);
	plain_files__is_python(*state, &roots, ROOT);
	assert_false(plain_files__has(*state, &own));
	assert_false(plain_files__has(*state, &other));
	assert_false(plain_files__has(*state, &roots));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_file_is_plain_when_its_processes_were_looked_at_often, begin, end),
		cmocka_unit_test_setup_teardown(long_lives_say_more, begin, end),
		cmocka_unit_test_setup_teardown(what_was_never_looked_at_says_nothing, begin, end),
		cmocka_unit_test_setup_teardown(one_that_was_python_is_never_plain, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_has_changed_is_another, begin, end),
		cmocka_unit_test_setup_teardown(an_owner_loses_its_own_only, begin, end),
		cmocka_unit_test_setup_teardown(what_a_user_shows_is_for_that_user, begin, end),
		cmocka_unit_test_setup_teardown(what_root_shows_is_for_all, begin, end),
		cmocka_unit_test_setup_teardown(where_roots_are_python_it_is_plain_for_nobody,
						begin, end),
	};

	return cmocka_run_group_tests_name("kernel/maps/plain_files", tests, NULL, NULL);
}
