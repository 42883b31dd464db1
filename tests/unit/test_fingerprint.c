/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fingerprint.c - code objects at one address, whose texts and line tables lie at the same
 * addresses, too, and which differ in one thing at a time: in the layout of each version.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_fake_interpreter.h"
#include "bpf/python/fingerprint.h"
#include "python/layout/py_builtin_offsets.h"

enum { FIRST_MINOR = 8, LAST_MINOR = 15, TEXT_MAX = 20000 };

/* One code object with room for longer texts than it has. */
struct object {
	struct fake_version version;
	struct fake *f;
	__u64 addr, name_addr, file_addr, lines_addr;
};

static __u64 put_object(struct object *x, bool is_string, __u64 length)
{
	const struct py_offsets *off = &x->f->offsets;
	__s32 header = is_string ? off->unicode.ascii_size : off->bytes.ob_sval;
	__u64 addr = fake_alloc(x->f, TEXT_MAX);

	fake_put(x->f, addr + (is_string ? off->unicode.length : off->bytes.ob_size), length);
	if (is_string) /* kind 1, compact, ascii */
		fake_put_u32(x->f, addr + off->unicode.state, 25u << PYOFF_STRING_STATE_SHIFT(off));
	memset(fake_at(x->f, addr + header), 'x', length);
	return addr;
}

static void begin(struct object *x, int minor, __u32 name, __u32 file, __u32 lines)
{
	const struct py_offsets *off;

	if (minor >= 13)
		x->version = fake_versions[minor - 13];
	else
		x->version = (struct fake_version){ .name = "old",
						    .offsets = *py_builtin_offsets_find(minor),
						    .thread_size = 384,
						    .frame_size = 384 };
	x->f = fake_new(&x->version, 0x7f5500000000, 1 << 20);
	off = &x->f->offsets;
	assert_true(pyoff_has_key(off));
	x->addr = fake_alloc(x->f, 512);
	x->name_addr = put_object(x, true, name);
	x->file_addr = put_object(x, true, file);
	x->lines_addr = put_object(x, false, lines);
	fake_put(x->f,
		 x->addr +
			 (off->code.qualname == PYOFF_ABSENT ? off->code.name : off->code.qualname),
		 x->name_addr);
	fake_put(x->f, x->addr + off->code.filename, x->file_addr);
	fake_put(x->f, x->addr + off->code.linetable, x->lines_addr);
	fake_put_u32(x->f, x->addr + off->code.firstlineno, 10);
}

static void end(struct object *x)
{
	fake_free(x->f);
}

static __u32 now(struct object *x)
{
	return fake_fingerprint(x->f, x->addr);
}

/* The fingerprint with another byte there. */
static __u32 with(struct object *x, __u64 addr, __u8 value)
{
	__u8 *byte = fake_at(x->f, addr), before = *byte;
	__u32 found;

	assert_int_not_equal(before, value);
	*byte = value;
	found = now(x);
	*byte = before;
	return found;
}

#define for_each_minor(minor) for (int minor = FIRST_MINOR; minor <= LAST_MINOR; minor++)

static void assert_each_byte_counts(struct object *x, __u64 addr, __u32 cnt, __u32 step)
{
	__u32 before = now(x);

	assert_int_not_equal(before, 0);
	for (__u32 i = 0; i < cnt; i += step)
		assert_int_not_equal(with(x, addr + i, 'y'), before);
	assert_int_equal(now(x), before);
}

static void each_byte_of_name_file_and_lines_counts(void **state)
{
	static const __u32 lengths[] = { 1, 7, 8, 9, 40, 80, 81, 88, 300, CODE_CONTENTS_MAX };

	for_each_minor(minor)
	{
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			__u32 length = lengths[i], step = length / 50 | 1;
			struct object x;

			begin(&x, minor, length, length, length);
			assert_each_byte_counts(&x, x.name_addr + x.f->offsets.unicode.ascii_size,
						length, step);
			assert_each_byte_counts(&x, x.file_addr + x.f->offsets.unicode.ascii_size,
						length, step);
			assert_each_byte_counts(&x, x.lines_addr + x.f->offsets.bytes.ob_sval,
						length, step);
			end(&x);
		}
	}
}

/* What follows a text belongs to somebody else. */
static void nothing_behind_the_end_counts(void **state)
{
	for_each_minor(minor)
	{
		for (__u32 length = 0; length < 100; length += 7) {
			__u32 before, ascii, sval;
			struct object x;

			begin(&x, minor, length, length, length);
			before = now(&x);
			ascii = (__u32)x.f->offsets.unicode.ascii_size;
			sval = (__u32)x.f->offsets.bytes.ob_sval;
			assert_int_equal(with(&x, x.name_addr + ascii + length, 'y'), before);
			assert_int_equal(with(&x, x.file_addr + ascii + length, 'y'), before);
			assert_int_equal(with(&x, x.lines_addr + sval + length, 'y'), before);
			end(&x);
		}
	}
}

