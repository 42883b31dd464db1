/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_linetable.c - the line table decoder: each form of entry, hostile bytes, and a comparison
 * with each interpreter's own statement about every code unit of its standard library.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support_pythons.h"
#include "support_sanitized.h"
#include "python/code/linetable.h"
#include "python/code/linetable_old.h"
#include "base/data/cleanup.h"

#define HEAD(form, units) (0x80 | (form) << 3 | ((units)-1))
#define PYTHONS_MAX 16
#define RANDOM_TABLES 20000

static struct linetable make_table(const __u8 *bytes, __u32 size, int first_line)
{
	__u8 *copy = malloc(size + !size);
	struct linetable t;

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	assert_int_equal(linetable_init(&t, copy, size, first_line), 0);
	return t;
}

static void assert_position(struct source_position p, int line, int end_line, int column,
			    int end_column)
{
	assert_int_equal(p.line, line);
	assert_int_equal(p.end_line, end_line);
	assert_int_equal(p.column, column);
	assert_int_equal(p.end_column, end_column);
}

static bool same_position(const struct source_position *a, const struct source_position *b)
{
	return a->line == b->line && a->end_line == b->end_line && a->column == b->column &&
	       a->end_column == b->end_column;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void test_decodes_each_form(void **state)
{
	static const __u8 bytes[] = {
		HEAD(2, 1),  0x53, /* 0: column 16 + 5, width 3 */
		HEAD(10, 2), 7,	   100, /* 1-2: same line */
		HEAD(12, 8), 0,	   127, /* 3-10: line + 2 */
		HEAD(13, 1), 6, /* 11: line + 3, no columns */
		HEAD(15, 3), /* 12-14: nothing; the running line stays */
		HEAD(14, 1), 3,	   2,	0x40 | 1, 3, 11, /* 15: line - 1 to + 2, columns 192, 10 */
		HEAD(14, 1), 0,	   0,	0,	  0, /* 16: no columns in the long form */
		HEAD(9, 1),  0x0f, /* 17: column 72 to 87 */
	};
	struct linetable t = make_table(bytes, sizeof(bytes), 10);

	assert_position(linetable_lookup(&t, 0), 10, 10, 21, 24);
	assert_position(linetable_lookup(&t, 1), 10, 10, 7, 100);
	assert_position(linetable_lookup(&t, 2), 10, 10, 7, 100);
	assert_position(linetable_lookup(&t, 3), 12, 12, 0, 127);
	assert_position(linetable_lookup(&t, 10), 12, 12, 0, 127);
	assert_position(linetable_lookup(&t, 11), 15, 15, -1, -1);
	for (__u32 unit = 12; unit < 15; unit++)
		assert_position(linetable_lookup(&t, unit), -1, -1, -1, -1);
	assert_position(linetable_lookup(&t, 15), 14, 16, 192, 10);
	assert_position(linetable_lookup(&t, 16), 14, 14, -1, -1);
	assert_position(linetable_lookup(&t, 17), 14, 14, 72, 87);
	assert_position(linetable_lookup(&t, 18), -1, -1, -1, -1);
	assert_position(linetable_lookup(&t, UINT_MAX), -1, -1, -1, -1);
	linetable_deinit(&t);
}

static void test_empty_table_knows_nothing(void **state)
{
	struct linetable none = { 0 };
	struct linetable t = make_table(NULL, 0, 7);

	assert_position(linetable_lookup(&t, 0), -1, -1, -1, -1);
	assert_position(linetable_lookup(&none, 0), -1, -1, -1, -1);
	linetable_deinit(&t);
	linetable_deinit(&none);
}

/* ---- hostile --------------------------------------------------------------------------------- */

/* Each in memory of exactly its size, so that the sanitizer notices reads beyond it. */
static void test_cut_anywhere_ends_there(void **state)
{
	static const __u8 bytes[] = { HEAD(2, 1), 1, HEAD(11, 1), 1,	2, HEAD(13, 1),
				      0x40 | 2,	  1, HEAD(14, 1), 0x40, 1, 0x40,
				      0x40,	  1, 1,		  0x41, 2 };
	struct linetable whole = make_table(bytes, sizeof(bytes), 1);

	for (__u32 size = 0; size < sizeof(bytes); size++) {
		struct linetable t = make_table(bytes, size, 1);

		for (__u32 unit = 0; unit < 5; unit++) {
			struct source_position cut = linetable_lookup(&t, unit);
			struct source_position p = linetable_lookup(&whole, unit);

			if (cut.line != -1)
				assert_true(same_position(&cut, &p));
		}
		linetable_deinit(&t);
	}
	linetable_deinit(&whole);
}

static void test_entry_without_mark_ends_the_table(void **state)
{
	static const __u8 bytes[] = { HEAD(0, 1), 0, 0x05, 0, HEAD(0, 1), 0 };
	struct linetable t = make_table(bytes, sizeof(bytes), 5);

	assert_position(linetable_lookup(&t, 0), 5, 5, 0, 0);
	assert_position(linetable_lookup(&t, 1), -1, -1, -1, -1);
	assert_position(linetable_lookup(&t, 2), -1, -1, -1, -1);
	linetable_deinit(&t);
}

static void test_number_of_more_than_32_bits_ends_the_table(void **state)
{
	static const __u8 most[] = { HEAD(13, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 3 };
	static const __u8 large[] = { HEAD(13, 1), 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 4 };
	static const __u8 endless[] = { HEAD(13, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 1 };
	struct linetable t = make_table(most, sizeof(most), 0);

	assert_position(linetable_lookup(&t, 0), INT_MAX, INT_MAX, -1, -1);
	linetable_deinit(&t);
	t = make_table(large, sizeof(large), 0);
	assert_position(linetable_lookup(&t, 0), -1, -1, -1, -1);
	linetable_deinit(&t);
	t = make_table(endless, sizeof(endless), 0);
	assert_position(linetable_lookup(&t, 0), -1, -1, -1, -1);
	linetable_deinit(&t);
}

static void test_line_beyond_int_is_unknown(void **state)
{
	static const __u8 bytes[] = { HEAD(14, 1), 2, 0, 1, 1,		 HEAD(14, 1),
				      3,	   1, 1, 1, HEAD(13, 1), 3 };
	struct linetable t = make_table(bytes, sizeof(bytes), INT_MAX);

	assert_position(linetable_lookup(&t, 0), -1, -1, 0, 0);
	assert_position(linetable_lookup(&t, 1), INT_MAX, -1, 0, 0);
	assert_position(linetable_lookup(&t, 2), INT_MAX - 1, INT_MAX - 1, -1, -1);
	linetable_deinit(&t);
}

/* Deterministic, so that a failure is reproducible. */
static __u32 next_random(__u64 *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (__u32)(*seed >> 33);
}

/* A lookup must agree with decoding from the start, whatever the bytes are. */
static void test_index_agrees_with_decoding(void **state)
{
	__u64 seed = 1;

	for (int round = 0; round < TIMES(RANDOM_TABLES); round++) {
		__u32 size = next_random(&seed) % 400;
		struct linetable_cursor c;
		struct linetable_entry entry;
		struct linetable t;
		__u8 bytes[400];
		__u32 unit = 0;

		/* Mostly well-formed: a head byte where one is due, small bytes elsewhere. */
		for (__u32 i = 0; i < size; i++)
			bytes[i] = next_random(&seed) % 3 ? 0x80 | next_random(&seed) % 128 :
							    next_random(&seed) % 128;
		for (__u32 i = 0; i + 1 < size && round % 2; i += 2) {
			bytes[i] = HEAD(next_random(&seed) % 10, 1 + next_random(&seed) % 8);
			bytes[i + 1] = next_random(&seed) % 128;
		}
		t = make_table(bytes, size, (int)next_random(&seed));
		linetable_cursor_init(&c, t.bytes, t.size, t.first_line);
		while (linetable_next(&c, &entry)) {
			assert_int_equal(entry.unit, unit);
			for (; unit < entry.unit_end; unit++) {
				struct source_position p = linetable_lookup(&t, unit);

				assert_true(same_position(&p, &entry.position));
			}
		}
		assert_position(linetable_lookup(&t, unit), -1, -1, -1, -1);
		linetable_deinit(&t);
	}
}

/* ---- speed ----------------------------------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Printed, not asserted: a busy machine is no failure. A linear search would be 100 times slower. */
static void test_lookup_in_a_large_table_is_fast(void **state)
{
	enum { SIZE = 60000 };
	const int lookups = TIMES(1000000);
	cleanup_free __u8 *bytes = malloc(SIZE);
	struct linetable t;
	__u64 seed = 7;
	double start, once;
	long sum = 0;

	assert_non_null(bytes);
	for (__u32 i = 0; i < SIZE; i += 3) {
		bytes[i] = HEAD(10 + i % 3, 4);
		bytes[i + 1] = 3;
		bytes[i + 2] = 70;
	}
	t = make_table(bytes, SIZE, 1);
	start = now_ns();
	for (int i = 0; i < lookups; i++)
		sum += linetable_lookup(&t, next_random(&seed) % (SIZE / 3 * 4)).line;
	once = (now_ns() - start) / lookups;
	assert_true(sum > 0);
	printf("# lookup in a table of %d bytes: %.0f ns\n", SIZE, once);
	linetable_deinit(&t);
}

/* ---- interpreters ---------------------------------------------------------------------------- */

struct tally {
	unsigned long objects, units;
	__u32 largest, modules;
};

struct dump_header {
	__u32 size;
	__s32 first_line;
	__u32 units;
};

struct dump_run {
	__u32 units;
	struct source_position position;
};
_Static_assert(sizeof(struct dump_run) == 20, "format of dump_positions.py");

static void read_all(FILE *in, void *buf, size_t len)
{
	if (len && fread(buf, len, 1, in) != 1)
		fail_msg("dump_positions.py ended early");
}

/* Converts the table to the format that linetable.c reads. */
static __u8 *to_3_11(int minor, __u8 *bytes, __u32 *size, __u32 units)
{
	__u8 *translated = NULL;

	if (minor >= 11)
		return bytes;
	if (minor == 10)
		assert_int_equal(linetable_from_3_10(bytes, *size, &translated, size), 0);
	else
		assert_int_equal(linetable_from_lnotab(bytes, *size, 2 * units, &translated, size),
				 0);
	free(bytes);
	return translated;
}

/* Checks each unit of one code object with both ways of decoding. */
static void check_object(FILE *in, int minor, const struct dump_header *header, struct tally *tally)
{
	__u32 size = header->size;
	__u8 *bytes = malloc(header->size + 1);
	struct linetable_cursor c;
	struct linetable_entry entry = { 0 };
	struct linetable t;
	__u32 unit = 0;

	assert_non_null(bytes);
	read_all(in, bytes, header->size);
	bytes = to_3_11(minor, bytes, &size, header->units);
	assert_int_equal(linetable_init(&t, bytes, size, header->first_line), 0);
	linetable_cursor_init(&c, t.bytes, t.size, t.first_line);
	while (unit < header->units) {
		struct dump_run run;

		read_all(in, &run, sizeof(run));
		assert_in_range(run.units, 1, header->units - unit);
		for (__u32 end = unit + run.units; unit < end; unit++) {
			struct source_position p = linetable_lookup(&t, unit);

			while (unit >= entry.unit_end)
				assert_true(linetable_next(&c, &entry));
			if (!same_position(&p, &run.position) ||
			    !same_position(&entry.position, &run.position))
				fail_msg("object %lu unit %u: line %d (%d), column %d (%d)",
					 tally->objects, unit, p.line, run.position.line, p.column,
					 run.position.column);
		}
	}
	tally->objects++;
	tally->units += header->units;
	if (header->size > tally->largest)
		tally->largest = header->size;
	linetable_deinit(&t);
}

static void check_python(const struct python *python)
{
	/*
	 * A plain build of `make check-all` checks everything for supported versions; KRAIT_FULL=1
	 * always checks everything.
	 */
	bool sample = SANITIZED || getenv("KRAIT_MATRIX") || atoi(python->version + 2) <= 12;
	const char *few = getenv("KRAIT_MATRIX") ? "48" : "8";
	const char *one_in = sample && !getenv("KRAIT_FULL") ? few : "1";
	struct tally tally = { 0 };
	struct dump_header header;
	double start = now_ns();
	struct script script;

	assert_int_equal(script_start(&script, python, "dump_positions.py", one_in), 0);
	for (;;) {
		read_all(script.out, &header, sizeof(header));
		if (header.size == UINT_MAX)
			break;
		check_object(script.out, atoi(python->version + 2), &header, &tally);
	}
	tally.modules = header.units;
	assert_int_equal(header.first_line, tally.objects);
	assert_int_equal(script_end(&script), 0);
	assert_true(tally.objects > 100);
	printf("# %s: one in %s: %u modules, %lu code objects, %lu units, largest table %u bytes, %.1f s\n",
	       python->version, one_in, tally.modules, tally.objects, tally.units, tally.largest,
	       (now_ns() - start) / 1e9);
}

static void test_every_unit_of_the_standard_library_agrees(void **state)
{
	struct python pythons[PYTHONS_MAX];
	size_t cnt = pythons_find(pythons, PYTHONS_MAX, 8);

	for (size_t i = 0; i < cnt; i++)
		check_python(&pythons[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decodes_each_form),
		cmocka_unit_test(test_empty_table_knows_nothing),
		cmocka_unit_test(test_cut_anywhere_ends_there),
		cmocka_unit_test(test_entry_without_mark_ends_the_table),
		cmocka_unit_test(test_number_of_more_than_32_bits_ends_the_table),
		cmocka_unit_test(test_line_beyond_int_is_unknown),
		cmocka_unit_test(test_index_agrees_with_decoding),
		cmocka_unit_test(test_lookup_in_a_large_table_is_fast),
		cmocka_unit_test(test_every_unit_of_the_standard_library_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
