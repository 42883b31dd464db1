/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_code_object.c - one code object of a target: intact, broken, and with a fault at every read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_image.h"
#include "python/code/code_object.h"

static const __u8 lines[] = { 0x80 | 13 << 3 | 7, 4, 0x80 | 13 << 3, 2 };

struct fixture {
	struct image *image;
	struct image_code code;
	__u64 addr;
	struct code_head head;
	struct code_body body;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->image = image_new();
	f->code = (struct image_code){ image_ascii(f->image, "Class.method"),
				       image_ascii(f->image, "/app/module.py"),
				       image_bytes(f->image, lines, sizeof(lines)), 40, 77 };
	f->addr = image_code(f->image, &f->code);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	code_body_deinit(&f->body);
	image_free(f->image);
	free(f);
	return 0;
}

static int read_both(struct fixture *f)
{
	int err = code_head_read(&f->image->memory, &image_offsets, f->addr, &f->head);

	if (!err)
		err = code_head_check_type(&f->image->memory, &image_offsets, &f->head, 0);
	if (!err)
		err = code_body_read(&f->image->memory, &image_offsets, &f->head, &f->body);
	return err;
}

static void test_whole_object(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_both(f), 0);
	assert_string_equal(f->body.qualname, "Class.method");
	assert_string_equal(f->body.filename, "/app/module.py");
	assert_int_equal(f->head.first_line, 40);
	assert_int_equal(f->head.version, 77);
	assert_int_equal(f->head.type_addr, f->image->code_type_addr);
	assert_int_equal(f->head.fingerprint, image_fingerprint(f->image, f->addr));
	assert_int_equal(linetable_lookup(&f->body.lines, 7).line, 42);
	assert_int_equal(linetable_lookup(&f->body.lines, 8).line, 43);
}

static void test_known_type_is_compared_without_a_read(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;

	assert_int_equal(read_both(f), 0);
	reads = f->image->reads;
	assert_int_equal(code_head_check_type(&f->image->memory, &image_offsets, &f->head,
					      f->image->code_type_addr),
			 0);
	assert_int_equal(code_head_check_type(&f->image->memory, &image_offsets, &f->head,
					      f->image->code_type_addr + 8),
			 -EINVAL);
	assert_int_equal(f->image->reads, reads);
}

static void test_another_type_is_refused(void **state)
{
	static const char *const names[] = { "NoneType", "codec", "cod", "" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		f->image->code_type_addr = image_type(f->image, names[i]);
		image_put_code(f->image, f->addr, &f->code);
		assert_int_equal(read_both(f), -EINVAL);
	}
	f->image->code_type_addr = 0;
	image_put_code(f->image, f->addr, &f->code);
	assert_int_equal(read_both(f), -EINVAL);
}

static void test_head_differs_by_every_field(void **state)
{
	struct fixture *f = *state;
	struct code_head a, b;

	assert_int_equal(read_both(f), 0);
	a = b = f->head;
	assert_true(code_head_equal(&a, &b));
	b.version++;
	assert_false(code_head_equal(&a, &b));
	b = a;
	b.qualname_addr++;
	assert_false(code_head_equal(&a, &b));
	b = a;
	b.first_line++;
	assert_false(code_head_equal(&a, &b));
	b = a;
	b.type_addr++;
	assert_false(code_head_equal(&a, &b));
}

static void test_impossible_address_costs_no_read(void **state)
{
	struct fixture *f = *state;

	f->addr = 0;
	assert_int_equal(read_both(f), -EINVAL);
	f->addr = IMAGE_ADDR + 4;
	assert_int_equal(read_both(f), -EINVAL);
	assert_int_equal(f->image->reads, 0);
	f->addr = 0x1000;
	assert_int_equal(read_both(f), -EFAULT);
}

static void test_offsets_beyond_the_window_are_refused(void **state)
{
	struct fixture *f = *state;
	struct py_offsets offsets = image_offsets;

	offsets.code.linetable = KRAIT_CODE_WINDOW - 7;
	assert_int_equal(code_head_read(&f->image->memory, &offsets, f->addr, &f->head), -ENOTSUP);
	offsets = image_offsets;
	offsets.code.filename = PYOFF_ABSENT;
	assert_int_equal(code_head_read(&f->image->memory, &offsets, f->addr, &f->head), -ENOTSUP);
}

static void test_filename_that_is_no_string_is_unknown(void **state)
{
	struct fixture *f = *state;

	f->code.filename_addr = f->image->code_type_addr;
	image_put_code(f->image, f->addr, &f->code);
	assert_int_equal(read_both(f), 0);
	assert_string_equal(f->body.filename, "");
	assert_string_equal(f->body.qualname, "Class.method");
}

static void assert_names_without_lines(struct fixture *f)
{
	assert_int_equal(read_both(f), 0);
	assert_string_equal(f->body.qualname, "Class.method");
	assert_int_equal(linetable_lookup(&f->body.lines, 0).line, -1);
	code_body_deinit(&f->body);
}

