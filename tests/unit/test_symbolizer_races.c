/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbolizer_races.c - the right name or none: replaced objects, and faults, at every read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "support_symbolizer.h"

static void assert_old_or_nothing(struct fixture *f, struct code_query q, unsigned int *ok)
{
	enum symbol_status status;
	const char *name = fixture_resolve(f, q, &status);

	if (name)
		assert_string_equal(name, "old");
	*ok += name != NULL;
}

/* The object is replaced before the n-th read of a first look: the answer is "old" or nothing. */
static void race_first_look(struct fixture *f, struct code_query q, unsigned long reads)
{
	unsigned int ok = 0;

	f->image->change = fixture_replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= reads + 1; n++) {
		fixture_undo(f);
		fixture_restart(f);
		f->image->change_at = n;
		assert_old_or_nothing(f, q, &ok);
		if (f->image->change_at)
			fixture_replace(f->image, f);
		f->image->change_at = 0;
		/* Nothing wrong was cached either. */
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
	assert_int_equal(f->image->reads, 13);
	race_first_look(f, query_at(f, 5), 13);
}

static void test_replaced_at_any_read_with_fingerprint(void **state)
{
	struct fixture *f = *state;

	use_layout_without_generation(f);
	assert_name(f, query_by(f, &f->old), "old");
	assert_int_equal(f->image->reads, 16);
	race_first_look(f, query_by(f, &f->old), 16);
}

/* Late: the generation changed earlier, so the look can only serve later queries. */
static void test_replaced_at_any_read_of_a_late_look(void **state)
{
	struct fixture *f = *state;

	f->image->change = fixture_replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= 12; n++) {
		enum symbol_status status;
		const char *name;

		fixture_undo(f);
		fixture_restart(f);
		fixture_set_generation(f, 6);
		f->image->change_at = n;
		assert_status(f, query_at(f, 5), SYMBOL_STALE);
		if (f->image->change_at)
			fixture_replace(f->image, f);
		f->image->change_at = 0;
		/* At 6 the old one existed, at 7 the new one. */
		name = fixture_resolve(f, query_at(f, 6), &status);
		assert_true(!name || !strcmp(name, "old"));
		assert_name(f, query_at(f, 7), "new");
	}
}

static void test_replaced_at_any_read_of_a_second_look(void **state)
{
	struct fixture *f = *state;
	unsigned int ok = 0;

	f->image->change = fixture_replace;
	f->image->change_arg = f;
	for (unsigned long n = 1; n <= 14; n++) {
		fixture_undo(f);
		fixture_restart(f);
		assert_name(f, query_at(f, 5), "old");
		fixture_set_generation(f, 8);
		f->image->change_at = n;
		assert_old_or_nothing(f, query_at(f, 7), &ok);
		if (f->image->change_at)
			fixture_replace(f->image, f);
		f->image->change_at = 0;
		assert_name(f, query_at(f, 9), "new");
	}
	assert_true(ok >= 1);
}

/* Three reads are attempts to read more at once than may be there: the contents of the fingerprint. */
static void test_fault_at_any_read(void **state)
{
	static const int errors[] = { -EFAULT, -ESRCH, -EPERM };
	struct fixture *f = *state;
	enum symbol_status status;
	int whole = 0;

	for (size_t e = 0; e < 3; e++) {
		f->image->fail_with = errors[e];
		for (unsigned long n = 1; n <= 13; n++) {
			fixture_restart(f);
			f->image->fail_at = n;
			fixture_resolve(f, query_at(f, 5), &status);
			assert_true(status == SYMBOL_OK || status == SYMBOL_UNREADABLE);
			whole += status == SYMBOL_OK;
			assert_int_equal(f->image->fail_at, 0);
			fixture_set_generation(f, 6);
			assert_name(f, query_at(f, 6), "old");
			fixture_set_generation(f, 5);
		}
	}
	assert_int_equal(whole, 3 * 3);
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

	/* At the end it is tried again. */
	q = query_at(f, 5);
	f->image->fail_at = 1;
	reads = f->image->reads;
	for (int i = 0; i < 1025; i++)
		assert_status(f, q, SYMBOL_UNREADABLE);
	assert_int_equal(f->image->reads, reads + 1);
	assert_name(f, q, "old");
	assert_int_equal(symbolizer__stats(f->s).unreadable, 1000 + 1 + 1025);
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
	fixture_restart(f);
	assert_name(f, query_at(f, 5), "old");
	/* A second type with that name is a class of the program. */
	f->image->code_type_addr = image_type(f->image, "code");
	image_put_code(f->image, f->addr, &f->new);
	fixture_set_generation(f, 6);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(test_replaced_at_any_read_with_generation),
		TEST(test_replaced_at_any_read_with_fingerprint),
		TEST(test_replaced_at_any_read_of_a_late_look),
		TEST(test_replaced_at_any_read_of_a_second_look),
		TEST(test_fault_at_any_read),
		TEST(test_unreadable_address_is_not_read_again_and_again),
		TEST(test_what_is_no_code_object_is_unreadable),
		TEST(test_unknown_instruction_has_no_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
