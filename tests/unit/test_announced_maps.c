/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "capture/perfdata/announced_maps.h"
#include "process/space/modules.h"
#include "process/space/space.h"

struct fixture {
	struct modules *modules;
	struct module *one, *two, *long_name;
	struct announced_total total;
	struct announced_maps maps;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char name[3001];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	f->modules = modules__new();
	f->one = modules__get_id(f->modules, NULL, "one", 0);
	f->two = modules__get_id(f->modules, NULL, "two", 0);
	f->long_name = modules__get_id(f->modules, NULL, name, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	announced_maps_free(&f->maps);
	modules__free(f->modules);
	free(f);
	return 0;
}

static int add(struct fixture *f, __u64 start, __u64 end, struct module *file)
{
	const struct mapping m = { start, end, 0, { file } };

	return announced_maps_add(&f->maps, &f->total, &m);
}

static void each_is_told_once(void **state)
{
	struct fixture *f = *state;

	for (int round = 0; round < 3; round++)
		for (__u64 i = 0; i < 100; i++) {
			__u64 at = i * 37 % 100 * 0x1000;

			assert_int_equal(add(f, at, at + 0x1000, f->one), !round);
		}
	assert_int_equal(f->maps.cnt, 100);
}

/* Everything that the reader has there ends. */
static void another_in_its_place_is_told(void **state)
{
	struct fixture *f = *state;

	for (__u64 i = 0; i < 10; i++)
		assert_int_equal(add(f, i * 0x1000, (i + 1) * 0x1000, f->one), 1);
	assert_int_equal(add(f, 0x2000, 0x3000, f->two), 1);
	assert_int_equal(add(f, 0x2000, 0x3000, f->two), 0);
	assert_int_equal(add(f, 0x2000, 0x3000, f->one), 1);
	assert_int_equal(add(f, 0x2800, 0x6800, f->two), 1);
	assert_int_equal(f->maps.cnt, 6);
	assert_int_equal(add(f, 0x2000, 0x3000, f->one), 1);
	assert_int_equal(add(f, 0x1000, 0x2000, f->one), 0);
	assert_int_equal(add(f, 0x7000, 0x8000, f->one), 0);
	assert_int_equal(add(f, 0x6000, 0x7000, f->one), 1);
	for (unsigned i = 1; i < f->maps.cnt; i++)
		assert_true(f->maps.list[i - 1].end <= f->maps.list[i].start);
}

static void one_process_is_bounded_and_what_is_cut_counts(void **state)
{
	struct fixture *f = *state;
	__u64 told = 0, all = 16000;

	for (__u64 i = 0; i < all; i++)
		told += (__u64)add(f, i * 0x1000, (i + 1) * 0x1000, f->long_name);
	assert_in_range(told, 200, ANNOUNCED_PROCESS_BYTES / 3000);
	assert_int_equal(f->total.cut, all - told);
	assert_int_equal(f->total.cut_processes, 1);
	assert_in_range(f->total.bytes, 1, ANNOUNCED_PROCESS_BYTES);
	/* Repeating the same place costs as much each time. */
	assert_int_equal(add(f, 0, 0x2000, f->long_name), 0);
}

static void many_processes_leave_room_for_others(void **state)
{
	struct fixture *f = *state;

	for (int process = 0; process < 3000; process++) {
		struct announced_maps maps = { .cnt = 0 };

		for (__u64 i = 0; i < 400; i++) {
			struct mapping m = { i * 0x1000, (i + 1) * 0x1000, 0, { f->long_name } };

			assert_true(announced_maps_add(&maps, &f->total, &m) >= 0);
		}
		announced_maps_free(&maps);
	}
	assert_in_range(f->total.bytes, ANNOUNCED_ALL_BYTES / 2, ANNOUNCED_ALL_BYTES);
	for (__u64 i = 0; i < 20; i++)
		assert_int_equal(add(f, i * 0x1000, (i + 1) * 0x1000, f->one), 1);
}

static void another_image_has_none_of_them(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 0, 0x1000, f->one), 1);
	announced_maps_clear(&f->maps);
	assert_int_equal(add(f, 0, 0x1000, f->one), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_is_told_once),
		TEST(another_in_its_place_is_told),
		TEST(one_process_is_bounded_and_what_is_cut_counts),
		TEST(many_processes_leave_room_for_others),
		TEST(another_image_has_none_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
