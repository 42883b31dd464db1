/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbolizer.c - the right name or none: replaced objects, recognised by their interpreter's
 * generation or by a fingerprint.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support_symbolizer.h"

/* ---- generations ----------------------------------------------------------------------------- */

static void test_same_generation_is_a_hit_without_reads(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;
	__u64 serial;

	assert_name(f, query_at(f, 5), "old");
	serial = serial_of(f, query_at(f, 5));
	reads = f->image->reads;
	f->image->fail_at = 1; /* the process may have ended */
	assert_name(f, query_at(f, 5), "old");
	assert_int_equal(serial_of(f, query_at(f, 5)), serial);
	assert_int_equal(f->image->reads, reads);
	assert_int_equal(symbolizer__stats(f->s).reads, 1);
	assert_int_equal(symbolizer__stats(f->s).hits, 3);
}

static void test_unchanged_object_is_confirmed_by_its_head(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;
	__u64 serial;

	serial = serial_of(f, query_at(f, 5));
	fixture_set_generation(f, 9);
	reads = f->image->reads;
	assert_name(f, query_at(f, 7), "old");
	assert_int_equal(f->image->reads, reads + 5); /* generation, head with its contents */
	for (__u64 generation = 5; generation < 9; generation++)
		assert_int_equal(serial_of(f, query_at(f, generation)), serial);
	assert_int_equal(f->image->reads, reads + 5);
	/* Generation 9 was still current when the look began. */
	assert_name(f, query_at(f, 9), "old");
	assert_name(f, query_at(f, 9), "old");
	assert_int_equal(f->image->reads, reads + 9);
	assert_int_equal(symbolizer__stats(f->s).revalidations, 2);
}

/* The object is dead during the look, but its memory has not been reused yet. */
static void test_look_at_a_corpse_proves_nothing_for_later(void **state)
{
	struct fixture *f = *state;

	assert_name(f, query_at(f, 5), "old");
	fixture_set_generation(f, 8);
	assert_name(f, query_at(f, 7), "old");
	image_put_code(f->image, f->addr, &f->new);
	assert_name(f, query_at(f, 8), "new");

	fixture_undo(f);
	fixture_restart(f);
	fixture_set_generation(f, 8);
	assert_status(f, query_at(f, 7), SYMBOL_STALE);
	image_put_code(f->image, f->addr, &f->new);
	assert_name(f, query_at(f, 8), "new");
}

/* As the allocator leaves it: only the word of the reference count has changed. */
static void test_dead_object_is_stale(void **state)
{
	static const __u64 words[] = { 0, 0x7f0012345670ULL, 0x5500000000ULL };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		fixture_undo(f);
		fixture_restart(f);
		memcpy(image_at(f->image, f->addr), &words[i], 8);
		fixture_set_generation(f, 6);
		assert_status(f, query_at(f, 5), SYMBOL_STALE);
		assert_status(f, query_by(f, &f->old), SYMBOL_STALE);
	}
	fixture_undo(f);
	fixture_restart(f);
	assert_name(f, query_at(f, 5), "old");
	fixture_set_generation(f, 7);
	memcpy(image_at(f->image, f->addr), &words[1], 8);
	assert_status(f, query_at(f, 6), SYMBOL_STALE);
}

static void test_generation_is_read_once_for_a_batch(void **state)
{
	struct fixture *f = *state;
	struct code_query other = query_at(f, 5);
	unsigned long reads;

	other.code_addr = image_code(f->image, &f->old);
	assert_name(f, query_at(f, 5), "old");
	assert_name(f, other, "old");
	fixture_set_generation(f, 9);
	other.code_generation = 7;
	reads = f->image->reads;
	assert_name(f, query_at(f, 7), "old");
	assert_name(f, other, "old");
	assert_int_equal(f->image->reads, reads + 9); /* generation, two heads with contents */
}

static void test_replaced_object_has_its_own_name_and_serial(void **state)
{
	struct fixture *f = *state;
	__u64 serial = serial_of(f, query_at(f, 5));

	fixture_replace(f->image, f);
	assert_name(f, query_at(f, 6), "new");
	assert_true(serial_of(f, query_at(f, 6)) > serial);
	/* An earlier interrupt did not see the new one, and the old one is gone. */
	assert_status(f, query_at(f, 5), SYMBOL_STALE);
	assert_int_equal(symbolizer__stats(f->s).stale, 1);
}

