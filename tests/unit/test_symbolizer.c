/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbolizer.c - the right name or none: objects that are replaced, and faults, at every read.
 *
 * The object "old" is there at generation 5. A race replaces it the way CPython would: another code
 * object at the same address, other text where the strings were, the generation one up.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "support_image.h"
#include "fingerprint.h"
#include "symbol/code_object.h"
#include "symbol/symbolizer.h"

static const __u8 old_lines[] = { 0x80 | 13 << 3 | 7, 4 };

struct fixture {
	struct image *image;
	struct py_offsets offsets;
	struct memory memory;
	struct symbolizer *s;
	struct image_code old, new;
	__u64 addr;
	__u64 generation;
};

static void restart(struct fixture *f)
{
	symbolizer__free(f->s);
	f->s = symbolizer__new(&f->offsets, &f->memory);
	assert_non_null(f->s);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->image = image_new();
	f->offsets = image_offsets;
	f->memory = f->image->memory;
	f->old = (struct image_code){ image_ascii(f->image, "old"), image_ascii(f->image, "o.py"),
				      image_bytes(f->image, old_lines, sizeof(old_lines)), 10, 1 };
	f->new = f->old;
	f->new.qualname_addr = image_ascii(f->image, "new");
	f->new.version = 2;
	f->addr = image_code(f->image, &f->old);
	f->generation = 5;
	image_set_generation(f->image, 5);
	restart(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	symbolizer__free(f->s);
	image_free(f->image);
	free(f);
	return 0;
}

static __u32 fingerprint_of(const struct image_code *code)
{
	__u32 fingerprint = code_fingerprint(code->qualname_addr, code->filename_addr,
					     code->linetable_addr, (__u32)code->first_line);

	return fingerprint_add(fingerprint, code->version);
}

static struct code_query query_at(const struct fixture *f, __u64 generation)
{
	return (struct code_query){ f->addr, IMAGE_INTERP, generation, 0, 4 };
}

static struct code_query query_by(const struct fixture *f, const struct image_code *code)
{
	return (struct code_query){ f->addr, IMAGE_INTERP, 0, fingerprint_of(code), 4 };
}

static void use_layout_without_generation(struct fixture *f)
{
	f->offsets.interp.code_object_generation = PYOFF_ABSENT;
	f->offsets.version = 0x030d00f0;
	restart(f);
}

/* The name, or NULL and *ret_status. What is not OK must not touch the results. */
static const char *resolve(struct fixture *f, struct code_query q, enum symbol_status *ret_status)
{
	struct source_position position = { 7, 7, 7, 7 };
	struct code_symbol symbol = { .serial = 7 };

	*ret_status = symbolizer__resolve(f->s, &q, &symbol, &position);
	if (*ret_status != SYMBOL_OK) {
		assert_null(symbol.qualname);
		assert_int_equal(symbol.serial, 7);
		assert_int_equal(position.line, 7);
		return NULL;
	}
	assert_true(symbol.serial > 0);
	assert_string_equal(symbol.filename, "o.py");
	assert_int_equal(symbol.first_line, 10);
	assert_int_equal(position.line, 12);
	return symbol.qualname;
}

static void assert_name(struct fixture *f, struct code_query q, const char *name)
{
	enum symbol_status status;
	const char *found = resolve(f, q, &status);

	assert_int_equal(status, SYMBOL_OK);
	assert_string_equal(found, name);
}

static void assert_status(struct fixture *f, struct code_query q, enum symbol_status expected)
{
	enum symbol_status status;

	resolve(f, q, &status);
	assert_int_equal(status, expected);
}

static void set_generation(struct fixture *f, __u64 generation)
{
	f->generation = generation;
	image_set_generation(f->image, generation);
}

static void replace(struct image *image, void *arg)
{
	struct fixture *f = arg;

	image_put_code(image, f->addr, &f->new);
	memcpy(image_at(image, f->old.qualname_addr + 40), "bad", 3);
	set_generation(f, f->generation + 1);
}

static void undo(struct fixture *f)
{
	image_put_code(f->image, f->addr, &f->old);
	memcpy(image_at(f->image, f->old.qualname_addr + 40), "old", 3);
	set_generation(f, 5);
	f->image->change_at = 0;
}

static __u64 serial_of(struct fixture *f, struct code_query q)
{
	struct source_position position;
	struct code_symbol symbol;

	assert_int_equal(symbolizer__resolve(f->s, &q, &symbol, &position), SYMBOL_OK);
	return symbol.serial;
}

/* ---- generations ----------------------------------------------------------------------------- */

static void test_same_generation_is_a_hit_without_reads(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;
	__u64 serial;

	assert_name(f, query_at(f, 5), "old");
	serial = serial_of(f, query_at(f, 5));
	reads = f->image->reads;
	f->image->fail_at = 1; /* the process may be gone */
	assert_name(f, query_at(f, 5), "old");
	assert_int_equal(serial_of(f, query_at(f, 5)), serial);
	assert_int_equal(f->image->reads, reads);
	assert_int_equal(symbolizer__stats(f->s)->reads, 1);
	assert_int_equal(symbolizer__stats(f->s)->hits, 3);
}

static void test_unchanged_object_is_confirmed_by_its_head(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;
	__u64 serial;

	serial = serial_of(f, query_at(f, 5));
	set_generation(f, 9);
	reads = f->image->reads;
	assert_name(f, query_at(f, 7), "old");
	assert_int_equal(f->image->reads, reads + 2); /* generation, head */
	for (__u64 generation = 5; generation < 9; generation++)
		assert_int_equal(serial_of(f, query_at(f, generation)), serial);
	assert_int_equal(f->image->reads, reads + 2);
	/* Generation 9 was not over when the look began. */
	assert_name(f, query_at(f, 9), "old");
	assert_name(f, query_at(f, 9), "old");
	assert_int_equal(f->image->reads, reads + 3);
	assert_int_equal(symbolizer__stats(f->s)->revalidations, 2);
}

/* The object is dead when it is looked at, but nothing has used its memory yet. */
static void test_look_at_a_corpse_proves_nothing_for_later(void **state)
{
	struct fixture *f = *state;

	assert_name(f, query_at(f, 5), "old");
	set_generation(f, 8);
	assert_name(f, query_at(f, 7), "old");
	image_put_code(f->image, f->addr, &f->new);
	assert_name(f, query_at(f, 8), "new");

	undo(f);
	restart(f);
	set_generation(f, 8);
	assert_status(f, query_at(f, 7), SYMBOL_STALE);
	image_put_code(f->image, f->addr, &f->new);
	assert_name(f, query_at(f, 8), "new");
}

/* As the allocator leaves it: only the word of the reference count is another one. */
static void test_dead_object_is_stale(void **state)
{
	static const __u64 words[] = { 0, 0x7f0012345670ULL, 0x5500000000ULL };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		undo(f);
		restart(f);
		memcpy(image_at(f->image, f->addr), &words[i], 8);
		set_generation(f, 6);
		assert_status(f, query_at(f, 5), SYMBOL_STALE);
		assert_status(f, query_by(f, &f->old), SYMBOL_STALE);
	}
	undo(f);
	restart(f);
	assert_name(f, query_at(f, 5), "old");
	set_generation(f, 7);
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
	set_generation(f, 9);
	other.code_generation = 7;
	reads = f->image->reads;
	assert_name(f, query_at(f, 7), "old");
	assert_name(f, other, "old");
	assert_int_equal(f->image->reads, reads + 3);
}

