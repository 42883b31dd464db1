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

#include "abi.h"
#include "share.h"
#include "sampler/slots.h"

#define MAP_FD 77
#define TIDS 40000

static struct {
	bool there[TIDS];
	struct thread_ref ref[TIDS];
	int updates, cnt;
	int fail_with; /* the next update fails */
} map;

/* These take the place of libbpf's. */
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

/* Each slot in the map belongs to one thread only. */
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
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 5000), 0);
	assert_true(map.there[11]);
	assert_int_equal(map.ref[11].start_ns, 5000);
	assert_in_range(map.ref[11].slot, 0, KRAIT_MAX_SLOTS - 1);
}

static void asking_again_changes_nothing(void **state)
{
	__u32 slot;

	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 5000), 0);
	slot = map.ref[11].slot;
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 5000), 0);
	assert_int_equal(map.updates, 1);
	assert_int_equal(map.ref[11].slot, slot);
}

static void the_next_thread_of_an_id_is_another_one(void **state)
{
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 5000), 0);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 20, 11, 6000), 0);
	assert_int_equal(map.ref[11].start_ns, 6000);
	assert_int_equal(map.cnt, 1);
	slots__remove_process(*state, 10); /* the thread is no longer of this one */
	assert_true(map.there[11]);
	slots__remove_process(*state, 20);
	assert_false(map.there[11]);
}

static void the_end_of_an_earlier_thread_does_not_take_the_slot(void **state)
{
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 6000), 0);
	slots__remove(*state, 11, 5000);
	assert_true(map.there[11]);
	slots__remove(*state, 12, 6000);
	assert_true(map.there[11]);
	slots__remove(*state, 11, 6000);
	assert_false(map.there[11]);
	slots__remove(*state, 11, 6000);
}

static void every_slot_is_given_out_once_and_then_no_more(void **state)
{
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(slots__add(*state, OWNER_ROOT, 10, i, 1), 0);
	assert_no_slot_twice();
	assert_int_equal(map.cnt, KRAIT_MAX_SLOTS);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, KRAIT_MAX_SLOTS, 1), -ENOSPC);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 4711, 1), 0); /* has one */
	slots__remove(*state, 4711, 1);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, KRAIT_MAX_SLOTS, 1), 0);
	assert_no_slot_twice();
}

static void one_user_leaves_slots_for_others(void **state)
{
	int cnt = 0;

	while (!slots__add(*state, 5, 10, cnt, 1))
		cnt++;
	assert_in_range(cnt, KRAIT_MAX_SLOTS / 2, KRAIT_MAX_SLOTS - KRAIT_MAX_SLOTS / 8);
	assert_int_equal(slots__refused(*state, 5), 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(slots__add(*state, 6, 20, cnt + i, 1), 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS / 8; i++)
		assert_int_equal(slots__add(*state, OWNER_ROOT, 30, cnt + 100 + i, 1), 0);
	assert_no_slot_twice();
	slots__remove_process(*state, 10);
	assert_int_equal(slots__add(*state, 5, 10, 0, 1), 0);
}

static void a_process_gives_back_all_its_slots_and_no_others(void **state)
{
	for (int i = 0; i < 1000; i++)
		assert_int_equal(slots__add(*state, OWNER_ROOT, 1 + i % 3, i, 1), 0);
	slots__remove_process(*state, 2);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(map.there[i], i % 3 != 1);
}

static void a_map_that_refuses_costs_no_slot(void **state)
{
	for (int i = 0; i < 2 * KRAIT_MAX_SLOTS; i++) {
		map.fail_with = E2BIG;
		assert_int_equal(slots__add(*state, OWNER_ROOT, 10, i, 1), -E2BIG);
	}
	assert_int_equal(map.cnt, 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(slots__add(*state, OWNER_ROOT, 10, i, 1), 0);
	assert_no_slot_twice();
}

static void a_refusal_to_the_next_thread_of_an_id_leaves_none(void **state)
{
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 5000), 0);
	map.fail_with = ENOMEM;
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 6000), -ENOMEM);
	assert_false(map.there[11]);
	assert_int_equal(slots__add(*state, OWNER_ROOT, 10, 11, 6000), 0);
	assert_int_equal(map.ref[11].start_ns, 6000);
}

static void no_slot_is_lost_or_shared_in_a_long_life(void **state)
{
	unsigned seed = 1;

	for (int i = 0; i < 300000; i++) {
		pid_t tid = rand_r(&seed) % TIDS, pid = 1 + tid % 50;

		if (rand_r(&seed) % 5)
			slots__add(*state, OWNER_ROOT, pid, tid, 1 + rand_r(&seed) % 2);
		else if (rand_r(&seed) % 1000)
			slots__remove(*state, tid, 1 + rand_r(&seed) % 2);
		else
			slots__remove_process(*state, pid);
	}
	assert_no_slot_twice();
	for (int pid = 1; pid <= 50; pid++)
		slots__remove_process(*state, pid);
	assert_int_equal(map.cnt, 0);
	for (int i = 0; i < KRAIT_MAX_SLOTS; i++)
		assert_int_equal(slots__add(*state, OWNER_ROOT, 10, i, 1), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_gets_a_slot_bound_to_its_start),
		T(asking_again_changes_nothing),
		T(the_next_thread_of_an_id_is_another_one),
		T(the_end_of_an_earlier_thread_does_not_take_the_slot),
		T(every_slot_is_given_out_once_and_then_no_more),
		T(one_user_leaves_slots_for_others),
		T(a_process_gives_back_all_its_slots_and_no_others),
		T(a_map_that_refuses_costs_no_slot),
		T(a_refusal_to_the_next_thread_of_an_id_leaves_none),
		T(no_slot_is_lost_or_shared_in_a_long_life),
	};

	return cmocka_run_group_tests_name("sampler/slots", tests, NULL, NULL);
}