static void each_length_and_width_counts(void **state)
{
	for_each_minor(minor)
	{
		const __u32 lengths[] = { 20, CODE_CONTENTS_MAX + 20 };

		for (int i = 0; i < 2; i++) {
			__u32 low = lengths[i] & 0xff, before;
			struct object x;
			const struct py_offsets *off;

			begin(&x, minor, lengths[i], lengths[i], lengths[i]);
			off = &x.f->offsets;
			before = now(&x);
			assert_int_not_equal(with(&x, x.name_addr + off->unicode.length,
						  (__u8)(low + 1)),
					     before);
			assert_int_not_equal(with(&x, x.file_addr + off->unicode.length,
						  (__u8)(low - 1)),
					     before);
			assert_int_not_equal(with(&x, x.lines_addr + off->bytes.ob_size,
						  (__u8)(low + 1)),
					     before);
			/* kind 2 instead of 1; not ASCII */
			assert_int_not_equal(with(&x, x.name_addr + off->unicode.state, 26 << 2),
					     before);
			assert_int_not_equal(with(&x, x.name_addr + off->unicode.state, 9 << 2),
					     before);
			end(&x);
		}
	}
}

static void line_and_version_count(void **state)
{
	for_each_minor(minor)
	{
		struct object x;
		__u32 before;

		begin(&x, minor, 20, 20, 20);
		before = now(&x);
		assert_int_not_equal(with(&x, x.addr + x.f->offsets.code.firstlineno, 11), before);
		if (x.f->offsets.code.version != PYOFF_ABSENT)
			assert_int_not_equal(with(&x, x.addr + x.f->offsets.code.version, 11),
					     before);
		end(&x);
	}
}

/* PyObject's count, a string's interned bits and hash, and all of the object behind its key. */
static void what_the_interpreter_changes_does_not_count(void **state)
{
	for_each_minor(minor)
	{
		const __u64 *texts[3];
		struct object x;
		__u32 before, at;

		begin(&x, minor, 20, 20, 20);
		before = now(&x);
		texts[0] = &x.name_addr;
		texts[1] = &x.file_addr;
		texts[2] = &x.lines_addr;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(with(&x, *texts[i], 7), before); /* ob_refcnt */
			/* the hash of a string follows its length, that of bytes ob_size */
			assert_int_equal(with(&x, *texts[i] + 24, 7), before);
		}
		assert_int_equal(with(&x, x.name_addr + x.f->offsets.unicode.state, 25 << 2 | 1),
				 before);
		assert_int_equal(with(&x, x.addr, 7), before);
		at = PYOFF_CODE_KEY_AT(&x.f->offsets) + KRAIT_CODE_KEY;
		for (; at < 400; at++)
			assert_int_equal(with(&x, x.addr + at, 7), before);
		end(&x);
	}
}

/* Bytes beyond the limit are not read; the first ones are. */
static void of_a_long_table_the_beginning_counts(void **state)
{
	for_each_minor(minor)
	{
		struct object x;
		__u32 before;
		__u64 data_addr;

		begin(&x, minor, 20, 20, 2 * CODE_CONTENTS_MAX);
		data_addr = x.lines_addr + (__u32)x.f->offsets.bytes.ob_sval;
		before = now(&x);
		assert_int_not_equal(with(&x, data_addr + CODE_CONTENTS_MAX - 1, 'y'), before);
		assert_int_equal(with(&x, data_addr + CODE_CONTENTS_MAX, 'y'), before);
		end(&x);
	}
}

/* A text may end where readable memory does; what is not there has no fingerprint. */
static void memory_may_end_behind_a_text(void **state)
{
	struct object x;
	__u32 before;

	begin(&x, 11, 20, 20, 20);
	before = now(&x);
	fake_fault(x.f, x.name_addr + 48 + 20, 1);
	fake_fault(x.f, x.lines_addr + 32 + 20, 1);
	assert_int_equal(code_fingerprint(&x.f->memory, &x.f->offsets, fake_at(x.f, x.addr)),
			 before);
	fake_fault(x.f, x.file_addr + 48 + 19, 1);
	assert_int_equal(code_fingerprint(&x.f->memory, &x.f->offsets, fake_at(x.f, x.addr)), 0);
	end(&x);
}

static int by_value(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* Names that programs make in sequence: what may follow at a reused address. */
static void fingerprints_of_neighbours_differ(void **state)
{
	enum { CNT = 20000 };
	static __u32 values[CNT];
	struct object x;
	int same = 0;

	begin(&x, 11, 11, 20, 20);
	for (int i = 0; i < CNT; i++) {
		char name[12];

		snprintf(name, sizeof(name), "f_%09d", i);
		memcpy(fake_at(x.f, x.name_addr + 48), name, 11);
		values[i] = now(&x);
	}
	end(&x);
	qsort(values, CNT, sizeof(values[0]), by_value);
	for (int i = 1; i < CNT; i++)
		same += values[i] == values[i - 1];
	/* With 31 bits chance makes 0.1 of 20,000 collide with another. */
	assert_in_range(same, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_of_name_file_and_lines_counts),
		cmocka_unit_test(nothing_behind_the_end_counts),
		cmocka_unit_test(each_length_and_width_counts),
		cmocka_unit_test(line_and_version_count),
		cmocka_unit_test(what_the_interpreter_changes_does_not_count),
		cmocka_unit_test(of_a_long_table_the_beginning_counts),
		cmocka_unit_test(memory_may_end_behind_a_text),
		cmocka_unit_test(fingerprints_of_neighbours_differ),
	};

	return cmocka_run_group_tests_name("bpf/python/fingerprint.h", tests, NULL, NULL);
}