static void test_replaced_object_has_its_own_name_and_serial(void **state)
{
	struct fixture *f = *state;
	__u64 serial = serial_of(f, query_at(f, 5));

	replace(f->image, f);
	assert_name(f, query_at(f, 6), "new");
	assert_true(serial_of(f, query_at(f, 6)) > serial);
	/* What was interrupted before is not the new one, and the old one is gone. */
	assert_status(f, query_at(f, 5), SYMBOL_STALE);
	assert_int_equal(symbolizer__stats(f->s)->stale, 1);
}

static void test_replaced_since_the_interrupt_is_stale(void **state)
{
	struct fixture *f = *state;

	replace(f->image, f);
	assert_status(f, query_at(f, 5), SYMBOL_STALE);
	assert_name(f, query_at(f, 6), "new");

	set_generation(f, 8);
	f->new.qualname_addr = image_ascii(f->image, "third");
	replace(f->image, f);
	assert_status(f, query_at(f, 8), SYMBOL_STALE);
	assert_name(f, query_at(f, 9), "third");
}

/* Memory and strings reused alike, as exec() and del in a loop do: only co_version differs. */
static void test_same_pointers_are_not_the_same_object(void **state)
{
	struct fixture *f = *state;

	assert_name(f, query_at(f, 5), "old");
	f->new.qualname_addr = f->old.qualname_addr;
	replace(f->image, f);
	assert_name(f, query_at(f, 6), "bad");
	f->new.version++;
	replace(f->image, f);
	set_generation(f, 20);
	assert_status(f, query_at(f, 10), SYMBOL_STALE);
}

