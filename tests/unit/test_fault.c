/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fault.c - which pages are followed (bpf/fault.h): the same share of every mapping, whatever a program touches of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>

#include "bpf/fault.h"

#define FIRST 0x7f1234567ULL

static void each_group_has_one(void **state)
{
	for (__u32 shift = 0; shift <= 10; shift++)
		for (__u64 group = FIRST >> shift; group < (FIRST >> shift) + 200; group++) {
			unsigned cnt = 0;

			for (__u64 page = group << shift; page < (group + 1) << shift; page++)
				cnt += fault_chooses(page, shift) != 0;
			assert_int_equal(cnt, 1);
		}
}

static void chosen_ones_were_chosen_before(void **state)
{
	for (__u64 page = FIRST; page < FIRST + 100000; page++)
		for (__u32 shift = 1; shift <= FAULT_SHIFT_MAX; shift++) {
			if (!fault_chooses(page, shift))
				continue;
			assert_true(fault_chooses(page, shift - 1));
			assert_true(fault_chooses_region(page, shift, 9));
		}
}

static void any_stride_has_its_share(void **state)
{
	for (__u64 stride = 1; stride <= 1024; stride++) {
		unsigned cnt = 0;

		for (__u64 i = 0; i < 16 * 1000; i++)
			cnt += fault_chooses(FIRST + i * stride, 4) != 0;
		assert_in_range(cnt, 850, 1150);
	}
}

/* Up to a shift that thins whole regions, all of them can be met. */
static void regions_are_thinned_by_what_exceeds_them(void **state)
{
	unsigned cnt = 0;

	for (__u64 region = FIRST >> 12 << 3; region < (FIRST >> 12 << 3) + 4096; region++) {
		assert_true(fault_chooses_region(region << 9, 9, 9));
		assert_int_equal(fault_chooses_region(region << 9, 12, 9) != 0,
				 fault_chooses_region((region << 9) + 511, 12, 9) != 0);
		cnt += fault_chooses_region(region << 9, 12, 9) != 0;
	}
	assert_int_equal(cnt, 4096 / 8);
}

static void a_note_says_what_it_was(void **state)
{
	const __u64 note = fault_note((1ULL << 52) - 1, FAULT_SHIFT_MAX, FAULT_FIRST);

	assert_true(fault_page(note) == (1ULL << 52) - 1);
	assert_int_equal(fault_shift_of(note), FAULT_SHIFT_MAX);
	assert_true(note & FAULT_FIRST && !(note & FAULT_CHOSEN));
}

/* Each pays for itself: one that faults too often has a larger shift, after a burst; a quiet one never. */
static void a_process_thins_its_own(void **state)
{
	struct fault_budget busy = { 0 }, quiet = { 0 };
	__u64 now_ns = 1ULL << 40;

	for (int i = 0; i < FAULT_BURST; i++)
		fault_pay(&busy, now_ns);
	assert_int_equal(busy.rise, 0);
	fault_pay(&busy, now_ns);
	assert_int_equal(busy.rise, 1);
	for (int i = 0; i < FAULT_RISE_ROOM; i++)
		fault_pay(&busy, now_ns);
	assert_int_equal(busy.rise, 1);
	for (int i = 0; i < 100 * FAULT_BURST; i++)
		fault_pay(&busy, now_ns);
	assert_int_equal(busy.rise, FAULT_SHIFT_MAX - FAULT_SHIFT_BEGIN);
	for (int i = 0; i < 100 * FAULT_BURST; i++)
		fault_pay(&quiet, now_ns += 1ULL << FAULT_TICK_SHIFT);
	assert_int_equal(quiet.rise, 0);
	assert_in_range(quiet.used, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_group_has_one),
		cmocka_unit_test(chosen_ones_were_chosen_before),
		cmocka_unit_test(any_stride_has_its_share),
		cmocka_unit_test(regions_are_thinned_by_what_exceeds_them),
		cmocka_unit_test(a_note_says_what_it_was),
		cmocka_unit_test(a_process_thins_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