static void test_replaced_since_the_interrupt_is_stale(void **state)
{
	struct fixture *f = *state;

	fixture_replace(f->image, f);
	assert_status(f, query_at(f, 5), SYMBOL_STALE);
	assert_name(f, query_at(f, 6), "new");

	fixture_set_generation(f, 8);
	f->new.qualname_addr = image_ascii(f->image, "third");
	fixture_replace(f->image, f);
	assert_status(f, query_at(f, 8), SYMBOL_STALE);
	assert_name(f, query_at(f, 9), "third");
}

/* Memory and strings are both reused, as by exec() and del in a loop: only co_version differs. */
static void test_same_pointers_are_not_the_same_object(void **state)
{
	struct fixture *f = *state;

	assert_name(f, query_at(f, 5), "old");
	f->new.qualname_addr = f->old.qualname_addr;
	fixture_replace(f->image, f);
	assert_name(f, query_at(f, 6), "bad");
	f->new.version++;
	fixture_replace(f->image, f);
	fixture_set_generation(f, 20);
	assert_status(f, query_at(f, 10), SYMBOL_STALE);
}

/* Code objects die all the time: the generation is never that of the interrupt. */
static void test_stale_answer_is_good_for_later_queries(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;

	fixture_set_generation(f, 100);
	assert_status(f, query_at(f, 90), SYMBOL_STALE);
	fixture_set_generation(f, 200);
	assert_name(f, query_at(f, 150), "old");
	reads = f->image->reads;
	assert_name(f, query_at(f, 100), "old");
	assert_status(f, query_at(f, 99), SYMBOL_STALE);
	assert_int_equal(f->image->reads, reads);
}

static void test_generations_of_two_interpreters_do_not_mix(void **state)
{
	struct fixture *f = *state;
	struct code_query other = query_at(f, 5);
	__u64 generation = 5;

	assert_name(f, query_at(f, 5), "old");
	other.interp_addr = image_alloc(f->image, 64);
	memcpy(image_at(f->image, other.interp_addr + 24), &generation, 8);
	image_put_code(f->image, f->addr, &f->new);
	assert_name(f, other, "new");
	/* The first one's generation does not change although its object is gone. */
	assert_name(f, query_at(f, 5), "new");
	other.interp_addr = 0;
	assert_status(f, other, SYMBOL_UNREADABLE);
}

static void test_generation_that_runs_backwards_proves_nothing(void **state)
{
	struct fixture *f = *state;

	assert_status(f, query_at(f, 6), SYMBOL_STALE);
	assert_name(f, query_at(f, 5), "old");
	assert_status(f, query_at(f, 6), SYMBOL_STALE);
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

static void test_fingerprint_decides(void **state)
{
	struct fixture *f = *state;
	struct code_query q = query_by(f, &f->old);
	unsigned long reads;

	use_layout_without_generation(f);
	assert_status(f, query_by(f, &f->new), SYMBOL_STALE);
	assert_name(f, q, "old");
	reads = f->image->reads;
	assert_name(f, q, "old");
	assert_int_equal(f->image->reads, reads);
	fixture_replace(f->image, f);
	assert_name(f, q, "old"); /* the interrupt saw this one */
	assert_name(f, query_by(f, &f->new), "new");
	assert_status(f, q, SYMBOL_STALE);
}

static void test_fingerprint_outweighs_the_generation(void **state)
{
	struct fixture *f = *state;
	struct code_query q = query_by(f, &f->new);

	assert_name(f, query_at(f, 5), "old");
	q.code_generation = 5;
	assert_status(f, q, SYMBOL_STALE);
	q = query_by(f, &f->old);
	q.code_generation = 99;
	assert_name(f, q, "old");
}

static void test_nothing_to_prove_with_goes_by_address(void **state)
{
	struct fixture *f = *state;

	use_layout_without_generation(f);
	assert_name(f, query_at(f, 0), "old");
	assert_name(f, query_at(f, 99), "old");
	assert_int_equal(symbolizer__stats(f->s).reads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(test_same_generation_is_a_hit_without_reads),
		TEST(test_unchanged_object_is_confirmed_by_its_head),
		TEST(test_look_at_a_corpse_proves_nothing_for_later),
		TEST(test_dead_object_is_stale),
		TEST(test_generation_is_read_once_for_a_batch),
		TEST(test_replaced_object_has_its_own_name_and_serial),
		TEST(test_replaced_since_the_interrupt_is_stale),
		TEST(test_same_pointers_are_not_the_same_object),
		TEST(test_stale_answer_is_good_for_later_queries),
		TEST(test_generations_of_two_interpreters_do_not_mix),
		TEST(test_generation_that_runs_backwards_proves_nothing),
		TEST(test_fingerprint_decides),
		TEST(test_fingerprint_outweighs_the_generation),
		TEST(test_nothing_to_prove_with_goes_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
