/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_page_cache.c - the same bytes as without a cache, each page read once until the cache is
 * cleared, which gives its memory back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "process/memory/page_cache.h"

#define BASE 0x7f0000000000ULL
#define SIZE (600 * 4096)

struct source {
	unsigned reads;
	unsigned char bytes[SIZE];
};

/* Begins and ends with a partial page. */
static int read_source(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct source *s = ctx;

	s->reads++;
	if (addr < BASE + 100 || addr - BASE > SIZE || len > SIZE - (addr - BASE))
		return -EFAULT;
	memcpy(buf, s->bytes + (addr - BASE), len);
	return 0;
}

static void it_says_what_the_memory_says(void **state)
{
	static struct source s;
	const struct memory memory = { .read = read_source, .ctx = &s };
	struct page_cache *c = page_cache__new(&memory);
	unsigned char got[10000], wanted[10000];

	assert_non_null(c);
	srandom(16);
	for (size_t i = 0; i < SIZE; i++)
		s.bytes[i] = (unsigned char)random();
	for (int i = 0; i < 100000; i++) {
		__u64 addr = BASE - 50 + (__u64)random() % (SIZE + 100);
		size_t len = (size_t)random() % (i % 100 ? 64 : sizeof(got));
		int err = memory_read(&memory, addr, wanted, len);

		assert_int_equal(memory_read(page_cache__memory(c), addr, got, len), err);
		if (!err)
			assert_memory_equal(got, wanted, len);
	}
	page_cache__free(c);
}

static void a_page_is_read_once(void **state)
{
	static struct source s;
	const struct memory memory = { .read = read_source, .ctx = &s };
	struct page_cache *c = page_cache__new(&memory);
	char got;

	s.bytes[5000] = 'a';
	for (int i = 0; i < 100; i++)
		assert_int_equal(memory_read(page_cache__memory(c), BASE + 5000, &got, 1), 0);
	assert_int_equal(s.reads, 1);
	s.bytes[5000] = 'b';
	assert_int_equal(memory_read(page_cache__memory(c), BASE + 5000, &got, 1), 0);
	assert_int_equal(got, 'a');
	page_cache__clear(c);
	assert_int_equal(memory_read(page_cache__memory(c), BASE + 5000, &got, 1), 0);
	assert_int_equal(got, 'b');
	page_cache__free(c);
}

/* Pages of memory that this process has. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &pages), 2);
	fclose(f);
	return pages;
}

static void a_cleared_one_takes_little_memory(void **state)
{
	static struct source s;
	const struct memory memory = { .read = read_source, .ctx = &s };
	struct page_cache *c;
	long before, full;
	char got;

	for (size_t i = 0; i < SIZE; i += 4096)
		s.bytes[i] = 1;
	before = resident();
	c = page_cache__new(&memory);
	page_cache__clear(c);
	assert_true(resident() - before < 100);
	for (unsigned i = 1; i <= 200; i++)
		assert_int_equal(memory_read(page_cache__memory(c), BASE + i * 4096, &got, 1), 0);
	full = resident();
	assert_true(full - before >= 200);
	page_cache__clear(c);
	assert_true(full - resident() >= 180);
	page_cache__free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_the_memory_says),
		cmocka_unit_test(a_page_is_read_once),
		cmocka_unit_test(a_cleared_one_takes_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