/* Code objects die all the time: never is the generation that of the interrupt. */
static void test_stale_answer_is_good_for_later_queries(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;

	set_generation(f, 100);
	assert_status(f, query_at(f, 90), SYMBOL_STALE);
	set_generation(f, 200);
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
	/* The first one's generation stands still although its object is gone. */
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
	unsigned long reads;

	use_layout_without_generation(f);
	assert_status(f, query_by(f, &f->new), SYMBOL_STALE);
	assert_name(f, query_by(f, &f->old), "old");
	reads = f->image->reads;
	assert_name(f, query_by(f, &f->old), "old");
	assert_int_equal(f->image->reads, reads);
	replace(f->image, f);
	assert_name(f, query_by(f, &f->old), "old"); /* the interrupt saw that one */
	assert_name(f, query_by(f, &f->new), "new");
	assert_status(f, query_by(f, &f->old), SYMBOL_STALE);
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
	assert_int_equal(symbolizer__stats(f->s)->reads, 1);
}

/* ---- races and faults ------------------------------------------------------------------------ */

static void assert_old_or_nothing(struct fixture *f, struct code_query q, unsigned int *ok)
{
	enum symbol_status status;
	const char *name = resolve(f, q, &status);

	if (name)
		assert_string_equal(name, "old");
	*ok += name != NULL;
}

/* The object goes before the n-th read of a first look: the answer is "old" or there is none. */
static void race_first_look(struct fixture *f, struct code_query q, unsigned long reads)
{
	unsigned int ok = 0;

	f->image->change = replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= reads + 1; n++) {
		undo(f);
		restart(f);
		f->image->change_at = n;
		assert_old_or_nothing(f, q, &ok);
		if (f->image->change_at)
			replace(f->image, f);
		f->image->change_at = 0;
		/* Nothing wrong was kept either. */
		if (q.fingerprint)
			assert_name(f, query_by(f, &f->new), "new");
		else
			assert_name(f, query_at(f, 6), "new");
	}
	assert_true(ok >= 1);
}

static void test_replaced_at_any_read_with_generation(void **state)
{
	struct fixture *f = *state;

	assert_name(f, query_at(f, 5), "old");
	assert_int_equal(f->image->reads, 10);
	race_first_look(f, query_at(f, 5), 10);
}

static void test_replaced_at_any_read_with_fingerprint(void **state)
{
	struct fixture *f = *state;

	use_layout_without_generation(f);
	assert_name(f, query_by(f, &f->old), "old");
	assert_int_equal(f->image->reads, 10);
	race_first_look(f, query_by(f, &f->old), 10);
}

