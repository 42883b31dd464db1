/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_py_string.c - PyUnicode to UTF-8.
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
#include "python/values/py_string.h"
#include "base/data/cleanup.h"

static int setup(void **state)
{
	*state = image_new();
	return 0;
}

static int teardown(void **state)
{
	image_free(*state);
	return 0;
}

static void assert_text(struct image *image, __u64 addr, const char *expected)
{
	cleanup_free char *text = NULL;

	assert_int_equal(py_string_read(&image->memory, &image_offsets, addr, &text), 0);
	assert_string_equal(text, expected);
}

static void assert_error(struct image *image, __u64 addr, int err)
{
	char *text = NULL;

	assert_int_equal(py_string_read(&image->memory, &image_offsets, addr, &text), err);
	assert_null(text);
}

static void test_every_kind_becomes_utf8(void **state)
{
	static const __u8 latin1[] = { 'n', 0xe4, 0xff, 0x80 };
	static const __u16 bmp[] = { 0x416, 0x7ff, 0x800, 0xffff, 'x' };
	static const __u32 astral[] = { 0x1f40d, 0x10000, 0x10ffff, 0xe9 };

	assert_text(*state, image_ascii(*state, "Class.method.<locals>.<lambda>"),
		    "Class.method.<locals>.<lambda>");
	assert_text(*state, image_ascii(*state, ""), "");
	assert_text(*state, image_string(*state, 1, latin1, 4), "nä\xc3\xbf\xc2\x80");
	assert_text(*state, image_string(*state, 2, bmp, 5), "Ж\xdf\xbf\xe0\xa0\x80\xef\xbf\xbfx");
	assert_text(*state, image_string(*state, 4, astral, 4),
		    "\xf0\x9f\x90\x8d\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xc3\xa9");
}

static void test_what_is_no_character_is_replaced(void **state)
{
	static const __u16 surrogates[] = { 'a', 0xd800, 0xdfff, 'b' };
	static const __u32 beyond[] = { 0x110000, 0xffffffff, 0xdc80, 'c' };

	assert_text(*state, image_string(*state, 2, surrogates, 4),
		    "a\xef\xbf\xbd\xef\xbf\xbd"
		    "b");
	assert_text(*state, image_string(*state, 4, beyond, 4),
		    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		    "c");
}

static void test_nul_does_not_cut_and_controls_stay(void **state)
{
	assert_text(*state, image_string(*state, 0, "a\0b\n\x1b[0m", 8),
		    "a\xe2\x90\x80"
		    "b\n\x1b[0m");
}

static void test_long_string_is_cut_between_characters(void **state)
{
	static __u32 astral[PY_STRING_MAX + 1];
	cleanup_free char *text = NULL;
	struct image *image = *state;
	__u64 addr;

	for (size_t i = 0; i < PY_STRING_MAX + 1; i++)
		astral[i] = 0x1f40d;
	addr = image_string(image, 4, astral, PY_STRING_MAX);
	assert_int_equal(py_string_read(&image->memory, &image_offsets, addr, &text), 0);
	assert_int_equal(strlen(text), 4 * PY_STRING_MAX);
	free(take_ptr(&text));

	addr = image_string(image, 4, astral, PY_STRING_MAX + 1);
	assert_int_equal(py_string_read(&image->memory, &image_offsets, addr, &text), 0);
	assert_int_equal(strlen(text), 4 * PY_STRING_MAX + 3);
	assert_string_equal(text + 4 * PY_STRING_MAX, "\xe2\x80\xa6");
}

static void test_length_beyond_memory_is_a_fault_and_not_an_allocation(void **state)
{
	struct image *image = *state;
	__u64 addr = IMAGE_ADDR + IMAGE_SIZE - 64, length = 1ULL << 62;
	__u32 state_bits = 1 << 2 | 1 << 5 | 1 << 6;

	memcpy(image_at(image, addr + 32), &state_bits, 4);
	memcpy(image_at(image, addr + 16), &length, 8);
	assert_error(image, addr, -EFAULT);
	length = -1ULL;
	memcpy(image_at(image, addr + 16), &length, 8);
	assert_error(image, addr, -EINVAL);
}

