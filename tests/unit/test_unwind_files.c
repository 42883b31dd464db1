/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unwind_files.c - who gets a number for a file, and who pays for it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <linux/types.h>

#include "process/space/modules.h"
#include "bpf/native/rows.h"
#include "record/unwinding/unwind_files.h"
#include "bpf/share.h"
#include "native/rows/plain_tables.h"
#include "native/rows/tables.h"

#define ALICE 7
#define BOB 200
#define CAROL 33

struct scene {
	struct modules *modules;
	struct plain_tables *memory;
	struct unwind_tables *tables;
	struct unwind_files *files;
};

static void begin(struct scene *s)
{
	s->modules = modules__new();
	s->memory = plain_tables__new(4 << 20);
	assert_non_null(s->modules);
	assert_non_null(s->memory);
	s->tables = plain_tables__tables(s->memory);
	s->files = unwind_files__new(s->tables);
	assert_non_null(s->files);
}

static void end(struct scene *s)
{
	unwind_files__free(s->files);
	plain_tables__free(s->memory);
	modules__free(s->modules);
}

static const struct module *module_of(struct scene *s, unsigned number)
{
	const struct module *m;
	char name[32];

	snprintf(name, sizeof(name), "/lib/%u.so", number);
	m = modules__get_id(s->modules, NULL, name, OWNER_ROOT);
	assert_non_null(m);
	return m;
}

static __u32 hold(struct scene *s, unsigned number, unsigned owner)
{
	return unwind_files__hold(s->files, module_of(s, number), owner);
}

/* Somebody maps as many files as there are numbers for. Returns how many have one. */
static unsigned flood(struct scene *s, unsigned owner)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < UNWIND_FILES_MAX; i++)
		cnt += hold(s, 1000 + i, owner) != 0;
	return cnt;
}

static void one_owner_cannot_have_all_numbers(void **state)
{
	struct scene s;
	unsigned cnt;

	begin(&s);
	cnt = flood(&s, BOB);
	assert_in_range(cnt, UNWIND_FILES_MAX / 2, UNWIND_FILES_MAX - 100);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_not_equal(hold(&s, i, ALICE), 0);
		assert_int_not_equal(hold(&s, 100 + i, OWNER_ROOT), 0);
	}
	assert_int_not_equal(unwind_files__hold_made(s.files, ALICE), 0);
	assert_int_equal(unwind_files__hold_made(s.files, BOB), 0);
	assert_int_equal(hold(&s, 300, BOB), 0);
	/* What he is refused has no number, whose rows root would pay for. */
	assert_int_equal(unwind_files__find(s.files, module_of(&s, 300)), 0);
	/* What is already known costs no number. */
	assert_int_not_equal(hold(&s, 1000, BOB), 0);
	end(&s);
}

/* Root pays for what several owners map, but not for all that two of them like to map. */
static void two_owners_together_cannot_have_all_numbers(void **state)
{
	struct scene s;

	begin(&s);
	for (unsigned i = 0; i < UNWIND_FILES_MAX; i++)
		if (hold(&s, 1000 + i, BOB))
			assert_int_not_equal(hold(&s, 1000 + i, CAROL), 0);
	(void)flood(&s, CAROL);
	for (unsigned i = 0; i < 25; i++) {
		assert_int_not_equal(hold(&s, i, ALICE), 0);
		assert_int_not_equal(hold(&s, 100 + i, OWNER_ROOT), 0);
	}
	end(&s);
}

/* Numbers are given back as often as they are taken. */
static void numbers_come_back(void **state)
{
	struct scene s;
	unsigned first;

	begin(&s);
	first = flood(&s, BOB);
	for (int turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < UNWIND_FILES_MAX; i++) {
			__u32 number = unwind_files__find(s.files, module_of(&s, 1000 + i));

			assert_int_equal(number != 0, i < first);
			unwind_files__release(s.files, number);
		}
		assert_int_equal(flood(&s, BOB), first);
	}
	end(&s);
}

/* Of files that nobody maps any more the rows stay, whatever somebody is refused. */
static void what_is_refused_costs_nobody_a_number(void **state)
{
	struct scene s;

	begin(&s);
	for (unsigned i = 0; i < 50; i++)
		unwind_files__release(s.files, hold(&s, i, ALICE));
	assert_true(flood(&s, BOB) < UNWIND_FILES_MAX);
	for (unsigned i = 0; i < 50; i++)
		assert_int_not_equal(unwind_files__find(s.files, module_of(&s, i)), 0);
	end(&s);
}

