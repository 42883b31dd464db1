/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot.c - code objects from what the kernel side saw of them, after the process has
 * ended.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_image.h"
#include "python/code/symbolizer.h"

#define STRING_SIZE 64

static const __u8 lines[] = { 0x80 | 13 << 3 | 7, 4 };

static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -ESRCH;
}

static const struct memory nothing = { .read = read_nothing };

struct fixture {
	/* the parent's memory; a child has the same content at the same addresses */
	struct image *image;
	struct image_code code;
	struct symbolizer *parent, *child;
	struct record_code record;
	struct code_query query;
};

static void add_region(struct fixture *f, __u64 addr, __u32 size)
{
	__u32 i = f->record.region_cnt++;

	f->record.regions[i].addr = addr;
	f->record.regions[i].size = size;
	f->record.regions[i].pos = f->record.data_size;
	memcpy(f->record.data + f->record.data_size, image_at(f->image, addr), size);
	f->record.data_size += size;
}

/*
 * What the kernel side can read in a new child: the object and its strings, but not the type's
 * name.
 */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct py_offsets offsets = image_offsets;
	__u64 addr;

	f->image = image_new();
	f->code = (struct image_code){ image_ascii(f->image, "Cart.total"),
				       image_ascii(f->image, "cart.py"),
				       image_bytes(f->image, lines, sizeof(lines)), 10, 1 };
	addr = image_code(f->image, &f->code);
	f->record.type = RECORD_CODE;
	f->record.code_addr = addr;
	f->record.fingerprint = image_fingerprint(f->image, addr);
	add_region(f, addr, PYOFF_CODE_WINDOW(&offsets));
	add_region(f, f->code.qualname_addr, STRING_SIZE);
	add_region(f, f->code.filename_addr, STRING_SIZE);
	add_region(f, f->code.linetable_addr, STRING_SIZE);
	f->record.has_lines = 1;
	f->query = (struct code_query){ addr, IMAGE_INTERP, 0, f->record.fingerprint, 4 };
	f->parent = symbolizer__new(&offsets, &f->image->memory);
	f->child = symbolizer__new(&offsets, &nothing);
	assert_non_null(f->parent);
	assert_non_null(f->child);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	symbolizer__free(f->parent);
	symbolizer__free(f->child);
	image_free(f->image);
	free(f);
	return 0;
}

static bool is_named(struct fixture *f)
{
	struct source_position position;
	struct code_symbol symbol;

	if (symbolizer__resolve(f->child, &f->query, &symbol, &position) != SYMBOL_OK)
		return false;
	assert_string_equal(symbol.qualname, "Cart.total");
	assert_string_equal(symbol.filename, "cart.py");
	assert_int_equal(position.line, 12);
	return true;
}

static void test_snapshot_without_the_type_names_nothing(void **state)
{
	struct fixture *f = *state;

	symbolizer__define(f->child, &f->record);
	assert_false(is_named(f));
}

static void test_snapshot_with_the_type_is_enough(void **state)
{
	struct fixture *f = *state;
	__u64 name_addr = f->image->code_type_addr + (__u64)image_offsets.object.tp_name, name;

	memcpy(&name, image_at(f->image, name_addr), sizeof(name));
	add_region(f, name_addr, sizeof(name));
	add_region(f, name, 8);
	symbolizer__define(f->child, &f->record);
	assert_true(is_named(f));
}

/* The parent has not been sampled yet, so the type is known only from its memory. */
static void test_parents_memory_shows_the_type(void **state)
{
	struct fixture *f = *state;

	symbolizer__inherit(f->child, f->parent, NULL);
	symbolizer__inherit(f->child, f->parent, &f->record);
	symbolizer__define(f->child, &f->record);
	assert_true(is_named(f));
}

/* It may be another program by now. */
static void test_parent_that_has_another_type_there_proves_nothing(void **state)
{
	struct fixture *f = *state;
	__u64 other = image_type(f->image, "frame"), name;
	__u64 tp_name = (__u64)image_offsets.object.tp_name;

	memcpy(&name, image_at(f->image, other + tp_name), sizeof(name));
	memcpy(image_at(f->image, f->image->code_type_addr + tp_name), &name, sizeof(name));
	symbolizer__inherit(f->child, f->parent, &f->record);
	symbolizer__define(f->child, &f->record);
	assert_false(is_named(f));
}

static void test_parent_that_has_gone_proves_nothing(void **state)
{
	struct fixture *f = *state;

	f->image->fail_at = 1;
	f->image->fail_with = -ESRCH;
	symbolizer__inherit(f->child, f->parent, &f->record);
	symbolizer__define(f->child, &f->record);
	assert_false(is_named(f));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_snapshot_without_the_type_names_nothing),
		TEST(test_snapshot_with_the_type_is_enough),
		TEST(test_parents_memory_shows_the_type),
		TEST(test_parent_that_has_another_type_there_proves_nothing),
		TEST(test_parent_that_has_gone_proves_nothing),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