static void test_line_table_of_impossible_size_leaves_the_names(void **state)
{
	static const __s64 sizes[] = { 0, -1, INT64_MIN, INT64_MAX, LINETABLE_MAX_SZ + 1LL };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memcpy(image_at(f->image, f->code.linetable_addr + 16), &sizes[i], 8);
		assert_names_without_lines(f);
	}
	f->code.linetable_addr = 0;
	image_put_code(f->image, f->addr, &f->code);
	assert_names_without_lines(f);
}

static void test_line_table_of_3_10_is_understood(void **state)
{
	static const __u8 old_lines[] = { 4, 0, 2, 3, 6, 0x80, 4, 0xff };
	struct fixture *f = *state;
	struct py_offsets offsets = image_offsets;

	offsets.version = 0x030a0df0;
	offsets.code.qualname = PYOFF_ABSENT;
	offsets.code.version = PYOFF_ABSENT;
	offsets.code.name = 128;
	f->code.linetable_addr = image_bytes(f->image, old_lines, sizeof(old_lines));
	image_put_code(f->image, f->addr, &f->code);
	assert_int_equal(code_head_read(&f->image->memory, &offsets, f->addr, &f->head), 0);
	assert_int_equal(f->head.version, 0);
	assert_int_equal(code_body_read(&f->image->memory, &offsets, &f->head, &f->body), 0);
	assert_string_equal(f->body.qualname, "Class.method");
	assert_int_equal(linetable_lookup(&f->body.lines, 1).line, f->code.first_line);
	assert_int_equal(linetable_lookup(&f->body.lines, 2).line, f->code.first_line + 3);
	assert_int_equal(linetable_lookup(&f->body.lines, 3).line, -1);
	assert_int_equal(linetable_lookup(&f->body.lines, 6).line, f->code.first_line + 2);
	assert_int_equal(linetable_lookup(&f->body.lines, 8).line, -1);
}

/* Of what a fingerprint needs more is read at first than may be there. */
static void test_fault_at_any_read_gives_nothing_wrong(void **state)
{
	struct fixture *f = *state;
	unsigned long reads;
	int whole = 0;

	assert_int_equal(read_both(f), 0);
	reads = f->image->reads;
	code_body_deinit(&f->body);
	/* head, three contents for the fingerprint, type 2, strings 2 each, table 2 */
	assert_in_range(reads, 12, 12);
	for (unsigned long n = 1; n <= reads; n++) {
		__u32 fingerprint = f->head.fingerprint;
		int err;

		f->image->fail_at = n;
		err = read_both(f);
		f->image->fail_at = 0;
		if (err) {
			assert_int_equal(err, -EFAULT);
			assert_null(f->body.qualname);
			continue;
		}
		whole++;
		assert_int_equal(f->head.fingerprint, fingerprint);
		assert_string_equal(f->body.qualname, "Class.method");
		code_body_deinit(&f->body);
	}
	assert_int_equal(whole, 3);
}

/*
 * Free-threaded builds count the owner thread's references (32 bits) and the others' (2 flag bits
 * below).
 */
static void test_references_of_free_threaded_builds(void **state)
{
	static const struct {
		__u32 local;
		__s64 shared;
		bool alive;
	} counts[] = {
		{ 1, 0, true },
		{ 0, 1 << 2 | 3, true }, /* merged: the maker has gone */
		{ 0, (1LL << 58) | 3, true }, /* deferred */
		{ 5, -(4 << 2), true }, /* references given away to other threads */
		{ ~0U, 0, true }, /* immortal */
		{ 0, 3, false },
		{ 0, 0, false },
		{ 0, -(1 << 2) | 3, false },
	};
	struct fixture *f = *state;
	struct py_offsets offsets = image_offsets;
	__u64 addr = image_alloc(f->image, 256);

	offsets.flags = PYOFF_FREE_THREADED;
	offsets.object.ob_type = 24;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		memcpy(image_at(f->image, addr + 12), &counts[i].local, 4);
		memcpy(image_at(f->image, addr + 16), &counts[i].shared, 8);
		assert_int_equal(code_head_read(&f->image->memory, &offsets, addr, &f->head), 0);
		assert_int_equal(f->head.alive, counts[i].alive);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_whole_object),
		TEST(test_known_type_is_compared_without_a_read),
		TEST(test_another_type_is_refused),
		TEST(test_head_differs_by_every_field),
		TEST(test_impossible_address_costs_no_read),
		TEST(test_offsets_beyond_the_window_are_refused),
		TEST(test_filename_that_is_no_string_is_unknown),
		TEST(test_line_table_of_impossible_size_leaves_the_names),
		TEST(test_line_table_of_3_10_is_understood),
		TEST(test_references_of_free_threaded_builds),
		TEST(test_fault_at_any_read_gives_nothing_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
