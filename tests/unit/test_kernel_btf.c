/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_btf.c - an excerpt of type information contains what the names require, at the same
 * offsets.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "kernel/sampler/kernel_btf.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"

/*
 * struct inner { int a; }; struct far { long b; }; enum colour { RED = 1, BLUE = 7 }; struct outer
 * { struct inner in; struct far *far; const number numbers[3]; struct { int c : 5; }; enum colour
 * e; }; and others that nobody requests
 */
static struct btf *make_whole(void)
{
	struct btf *b = btf__new_empty();
	int number, inner, far, far_ptr, colour, numbers, anonymous, integer;

	for (int i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "unrelated%d", i);
		btf__add_struct(b, name, 4);
	}
	integer = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	inner = btf__add_struct(b, "inner", 4);
	btf__add_field(b, "a", integer, 0, 0);
	far = btf__add_struct(b, "far", 8);
	btf__add_field(b, "b", btf__add_int(b, "long", 8, BTF_INT_SIGNED), 0, 0);
	far_ptr = btf__add_ptr(b, far);
	colour = btf__add_enum(b, "colour", 4);
	btf__add_enum_value(b, "RED", 1);
	btf__add_enum_value(b, "BLUE", 7);
	number = btf__add_const(b, btf__add_typedef(b, "number", integer));
	numbers = btf__add_array(b, integer, number, 3);
	anonymous = btf__add_struct(b, NULL, 4);
	btf__add_field(b, "c", integer, 0, 5);
	btf__add_struct(b, "outer", 40);
	btf__add_field(b, "in", inner, 0, 0);
	btf__add_field(b, "far", far_ptr, 64, 0);
	btf__add_field(b, "numbers", numbers, 128, 0);
	btf__add_field(b, NULL, anonymous, 224, 0);
	btf__add_field(b, "e", colour, 256, 0);
	btf__add_func_proto(b, integer);
	btf__add_func_param(b, "x", far_ptr);
	btf__add_func(b, "function", BTF_FUNC_STATIC, btf__type_cnt(b) - 1);
	btf__add_struct(b, "flavored", 16);
	return b;
}

static struct btf *make_local(const char *name)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, name, 4);
	return b;
}

static int excerpt(const char *name, const void *data, size_t size, struct btf **ret)
{
	cleanup_bytes struct bytes b = { 0 };
	struct btf *local = make_local(name);
	__u32 func;
	int err = kernel_btf_excerpt(local, data, size, &b, "no_such_function", &func);

	btf__free(local);
	if (!err) {
		*ret = btf__new(b.data, (__u32)b.len);
		assert_non_null(*ret);
	}
	return err;
}

static int excerpt_of_ours(const char *name, struct btf **ret)
{
	struct btf *whole = make_whole();
	__u32 size;
	const void *data = btf__raw_data(whole, &size);
	int err = excerpt(name, data, size, ret);

	btf__free(whole);
	return err;
}

static void assert_same_type(const struct btf *a, __u32 id_a, const struct btf *b, __u32 id_b,
			     int depth);

static void assert_same_members(const struct btf *a, const struct btf_type *ta, const struct btf *b,
				const struct btf_type *tb, int depth)
{
	assert_int_equal(btf_vlen(ta), btf_vlen(tb));
	for (__u32 i = 0; i < btf_vlen(ta); i++) {
		const struct btf_member *x = &btf_members(ta)[i], *y = &btf_members(tb)[i];

		assert_string_equal(btf__name_by_offset(a, x->name_off),
				    btf__name_by_offset(b, y->name_off));
		assert_int_equal(x->offset, y->offset);
		assert_same_type(a, x->type, b, y->type, depth + 1);
	}
}

static void assert_same_enumerators(const struct btf *a, const struct btf_type *ta,
				    const struct btf *b, const struct btf_type *tb)
{
	for (__u32 i = 0; btf_is_enum(ta) && i < btf_vlen(ta); i++) {
		assert_string_equal(btf__name_by_offset(a, btf_enum(ta)[i].name_off),
				    btf__name_by_offset(b, btf_enum(tb)[i].name_off));
		assert_int_equal(btf_enum(ta)[i].val, btf_enum(tb)[i].val);
	}
}