/* Late: the generation has moved on before, so that the look can only serve later queries. */
static void test_replaced_at_any_read_of_a_late_look(void **state)
{
	struct fixture *f = *state;

	f->image->change = replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= 12; n++) {
		enum symbol_status status;
		const char *name;

		undo(f);
		restart(f);
		set_generation(f, 6);
		f->image->change_at = n;
		assert_status(f, query_at(f, 5), SYMBOL_STALE);
		if (f->image->change_at)
			replace(f->image, f);
		f->image->change_at = 0;
		/* At 6 the old one was there, at 7 the new one. */
		name = resolve(f, query_at(f, 6), &status);
		assert_true(!name || !strcmp(name, "old"));
		assert_name(f, query_at(f, 7), "new");
	}
}

static void test_replaced_at_any_read_of_a_second_look(void **state)
{
	struct fixture *f = *state;
	unsigned int ok = 0;

	f->image->change = replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= 14; n++) {
		undo(f);
		restart(f);
		assert_name(f, query_at(f, 5), "old");
		set_generation(f, 8);
		f->image->change_at = n;
		assert_old_or_nothing(f, query_at(f, 7), &ok);
		if (f->image->change_at)
			replace(f->image, f);
		f->image->change_at = 0;
		assert_name(f, query_at(f, 9), "new");
	}
	assert_true(ok >= 1);
}

static void test_fault_at_any_read(void **state)
{
	static const int errors[] = { -EFAULT, -ESRCH, -EPERM };
	struct fixture *f = *state;

	for (size_t e = 0; e < 3; e++) {
		f->image->fail_with = errors[e];
		for (unsigned long n = 1; n <= 10; n++) {
			restart(f);
			f->image->fail_at = n;
			assert_status(f, query_at(f, 5), SYMBOL_UNREADABLE);
			assert_int_equal(f->image->fail_at, 0);
			set_generation(f, 6);
			assert_name(f, query_at(f, 6), "old");
			set_generation(f, 5);
		}
	}
}

static void test_unreadable_address_is_not_read_again_and_again(void **state)
{
	struct fixture *f = *state;
	struct code_query q = query_at(f, 5);
	unsigned long reads;

	q.code_addr = 0x7000;
	for (int i = 0; i < 1000; i++)
		assert_status(f, q, SYMBOL_UNREADABLE);
	assert_int_equal(f->image->reads, 1);
	q.code_generation = 6;
	assert_status(f, q, SYMBOL_UNREADABLE);
	assert_int_equal(f->image->reads, 2);

	/* In the end it is tried again. */
	q = query_at(f, 5);
	f->image->fail_at = 1;
	reads = f->image->reads;
	for (int i = 0; i < 1025; i++)
		assert_status(f, q, SYMBOL_UNREADABLE);
	assert_int_equal(f->image->reads, reads + 1);
	assert_name(f, q, "old");
	assert_int_equal(symbolizer__stats(f->s)->unreadable, 1000 + 1 + 1025);
}

static void test_what_is_no_code_object_is_unreadable(void **state)
{
	struct fixture *f = *state;
	__u64 code_type_addr = f->image->code_type_addr;

	f->image->code_type_addr = image_type(f->image, "function");
	image_put_code(f->image, f->addr, &f->old);
	assert_status(f, query_at(f, 5), SYMBOL_UNREADABLE);

	f->image->code_type_addr = code_type_addr;
	image_put_code(f->image, f->addr, &f->old);
	restart(f);
	assert_name(f, query_at(f, 5), "old");
	/* A second type of that name is a class of the program. */
	f->image->code_type_addr = image_type(f->image, "code");
	image_put_code(f->image, f->addr, &f->new);
	set_generation(f, 6);
	assert_status(f, query_at(f, 6), SYMBOL_UNREADABLE);
}

