/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel/maps/layouts.h"
#include "base/share/quota.h"

#define ROOT 0
#define GREEDY 7
#define OTHER 9

static int setup(void **state)
{
	*state = layouts__new(NULL);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	layouts__free(*state);
	return 0;
}

static struct py_offsets build(__u32 version, __s32 n)
{
	return (struct py_offsets){ .version = version, .interp = { .id = n } };
}

static int take(struct layouts *l, unsigned owner, __s32 n, __u64 now_ns)
{
	struct py_offsets o = build(0x030f02f0, n);

	return layouts__take(l, owner, &o, now_ns);
}

static void releases_of_one_minor_share_a_place(void **state)
{
	struct layouts *l = *state;
	struct py_offsets o = build(0x030f02f0, 1);
	int first = layouts__take(l, ROOT, &o, 0);

	for (__u32 micro = 3; micro < 255; micro++) {
		o.version = 0x030f00f0 | micro << 8;
		assert_int_equal(layouts__take(l, GREEDY, &o, 0), first);
	}
	assert_int_equal(quota__held(layouts__quota(l), ROOT), 1);
	assert_int_equal(quota__held(layouts__quota(l), GREEDY), 0);
	assert_int_equal(layouts__at(l, first)->version, 0x030f0000);
	o.version = 0x030e02f0;
	assert_int_not_equal(layouts__take(l, ROOT, &o, 0), first);
}

/* The 64 sleeping fakes: they come first, each with a different layout. */
static void many_builds_of_one_leave_room_for_others(void **state)
{
	struct layouts *l = *state;
	int cnt = 0;

	while (cnt < KRAIT_MAX_LAYOUTS && take(l, GREEDY, cnt, 0) >= 0)
		cnt++;
	assert_in_range(cnt, KRAIT_MAX_LAYOUTS / 2, KRAIT_MAX_LAYOUTS - 8);
	assert_int_equal(take(l, GREEDY, 1000, 0), -EDQUOT);
	assert_int_equal(quota__held(layouts__quota(l), GREEDY), cnt);
	for (int i = 0; i < 8; i++)
		assert_in_range(take(l, ROOT, 2000 + i, 0), 0, KRAIT_MAX_LAYOUTS - 1);
	assert_in_range(take(l, OTHER, 3000, 0), 0, KRAIT_MAX_LAYOUTS - 1);
	/* Layouts that exist can be used by all. */
	assert_in_range(take(l, GREEDY, 0, 0), 0, KRAIT_MAX_LAYOUTS - 1);
}

static void a_place_in_use_never_changes(void **state)
{
	struct layouts *l = *state;
	int kept = take(l, ROOT, 1, 0);
	__u64 now_ns = 0;

	for (int i = 2; i < 3000; i++) {
		int index = take(l, GREEDY, i, now_ns += LAYOUTS_REST_NS);

		assert_in_range(index, 0, KRAIT_MAX_LAYOUTS - 1);
		assert_int_not_equal(index, kept);
		layouts__drop(l, (__u32)index, now_ns);
		assert_int_equal(layouts__at(l, (__u32)kept)->interp.id, 1);
	}
}

/* The kernel may have handed it out a moment ago. */
static void a_place_rests_before_it_is_anothers(void **state)
{
	struct layouts *l = *state;
	int index = take(l, ROOT, 1, 0);

	layouts__drop(l, (__u32)index, 100);
	assert_int_not_equal(take(l, ROOT, 2, 100 + LAYOUTS_REST_NS - 1), index);
	assert_int_equal(layouts__at(l, (__u32)index)->interp.id, 1);
	/* It is taken again meanwhile. */
	assert_int_equal(take(l, ROOT, 1, 200), index);
	assert_int_not_equal(take(l, ROOT, 3, 100 + LAYOUTS_REST_NS), index);
	layouts__drop(l, (__u32)index, 300);
	assert_int_equal(take(l, ROOT, 4, 300 + LAYOUTS_REST_NS), index);
	assert_int_equal(layouts__at(l, (__u32)index)->interp.id, 4);
}

static void all_users_count(void **state)
{
	struct layouts *l = *state;
	__u32 index = (__u32)take(l, ROOT, 1, 0);

	layouts__use(l, index);
	layouts__use(l, KRAIT_NO_LAYOUT);
	layouts__drop(l, index, 0);
	layouts__drop(l, KRAIT_NO_LAYOUT, 0);
	layouts__drop(l, KRAIT_MAX_LAYOUTS, 0);
	assert_int_not_equal(take(l, ROOT, 2, 2 * LAYOUTS_REST_NS), index);
	layouts__drop(l, index, 0);
	layouts__drop(l, index, 0);
	assert_int_equal(take(l, ROOT, 3, 2 * LAYOUTS_REST_NS), index);
	assert_null(layouts__at(l, KRAIT_NO_LAYOUT));
	assert_null(layouts__at(l, KRAIT_MAX_LAYOUTS - 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(releases_of_one_minor_share_a_place),
		TEST(many_builds_of_one_leave_room_for_others),
		TEST(a_place_in_use_never_changes),
		TEST(a_place_rests_before_it_is_anothers),
		TEST(all_users_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