/* Of files that nobody maps any more the numbers are anybody's. */
static void what_nobody_maps_makes_room(void **state)
{
	struct scene s;

	begin(&s);
	for (unsigned i = 0; i < 3 * UNWIND_FILES_MAX; i++) {
		__u32 number = hold(&s, i, i % 2 ? ALICE : BOB);

		assert_int_not_equal(number, 0);
		unwind_files__release(s.files, number);
	}
	assert_int_equal(unwind_files__find(s.files, module_of(&s, 0)), 0);
	end(&s);
}

static void who_maps_a_file_pays_and_root_for_several(void **state)
{
	struct scene s;
	__u32 number;

	begin(&s);
	number = hold(&s, 1, BOB);
	assert_int_equal(unwind_tables__owner(s.tables, number), BOB);
	assert_int_equal(hold(&s, 1, BOB), number);
	assert_int_equal(unwind_tables__owner(s.tables, number), BOB);
	assert_int_equal(hold(&s, 1, ALICE), number);
	assert_int_equal(unwind_tables__owner(s.tables, number), OWNER_ROOT);
	/* As long as anybody maps it; whoever begins anew pays again. */
	unwind_files__release(s.files, number);
	unwind_files__release(s.files, number);
	assert_int_equal(unwind_tables__owner(s.tables, number), OWNER_ROOT);
	unwind_files__release(s.files, number);
	assert_int_equal(hold(&s, 1, ALICE), number);
	assert_int_equal(unwind_tables__owner(s.tables, number), ALICE);
	/* A fork that has become another user. */
	unwind_files__share(s.files, number, BOB);
	assert_int_equal(unwind_tables__owner(s.tables, number), OWNER_ROOT);
	end(&s);
}

/* Two users map copies of a library together, and each of them the other's; what they cost is theirs. */
static void who_owns_a_file_pays_whoever_maps_it(void **state)
{
	unsigned cnt = 0;
	struct scene s;
	__u32 number;

	begin(&s);
	for (unsigned i = 0; i < UNWIND_FILES_MAX; i++) {
		number = hold(&s, 1000 + i, ALICE);
		cnt += number != 0;
		if (!number)
			continue;
		unwind_files__set_payer(s.files, number, ALICE);
		assert_int_equal(hold(&s, 1000 + i, BOB), number);
		assert_int_equal(unwind_tables__owner(s.tables, number), ALICE);
	}
	assert_in_range(cnt, UNWIND_FILES_MAX / 2, UNWIND_FILES_MAX - 100);
	assert_int_not_equal(hold(&s, 1, BOB), 0);
	assert_int_not_equal(hold(&s, 2, OWNER_ROOT), 0);
	/* What her quota has no room for is paid for as before. */
	number = hold(&s, 3, BOB);
	unwind_files__set_payer(s.files, number, ALICE);
	assert_int_equal(unwind_tables__owner(s.tables, number), BOB);
	/* They remain hers while nobody maps them, and when somebody else begins. */
	for (unsigned i = 0; i < UNWIND_FILES_MAX; i++) {
		number = unwind_files__find(s.files, module_of(&s, 1000 + i));
		unwind_files__release(s.files, number);
		unwind_files__release(s.files, number);
	}
	assert_true(hold(&s, 1000, BOB) != 0);
	assert_int_equal(unwind_tables__owner(s.tables,
					      unwind_files__find(s.files, module_of(&s, 1000))),
			 ALICE);
	unwind_files__release(s.files, unwind_files__find(s.files, module_of(&s, 1000)));
	/* Given back as often as taken: there is room for as many again, but for the others' three. */
	assert_in_range(flood(&s, ALICE), cnt - 3, cnt);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_owner_cannot_have_all_numbers),
		cmocka_unit_test(two_owners_together_cannot_have_all_numbers),
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(what_is_refused_costs_nobody_a_number),
		cmocka_unit_test(what_nobody_maps_makes_room),
		cmocka_unit_test(who_maps_a_file_pays_and_root_for_several),
		cmocka_unit_test(who_owns_a_file_pays_whoever_maps_it),
	};

	return cmocka_run_group_tests_name("files of the unwinder", tests, NULL, NULL);
}
