/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_object_text.c - values of a target as text, from corrupted memory. tests/e2e/test_dump.py
 * covers intact memory.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "python/values/frame_locals.h"

#define IMAGES 10000
#define BASE 0x10000000ULL
#define WORDS 2048
/* Types begin there, each with that many words; their names follow. */
#define TYPES_AT 1024
#define TYPE_WORDS 64

/* A memory image of words: small numbers, pointers into itself, and names of types. */
struct image {
	__u64 words[WORDS];
	unsigned long reads;
};

static __u64 random_word(void)
{
	static __u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int read_image(void *ctx, __u64 addr, void *dst, size_t size)
{
	struct image *image = ctx;

	image->reads++;
	if (addr < BASE || size > sizeof(image->words) || addr - BASE > sizeof(image->words) - size)
		return -EFAULT;
	memcpy(dst, (char *)image->words + (addr - BASE), size);
	return 0;
}

static const char *const names[] = { "int",   "str",	  "list",   "tuple", "dict",
				     "set",   "function", "method", "range", "module",
				     "float", "Plain",	  "type",   "cell",  "numpy.ndarray" };

static __u64 random_pointer(void)
{
	return BASE + (random_word() % (TYPES_AT * 8) & ~7ULL);
}

static void fill(struct image *image)
{
	const unsigned type_cnt = sizeof(names) / sizeof(names[0]);
	const unsigned names_at = TYPES_AT + type_cnt * TYPE_WORDS;

	image->reads = 0;
	for (unsigned i = 0; i < names_at; i++) {
		const __u64 r = random_word();

		switch (r % 8) {
		case 0:
		case 1:
			image->words[i] = random_word() % 64;
			break;
		case 2:
			image->words[i] = random_word();
			break;
		case 3:
		case 4:
			image->words[i] = BASE + 8 * (TYPES_AT + (r >> 8) % type_cnt * TYPE_WORDS);
			break;
		default:
			image->words[i] = random_pointer();
		}
	}
	for (unsigned i = 0; i < type_cnt; i++) {
		__u64 *type = &image->words[TYPES_AT + i * TYPE_WORDS];

		type[3] = BASE + 8 * (names_at + 2 * i); /* tp_name */
		type[4] = 16 + random_word() % 128; /* tp_basicsize */
		type[21] = random_word() & 0xff000214; /* tp_flags */
		memset(&image->words[names_at + 2 * i], 0, 16);
		memcpy(&image->words[names_at + 2 * i], names[i], strlen(names[i]));
	}
}

static bool check_local(void *ctx, const char *name, const char *value, bool changed)
{
	unsigned *cnt = ctx;

	assert_true(strlen(value) <= OBJECT_TEXT_MAX + 4);
	assert_false(changed);
	(*cnt)++;
	return true;
}

static void corrupted_memory_ends_in_a_bounded_text(void **state)
{
	static struct image image;
	static struct object_text text;
	const struct memory memory = { .read = read_image, .ctx = &image };
	unsigned locals = 0, texts = 0;

	for (int i = 0; i < IMAGES; i++) {
		struct py_offsets offsets = {
			.version = 0x03080000 + ((__u32)(i % 8) << 16),
			.object = { .ob_type = 8, .tp_name = 24 },
			.unicode = { .state = 32,
				     .length = 16,
				     .ascii_size = 40,
				     .compact_size = 56 },
			.bytes = { .ob_size = 16, .ob_sval = 32 },
			.frame = { .localsplus = 80 },
		};
		struct frame frame = { .code_addr = BASE + 64, .frame_addr = BASE + 256 };
		struct object_layout layout;

		fill(&image);
		object_layout_of(&layout, &offsets);
		text.layout = &layout;
		text.memory = &memory;
		for (__u64 at = 0; at < 16; at++) {
			object_text_make(&text, BASE + 8 * at);
			assert_true(strlen(text.text) <= OBJECT_TEXT_MAX + 4);
			assert_true(text.reads <= OBJECT_READS_MAX + 8);
			texts += strcmp(text.text, "<?>") != 0;
		}
		frame_locals(&layout, &memory, &memory, &frame, check_local, &locals);
	}
	/* Not everything is nonsense, or this test would prove nothing. */
	assert_true(texts > IMAGES);
}

static void a_value_may_be_no_address(void **state)
{
	static struct image image;
	static struct object_text text;
	const struct memory memory = { .read = read_image, .ctx = &image };
	struct py_offsets offsets = { .version = 0x030f0000,
				      .object = { .ob_type = 8, .tp_name = 24 } };
	struct object_layout layout;

	object_layout_of(&layout, &offsets);
	text.layout = &layout;
	text.memory = &memory;
	object_text_make(&text, 0);
	assert_string_equal(text.text, "<?>");
	object_text_make(&text, BASE + 3);
	assert_string_equal(text.text, "<?>");
	object_text_make(&text, ~7ULL);
	assert_string_equal(text.text, "<?>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrupted_memory_ends_in_a_bounded_text),
		cmocka_unit_test(a_value_may_be_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
