/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_slots.c - a slot belongs to one thread at a time. The kernel's map is an array here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/share.h"
#include "kernel/maps/slots.h"

#define MAP_FD 77
#define TIDS 40000

static struct {
	bool there[TIDS];
	struct thread_ref ref[TIDS];
	int updates, lookups, cnt;
	int fail_with; /* the next update fails with this */
} map;

/* These replace libbpf's. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	__u32 tid = *(const __u32 *)key;

	assert_int_equal(fd, MAP_FD);
	assert_in_range(tid, 0, TIDS - 1);
	map.updates++;
	if (map.fail_with) {
		errno = map.fail_with;
		map.fail_with = 0;
		return -errno;
	}
	map.cnt += !map.there[tid];
	map.there[tid] = true;
	memcpy(&map.ref[tid], value, sizeof(map.ref[tid]));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	__u32 tid = *(const __u32 *)key;

	assert_int_equal(fd, MAP_FD);
	assert_in_range(tid, 0, TIDS - 1);
	map.cnt -= map.there[tid];
	map.there[tid] = false;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	__u32 tid = *(const __u32 *)key;

	assert_int_equal(fd, MAP_FD);
	assert_in_range(tid, 0, TIDS - 1);
	map.lookups++;
	if (!map.there[tid])
		return -ENOENT;
	memcpy(value, &map.ref[tid], sizeof(map.ref[tid]));
	return 0;
}

/* For a thread that has no number yet. */
static int add(struct slots *slots, unsigned owner, pid_t tid, __u64 start_ns)
{
	__u32 slot = KRAIT_NO_SLOT;

	return slots__add(slots, owner, tid, start_ns, &slot);
}

/* By the number in the map. */
static void take_away(struct slots *slots, pid_t tid, __u64 start_ns)
{
	slots__remove(slots, map.ref[tid].slot, tid, start_ns);
}

static int setup(void **state)
{
	memset(&map, 0, sizeof(map));
	*state = slots__new(MAP_FD);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	slots__free(*state);
	return 0;
}

/* Checks that each slot in the map belongs to one thread only. */
static void assert_no_slot_twice(void)
{
	static bool taken[KRAIT_MAX_SLOTS];

	memset(taken, 0, sizeof(taken));
	for (int tid = 0; tid < TIDS; tid++) {
		if (!map.there[tid])
			continue;
		assert_in_range(map.ref[tid].slot, 0, KRAIT_MAX_SLOTS - 1);
		assert_false(taken[map.ref[tid].slot]);
		taken[map.ref[tid].slot] = true;
	}
}

static void a_thread_gets_a_slot_bound_to_its_start(void **state)
{
	assert_int_equal(add(*state, OWNER_ROOT, 11, 5000), 0);
	assert_true(map.there[11]);
	assert_int_equal(map.ref[11].start_ns, 5000);
	assert_in_range(map.ref[11].slot, 0, KRAIT_MAX_SLOTS - 1);
}

static void asking_again_changes_nothing(void **state)
{
	__u32 slot = KRAIT_NO_SLOT, again = KRAIT_NO_SLOT;
	int lookups;

	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 5000, &slot), 0);
	assert_int_equal(slot, map.ref[11].slot);
	lookups = map.lookups;
	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 5000, &slot), 0);
	assert_int_equal(map.lookups, lookups); /* the number suffices */
	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 5000, &again), 0);
	assert_int_equal(map.updates, 1);
	assert_int_equal(again, slot);
}

static void the_next_thread_of_an_id_is_another_one(void **state)
{
	__u32 slot = KRAIT_NO_SLOT, next = KRAIT_NO_SLOT;

	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 5000, &slot), 0);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 6000, &next), 0);
	assert_int_equal(map.ref[11].start_ns, 6000);
	assert_int_equal(map.cnt, 1);
	slots__remove(*state, slot, 11, 5000);
	assert_true(map.there[11]);
	slots__remove(*state, next, 11, 6000);
	assert_false(map.there[11]);
	slots__remove(*state, next, 11, 6000);
	assert_int_equal(add(*state, OWNER_ROOT, 12, 1), 0);
	slots__remove(*state, next, 11, 6000); /* it belongs to another thread by now */
	assert_true(map.there[12]);
}

static void an_anchor_is_tied_to_the_thread_that_has_the_slot(void **state)
{
	__u32 slot = KRAIT_NO_SLOT;

	assert_int_equal(slots__set_anchor(*state, slot, 11, 5000, 3), -ENOENT);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 11, 5000, &slot), 0);
	assert_int_equal(map.ref[11].anchor, KRAIT_NO_ANCHOR);
	assert_int_equal(slots__set_anchor(*state, slot, 11, 6000, 3), -ENOENT);
	assert_int_equal(slots__set_anchor(*state, slot, 11, 5000, 3), 0);
	assert_int_equal(map.ref[11].anchor, 3);
	assert_int_equal(map.ref[11].slot, slot);
	assert_int_equal(map.ref[11].start_ns, 5000);
}