/* Compares everything contained by value. */
static void assert_same_type(const struct btf *a, __u32 id_a, const struct btf *b, __u32 id_b,
			     int depth)
{
	const struct btf_type *ta = btf__type_by_id(a, id_a), *tb = btf__type_by_id(b, id_b);

	assert_int_equal(btf_kind(ta), btf_kind(tb));
	assert_string_equal(btf__name_by_offset(a, ta->name_off),
			    btf__name_by_offset(b, tb->name_off));
	assert_true(depth < 32);
	if (btf_is_ptr(ta) || btf_is_func_proto(ta))
		return;
	if (btf_is_mod(ta) || btf_is_typedef(ta)) {
		assert_same_type(a, ta->type, b, tb->type, depth + 1);
		return;
	}
	if (btf_is_array(ta)) {
		assert_int_equal(btf_array(ta)->nelems, btf_array(tb)->nelems);
		assert_same_type(a, btf_array(ta)->type, b, btf_array(tb)->type, depth + 1);
		return;
	}
	assert_int_equal(ta->size, tb->size);
	assert_int_equal(btf_vlen(ta), btf_vlen(tb));
	if (btf_is_composite(ta))
		assert_same_members(a, ta, b, tb, depth);
	assert_same_enumerators(a, ta, b, tb);
}

static void what_is_asked_for_is_there_with_all_that_lies_within(void **state)
{
	struct btf *whole = make_whole(), *e;

	assert_int_equal(excerpt_of_ours("outer", &e), 0);
	assert_same_type(whole, (__u32)btf__find_by_name(whole, "outer"), e,
			 (__u32)btf__find_by_name(e, "outer"), 0);
	btf__free(e);
	btf__free(whole);
}

static void what_nobody_asks_for_is_not_there(void **state)
{
	struct btf *e;

	assert_int_equal(excerpt_of_ours("outer", &e), 0);
	assert_true(btf__find_by_name(e, "far") < 0); /* behind a pointer */
	assert_true(btf__find_by_name(e, "unrelated0") < 0);
	assert_true(btf__find_by_name(e, "flavored") < 0);
	assert_true(btf__find_by_name(e, "function") < 0);
	assert_true(btf__type_cnt(e) < 12);
	btf__free(e);
}

static void a_flavor_asks_for_the_type_itself(void **state)
{
	struct btf *e;

	assert_int_equal(excerpt_of_ours("flavored___before_6_6", &e), 0);
	assert_true(btf__find_by_name(e, "flavored") > 0);
	btf__free(e);
}

/*
 * Each prefix, in memory of exactly that length: the address sanitizer would report reads beyond
 * it.
 */
static void a_part_of_it_is_refused(void **state)
{
	struct btf *whole = make_whole(), *e;
	__u32 size;
	const char *data = btf__raw_data(whole, &size);

	for (__u32 len = 0; len < size; len++) {
		char *part = malloc(len + !len);

		memcpy(part, data, len);
		assert_int_equal(excerpt("outer", part, len, &e), -EINVAL);
		free(part);
	}
	btf__free(whole);
}

static void a_kind_that_is_not_known_is_refused(void **state)
{
	struct btf *whole = make_whole(), *e;
	__u32 size;
	const void *data = btf__raw_data(whole, &size);
	char *copy = malloc(size);
	struct btf_type *first;

	memcpy(copy, data, size);
	first = (struct btf_type *)(copy + ((struct btf_header *)copy)->hdr_len);
	first->info = 31U << 24;
	assert_int_equal(excerpt("outer", copy, size, &e), -EOPNOTSUPP);
	free(copy);
	btf__free(whole);
}

static void the_kernels_own_types_stay_where_they_are(void **state)
{
	static const char *const names[] = { "task_struct", "mm_struct", "inode", "file",
					     "signal_struct" };
	struct btf *whole = btf__parse(KERNEL_BTF, NULL);

	if (!whole)
		skip();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[] = "/tmp/krait-test-XXXXXX";
		cleanup_close int fd = mkstemp(path);
		struct btf *local = make_local(names[i]), *e;
		__u32 func;

		assert_int_equal(kernel_btf_write(local, KERNEL_BTF, fd, "bpf_iter_task", &func),
				 0);
		assert_int_equal(func,
				 btf__find_by_name_kind(whole, "bpf_iter_task", BTF_KIND_FUNC));
		e = btf__parse(path, NULL);
		unlink(path);
		assert_non_null(e);
		assert_same_type(whole,
				 (__u32)btf__find_by_name_kind(whole, names[i], BTF_KIND_STRUCT), e,
				 (__u32)btf__find_by_name_kind(e, names[i], BTF_KIND_STRUCT), 0);
		assert_true(btf__type_cnt(e) < btf__type_cnt(whole) / 10);
		btf__free(e);
		btf__free(local);
	}
	btf__free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_is_there_with_all_that_lies_within),
		cmocka_unit_test(what_nobody_asks_for_is_not_there),
		cmocka_unit_test(a_flavor_asks_for_the_type_itself),
		cmocka_unit_test(a_part_of_it_is_refused),
		cmocka_unit_test(a_kind_that_is_not_known_is_refused),
		cmocka_unit_test(the_kernels_own_types_stay_where_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
