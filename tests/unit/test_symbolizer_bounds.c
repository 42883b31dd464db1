/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbolizer_bounds.c - a process with any number of code objects and line tables of any size.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support_sanitized.h"
#include "support_symbolizer.h"
#include "python/code/code_object.h"
#include "python/code/name_share.h"

#define MANY_ADDR 0x100000000ULL
#define TABLE_ADDR 0x200000000ULL

/* As many code objects as requested: all like "old", with a line table of any size. */
struct many {
	struct fixture *f;
	__u64 table_size;
};

static int read_many(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct many *many = ctx;
	struct image *image = many->f->image;

	if (addr == TABLE_ADDR) {
		memset(buf, 0x80, len);
		memcpy((char *)buf + 16, &many->table_size, sizeof(many->table_size));
		return 0;
	}
	if (addr == TABLE_ADDR + 16) {
		memcpy(buf, &many->table_size, len);
		return 0;
	}
	if (addr == TABLE_ADDR + 32) {
		memset(buf, 0x80, len);
		return 0;
	}
	if (addr >= MANY_ADDR && addr < TABLE_ADDR) {
		memcpy(buf, image_at(image, many->f->addr), len);
		if (many->table_size) {
			__u64 table = TABLE_ADDR;

			memcpy((char *)buf + 136, &table, 8);
		}
		return 0;
	}
	return image->memory.read(image, addr, buf, len);
}

static void use_many(struct fixture *f, struct many *many)
{
	many->f = f;
	f->memory = (struct memory){ read_many, many };
	fixture_restart(f);
}

static void test_number_of_objects_is_bounded_and_the_hot_one_stays(void **state)
{
	enum { BOUND = 65536 };
	const int cnt = is_short() ? 80000 : 200000;
	struct fixture *f = *state;
	struct many many = { 0 };
	__u64 hot;

	use_many(f, &many);
	hot = serial_of(f, query_at(f, 5));
	for (int i = 0; i < cnt; i++) {
		struct code_query q = query_at(f, 5);

		q.code_addr = MANY_ADDR + (__u64)i * 256;
		serial_of(f, q);
		if (i % 1000 == 0)
			assert_int_equal(serial_of(f, query_at(f, 5)), hot);
	}
	assert_int_equal(symbolizer__stats(f->s).reads, cnt + 1);
	assert_int_equal(symbolizer__stats(f->s).evictions, cnt + 1 - BOUND);
}

static void test_bytes_of_line_tables_are_bounded(void **state)
{
	enum { FIT = 32 };
	const int cnt = is_short() ? 18 : 2 * FIT;
	struct fixture *f = *state;
	struct many many = { .table_size = LINETABLE_MAX_SZ };

	use_many(f, &many);
	for (int i = 0; i < cnt; i++) {
		struct code_query q = query_at(f, 5);

		q.code_addr = MANY_ADDR + (__u64)i * 256;
		serial_of(f, q);
	}
	/* 4 MiB, and as much for marks, out of 128 MiB: without the marks, FIT of them would fit. */
	assert_in_range(symbolizer__stats(f->s).evictions, cnt > FIT ? cnt - FIT + 1 : 1, cnt - 8);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Printed, not asserted: a busy machine is no failure. Times under sanitizers mean nothing. */
static void test_cost_of_a_hit(void **state)
{
	const int rounds = is_short() ? 100 : 2000;
	static const int counts[] = { 20, 2000 };
	struct fixture *f = *state;
	struct many many = { 0 };
	struct source_position position;
	struct code_symbol symbol;

	use_many(f, &many);
	for (size_t c = 0; c < 2; c++) {
		double start = 0;

		for (int round = 0; round < rounds; round++) {
			if (round == 1)
				start = now_ns();
			for (int i = 0; i < counts[c]; i++) {
				struct code_query q = query_at(f, 5);

				q.code_addr = MANY_ADDR + (__u64)i * 256;
				symbolizer__resolve(f->s, &q, &symbol, &position);
			}
		}
		printf("# hit, %d code objects: %.0f ns\n", counts[c],
		       (now_ns() - start) / (rounds - 1) / counts[c]);
	}
}

/* Looks at ever new code objects until one is refused. */
static unsigned looks_allowed(struct fixture *f, __u64 from, unsigned most)
{
	enum symbol_status status;

	for (unsigned i = 0; i < most; i++) {
		struct code_query q = query_at(f, 5);

		q.code_addr = from + (__u64)i * 256;
		if (!fixture_resolve(f, q, &status)) {
			assert_int_equal(status, SYMBOL_UNREADABLE);
			return i;
		}
	}
	return most;
}

static void test_looks_are_bounded_of_a_process_and_of_its_owner(void **state)
{
	enum { OF_ONE = 100, OF_ALL = 250 };
	struct fixture *f = *state;
	struct name_share owner = { .looks = allowance_of(OF_ALL, 1) };
	struct name_share other = { .looks = allowance_of(OF_ALL, 1) };
	struct many many = { 0 };
	unsigned sum = 0;

	use_many(f, &many);
	for (int process = 0; process < 5; process++) {
		unsigned cnt;

		fixture_restart(f);
		symbolizer__bound_looks(f->s, OF_ONE, 1, &owner);
		cnt = looks_allowed(f, MANY_ADDR, 1000);
		assert_true(cnt <= OF_ONE + 1);
		sum += cnt;
	}
	/* A second may have passed. */
	assert_in_range(sum, OF_ALL, OF_ALL + 2);
	fixture_restart(f);
	symbolizer__bound_looks(f->s, OF_ONE, 1, &other);
	assert_in_range(looks_allowed(f, MANY_ADDR, 1000), OF_ONE, OF_ONE + 1);
	fixture_restart(f);
	symbolizer__bound_looks(f->s, 0, 0, NULL);
	assert_int_equal(looks_allowed(f, MANY_ADDR, 1000), 1000);
}

/* While its owner's share is closed, only what is known has a name; afterwards the rest gets it. */
static void test_a_closed_share_keeps_what_is_known(void **state)
{
	struct name_share share = { .looks = allowance_of(0, 0) };
	struct fixture *f = *state;
	struct code_query known = query_at(f, 5), new = query_at(f, 5);
	struct many many = { 0 };
	enum symbol_status status;
	__u64 ns;

	use_many(f, &many);
	fixture_restart(f);
	symbolizer__bound_looks(f->s, 0, 0, &share);
	known.code_addr = MANY_ADDR;
	new.code_addr = MANY_ADDR + 256;
	assert_true(fixture_resolve(f, known, &status));
	assert_true(share.ns > 0);
	share.closed = true;
	ns = share.ns;
	assert_true(fixture_resolve(f, known, &status));
	assert_false(fixture_resolve(f, new, &status));
	assert_int_equal(status, SYMBOL_LEFT_OUT);
	assert_int_equal(share.left_out, 1);
	assert_int_equal(share.ns, ns);
	share.closed = false;
	assert_true(fixture_resolve(f, new, &status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(test_number_of_objects_is_bounded_and_the_hot_one_stays),
		TEST(test_bytes_of_line_tables_are_bounded),
		TEST(test_looks_are_bounded_of_a_process_and_of_its_owner),
		TEST(test_a_closed_share_keeps_what_is_known),
		TEST(test_cost_of_a_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