static void test_what_is_not_a_compact_string_is_refused(void **state)
{
	static const __u32 states[] = {
		1 << 2, /* legacy */
		0 << 2 | 1 << 5,
		3 << 2 | 1 << 5,
		5 << 2 | 1 << 5,
		7 << 2 | 1 << 5, /* kind */
		2 << 2 | 1 << 5 | 1 << 6, /* ASCII with two bytes */
	};
	struct image *image = *state;
	__u64 addr = image_ascii(image, "text");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		memcpy(image_at(image, addr + 32), &states[i], 4);
		assert_error(image, addr, -EINVAL);
	}
	assert_error(image, 0, -EINVAL);
	assert_error(image, addr + 4, -EINVAL);
	assert_error(image, 0x1000, -EFAULT);
}

static void test_layout_that_says_nothing_is_refused(void **state)
{
	struct image *image = *state;
	struct py_offsets offsets = image_offsets;
	__u64 addr = image_ascii(image, "text");
	char *text = NULL;

	offsets.unicode.state = PYOFF_ABSENT;
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), -ENOTSUP);
	offsets = image_offsets;
	offsets.unicode.length = 1 << 20;
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), -ENOTSUP);
	offsets = image_offsets;
	offsets.unicode.compact_size = PYOFF_ABSENT;
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), -ENOTSUP);
	assert_null(text);
}

static struct py_offsets free_threaded_offsets(__u32 version)
{
	struct py_offsets offsets = image_offsets;

	offsets.version = version;
	offsets.flags = PYOFF_FREE_THREADED;
	offsets.unicode.length = 32;
	offsets.unicode.state = 48;
	offsets.unicode.ascii_size = 56;
	offsets.unicode.compact_size = 72;
	return offsets;
}

/* A header of 32 bytes, interned as a whole byte: kind at bit 8, compact 11, ASCII 12. */
static void test_free_threaded_layout(void **state)
{
	struct image *image = *state;
	struct py_offsets offsets = free_threaded_offsets(0x030e0af0);
	__u64 addr = image_alloc(image, 128), length = 2;
	__u32 bits = 3 | 2 << 8 | 1 << 11;
	__u16 data[] = { 0x416, 0x2603 };
	cleanup_free char *text = NULL;

	memcpy(image_at(image, addr + 32), &length, 8);
	memcpy(image_at(image, addr + 48), &bits, 4);
	memcpy(image_at(image, addr + 72), data, 4);
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), 0);
	assert_string_equal(text, "Ж☃");
	free(take_ptr(&text));

	bits = 1 | 1 << 8 | 1 << 11 | 1 << 12;
	memcpy(image_at(image, addr + 48), &bits, 4);
	memcpy(image_at(image, addr + 56), "ok", 2);
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), 0);
	assert_string_equal(text, "ok");
}

/* 3.13 has two bits for interned in all builds: kind at bit 2, compact 5, ASCII 6. */
static void test_free_threaded_layout_of_3_13(void **state)
{
	struct image *image = *state;
	struct py_offsets offsets = free_threaded_offsets(0x030d0ff0);
	__u64 addr = image_alloc(image, 128), length = 2;
	__u32 bits = 3 | 1 << 2 | 1 << 5 | 1 << 6;
	cleanup_free char *text = NULL;

	memcpy(image_at(image, addr + 32), &length, 8);
	memcpy(image_at(image, addr + 48), &bits, 4);
	memcpy(image_at(image, addr + 56), "ok", 2);
	assert_int_equal(py_string_read(&image->memory, &offsets, addr, &text), 0);
	assert_string_equal(text, "ok");
}

static void test_fault_at_any_read_gives_nothing(void **state)
{
	struct image *image = *state;
	__u64 addr = image_ascii(image, "text");

	for (unsigned long n = 1; n <= 2; n++) {
		image->fail_at = n;
		assert_error(image, addr, -EFAULT);
	}
	image->fail_at = 3;
	assert_text(image, addr, "text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_becomes_utf8),
		cmocka_unit_test(test_what_is_no_character_is_replaced),
		cmocka_unit_test(test_nul_does_not_cut_and_controls_stay),
		cmocka_unit_test(test_long_string_is_cut_between_characters),
		cmocka_unit_test(test_length_beyond_memory_is_a_fault_and_not_an_allocation),
		cmocka_unit_test(test_what_is_not_a_compact_string_is_refused),
		cmocka_unit_test(test_layout_that_says_nothing_is_refused),
		cmocka_unit_test(test_free_threaded_layout),
		cmocka_unit_test(test_free_threaded_layout_of_3_13),
		cmocka_unit_test(test_fault_at_any_read_gives_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