static void the_end_of_an_earlier_thread_does_not_take_the_slot(void **state)
{
	assert_int_equal(add(*state, OWNER_ROOT, 11, 6000), 0);
	take_away(*state, 11, 5000);
	assert_true(map.there[11]);
	take_away(*state, 12, 6000);
	assert_true(map.there[11]);
	take_away(*state, 11, 6000);
	assert_false(map.there[11]);
	take_away(*state, 11, 6000);
}

static void every_slot_is_given_out_once_and_then_no_more(void **state)
{
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(add(*state, OWNER_ROOT, i, 1), 0);
	assert_no_slot_twice();
	assert_int_equal(map.cnt, KRAIT_MAX_SLOTS);
	assert_int_equal(add(*state, OWNER_ROOT, KRAIT_MAX_SLOTS, 1), -ENOSPC);
	assert_int_equal(add(*state, OWNER_ROOT, 4711, 1), 0); /* has one already */
	take_away(*state, 4711, 1);
	assert_int_equal(add(*state, OWNER_ROOT, KRAIT_MAX_SLOTS, 1), 0);
	assert_no_slot_twice();
}

static void one_user_leaves_slots_for_others(void **state)
{
	int cnt = 0;

	while (!add(*state, 5, cnt, 1))
		cnt++;
	assert_in_range(cnt, KRAIT_MAX_SLOTS / 2, KRAIT_MAX_SLOTS - KRAIT_MAX_SLOTS / 8);
	assert_int_equal(slots__refused(*state, 5), 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(add(*state, 6, cnt + i, 1), 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS / 8; i++)
		assert_int_equal(add(*state, OWNER_ROOT, cnt + 100 + i, 1), 0);
	assert_no_slot_twice();
	for (int i = 0; i < cnt; i++)
		take_away(*state, i, 1);
	assert_int_equal(add(*state, 5, 0, 1), 0);
}

static void a_map_that_refuses_costs_no_slot(void **state)
{
	for (int i = 0; i < 2 * KRAIT_MAX_SLOTS; i++) {
		map.fail_with = E2BIG;
		assert_int_equal(add(*state, OWNER_ROOT, i, 1), -E2BIG);
	}
	assert_int_equal(map.cnt, 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(add(*state, OWNER_ROOT, i, 1), 0);
	assert_no_slot_twice();
}

static void a_refusal_to_the_next_thread_of_an_id_leaves_none(void **state)
{
	assert_int_equal(add(*state, OWNER_ROOT, 11, 5000), 0);
	map.fail_with = ENOMEM;
	assert_int_equal(add(*state, OWNER_ROOT, 11, 6000), -ENOMEM);
	assert_false(map.there[11]);
	assert_int_equal(add(*state, OWNER_ROOT, 11, 6000), 0);
	assert_int_equal(map.ref[11].start_ns, 6000);
}

static void no_slot_is_lost_or_shared_in_a_long_life(void **state)
{
	unsigned seed = 1;

	for (int i = 0; i < 300000; i++) {
		pid_t tid = rand_r(&seed) % TIDS;

		if (rand_r(&seed) % 5)
			add(*state, OWNER_ROOT, tid, 1 + rand_r(&seed) % 2);
		else
			take_away(*state, tid, 1 + rand_r(&seed) % 2);
	}
	assert_no_slot_twice();
	for (int tid = 0; tid < TIDS; tid++) {
		take_away(*state, tid, 1);
		take_away(*state, tid, 2);
	}
	assert_int_equal(map.cnt, 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(add(*state, OWNER_ROOT, i, 1), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_gets_a_slot_bound_to_its_start),
		T(asking_again_changes_nothing),
		T(the_next_thread_of_an_id_is_another_one),
		T(an_anchor_is_tied_to_the_thread_that_has_the_slot),
		T(the_end_of_an_earlier_thread_does_not_take_the_slot),
		T(every_slot_is_given_out_once_and_then_no_more),
		T(one_user_leaves_slots_for_others),
		T(a_map_that_refuses_costs_no_slot),
		T(a_refusal_to_the_next_thread_of_an_id_leaves_none),
		T(no_slot_is_lost_or_shared_in_a_long_life),
	};

	return cmocka_run_group_tests_name("kernel/maps/slots", tests, NULL, NULL);
}