static void test_unknown_instruction_has_no_position(void **state)
{
	struct fixture *f = *state;
	struct source_position position;
	struct code_symbol symbol;
	static const __s32 offsets[] = { FRAME_INSTR_UNKNOWN, 16, INT32_MAX, INT32_MIN, -1 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct code_query q = query_at(f, 5);

		assert_name(f, q, "old");
		q.instr_off = offsets[i];
		assert_int_equal(symbolizer__resolve(f->s, &q, &symbol, &position), SYMBOL_OK);
		assert_int_equal(position.line, -1);
		assert_int_equal(position.end_column, -1);
		assert_string_equal(symbol.qualname, "old");
	}
}

/* ---- bounds ---------------------------------------------------------------------------------- */

#define MANY_ADDR 0x100000000ULL
#define TABLE_ADDR 0x200000000ULL

/* As many code objects as anyone asks for: all like "old", with a line table of any size. */
struct many {
	struct fixture *f;
	__u64 table_size;
};

static int read_many(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct many *many = ctx;
	struct image *image = many->f->image;

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
	restart(f);
}

static void test_number_of_objects_is_bounded_and_the_hot_one_stays(void **state)
{
	enum { BOUND = 65536, CNT = 200000 };
	struct fixture *f = *state;
	struct many many = { 0 };
	__u64 hot;

	use_many(f, &many);
	hot = serial_of(f, query_at(f, 5));
	for (int i = 0; i < CNT; i++) {
		struct code_query q = query_at(f, 5);

		q.code_addr = MANY_ADDR + (__u64)i * 256;
		serial_of(f, q);
		if (i % 1000 == 0)
			assert_int_equal(serial_of(f, query_at(f, 5)), hot);
	}
	assert_int_equal(symbolizer__stats(f->s)->reads, CNT + 1);
	assert_int_equal(symbolizer__stats(f->s)->evictions, CNT + 1 - BOUND);
}

static void test_bytes_of_line_tables_are_bounded(void **state)
{
	enum { CNT = 64 };
	struct fixture *f = *state;
	struct many many = { .table_size = LINETABLE_MAX_SZ };

	use_many(f, &many);
	for (int i = 0; i < CNT; i++) {
		struct code_query q = query_at(f, 5);

		q.code_addr = MANY_ADDR + (__u64)i * 256;
		serial_of(f, q);
	}
	/* 4 MiB and as much for marks, of 128 MiB. */
	assert_in_range(symbolizer__stats(f->s)->evictions, CNT - 32, CNT - 8);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Printed, not asserted: a busy machine is no failure. */
static void test_cost_of_a_hit(void **state)
{
	enum { ROUNDS = 2000 };
	static const int counts[] = { 20, 2000 };
	struct fixture *f = *state;
	struct many many = { 0 };
	struct source_position position;
	struct code_symbol symbol;

	use_many(f, &many);
	for (size_t c = 0; c < 2; c++) {
		double start = 0;

		for (int round = 0; round < ROUNDS; round++) {
			if (round == 1)
				start = now_ns();
			for (int i = 0; i < counts[c]; i++) {
				struct code_query q = query_at(f, 5);

				q.code_addr = MANY_ADDR + (__u64)i * 256;
				symbolizer__resolve(f->s, &q, &symbol, &position);
			}
		}
		printf("# hit, %d code objects: %.0f ns\n", counts[c],
		       (now_ns() - start) / (ROUNDS - 1) / counts[c]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
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
		TEST(test_replaced_at_any_read_with_generation),
		TEST(test_replaced_at_any_read_with_fingerprint),
		TEST(test_replaced_at_any_read_of_a_late_look),
		TEST(test_replaced_at_any_read_of_a_second_look),
		TEST(test_fault_at_any_read),
		TEST(test_unreadable_address_is_not_read_again_and_again),
		TEST(test_what_is_no_code_object_is_unreadable),
		TEST(test_unknown_instruction_has_no_position),
		TEST(test_number_of_objects_is_bounded_and_the_hot_one_stays),
		TEST(test_bytes_of_line_tables_are_bounded),
		TEST(test_cost_of_a_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
