/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "py_debug_tables.h"
#include "py_debug_tables_nogil.h"
#include "python/layout/py_debug_offsets.h"
#include "python/layout/py_offsets.h"

#define WORDS_MAX 111

struct table {
	__u64 words[WORDS_MAX];
	size_t len;
};

static const struct {
	const __u64 *words;
	size_t len;
	unsigned minor;
} real_tables[] = {
	{ py_debug_table_3_13_18, sizeof(py_debug_table_3_13_18), 13 },
	{ py_debug_table_3_14_10, sizeof(py_debug_table_3_14_10), 14 },
	{ py_debug_table_3_15_2, sizeof(py_debug_table_3_15_2), 15 },
};
#define REAL_CNT (sizeof(real_tables) / sizeof(real_tables[0]))

static struct table real(size_t i)
{
	struct table t = { .len = real_tables[i].len };

	memcpy(t.words, real_tables[i].words, t.len);
	return t;
}

static int parse(const struct table *t, struct py_offsets *ret, char why[256])
{
	char unused[256];

	return py_offsets_parse(t->words, t->len, ret, why ? why : unused, 256);
}

static int parse_version(__u32 version, char why[256])
{
	struct table t = real(2);
	struct py_offsets o;

	t.words[1] = version;
	return parse(&t, &o, why);
}

static void the_tables_of_real_interpreters_parse(void **state)
{
	struct py_offsets o;

	for (size_t i = 0; i < REAL_CNT; i++) {
		struct table t = real(i);

		assert_int_equal(parse(&t, &o, NULL), 0);
		assert_int_equal(o.version, t.words[1]);
		assert_int_equal(o.flags, 0);
		assert_int_equal(o.thread.current_frame, 72);
		assert_int_equal(o.frame.instr_ptr, 56);
		assert_int_equal(o.code.qualname, 128);
		assert_int_equal(o.code.firstlineno, 68);
		assert_int_equal(o.object.tp_name, 24);
		assert_int_equal(o.unicode.ascii_size, 40);
		assert_int_equal(o.unicode.compact_size, 56);
		assert_int_equal(o.bytes.ob_sval, 32);
		assert_int_equal(o.frame.tlbc_index, PYOFF_ABSENT);
		assert_int_equal(o.code.tlbc, PYOFF_ABSENT);
	}
}

static void each_version_has_its_own_values(void **state)
{
	struct py_offsets o[REAL_CNT];

	for (size_t i = 0; i < REAL_CNT; i++) {
		struct table t = real(i);

		assert_int_equal(parse(&t, &o[i], NULL), 0);
	}
	assert_int_equal(o[0].runtime.interpreters_head, 632);
	assert_int_equal(o[1].runtime.interpreters_head, 808);
	assert_int_equal(o[2].runtime.interpreters_head, 936);
	assert_int_equal(o[0].interp.code_object_generation, PYOFF_ABSENT);
	assert_int_equal(o[1].interp.code_object_generation, 7992);
	assert_int_equal(o[2].interp.code_object_generation, 7944);
	assert_int_equal(o[1].thread.base_frame, PYOFF_ABSENT);
	assert_int_equal(o[2].thread.base_frame, 80);
	assert_int_equal(o[1].thread.last_profiled_frame_seq, PYOFF_ABSENT);
	assert_int_equal(o[2].thread.last_profiled_frame_seq, 96);
	assert_int_equal(o[0].thread.native_thread_id, 160);
	assert_int_equal(o[2].thread.native_thread_id, 184);
	assert_int_equal(o[0].frame.owner, 70);
	assert_int_equal(o[2].frame.owner, 74);
	assert_int_equal(o[0].code.code_adaptive, 200);
	assert_int_equal(o[2].code.code_adaptive, 208);
}

/* Values common to the free-threaded builds of 3.13, 3.14 and 3.15, and those that differ. */
static void a_free_threaded_table_tells_its_thread_local_code(void **state)
{
	static const struct {
		const __u64 *words;
		size_t len;
		__s32 owner, tlbc_index, tlbc, code_adaptive;
	} tables[] = {
		{ py_debug_table_3_13_15t, sizeof(py_debug_table_3_13_15t), 70, PYOFF_ABSENT,
		  PYOFF_ABSENT, 216 },
		{ py_debug_table_3_14_10t, sizeof(py_debug_table_3_14_10t), 78, 72, 224, 232 },
		{ py_debug_table_3_15_2t, sizeof(py_debug_table_3_15_2t), 78, 72, 224, 232 },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct table t = { .len = tables[i].len };
		struct py_offsets o;

		memcpy(t.words, tables[i].words, t.len);
		assert_int_equal(parse(&t, &o, NULL), 0);
		assert_int_equal(o.flags, PYOFF_FREE_THREADED);
		assert_int_equal(o.frame.owner, tables[i].owner);
		assert_int_equal(o.frame.tlbc_index, tables[i].tlbc_index);
		assert_int_equal(o.code.tlbc, tables[i].tlbc);
		assert_int_equal(o.code.code_adaptive, tables[i].code_adaptive);
		assert_int_equal(o.code.firstlineno, 84);
		assert_int_equal(o.code.version, 108);
		assert_int_equal(o.object.ob_type, 24);
		assert_int_equal(o.unicode.compact_size, 72);
		assert_int_equal(o.bytes.ob_sval, 48);
	}
}

static void any_final_of_a_known_minor_is_accepted(void **state)
{
	assert_int_equal(parse_version(0x030f00f0, NULL), 0);
	assert_int_equal(parse_version(0x030f63f0, NULL), 0);
}

static void unknown_versions_are_refused_by_name(void **state)
{
	char why[256];

	assert_int_equal(parse_version(0x031000a2, why), -ENOTSUP);
	assert_non_null(strstr(why, "CPython 3.16.0a2 (0x031000a2) is not known to this krait"));
	assert_int_equal(parse_version(0x030f00c1, why), -ENOTSUP);
	assert_non_null(strstr(why, "CPython 3.15.0rc1 (0x030f00c1) is a pre-release"));
	assert_int_equal(parse_version(0x030f00b4, why), -ENOTSUP);
	assert_int_equal(parse_version(0x030c0af0, why), -ENOTSUP);
	assert_int_equal(parse_version(0x040f00f0, why), -ENOTSUP);
	assert_int_equal(parse_version(0, why), -ENOTSUP);
}

static void a_short_table_is_refused(void **state)
{
	for (size_t i = 0; i < REAL_CNT; i++) {
		struct table t = real(i);
		struct py_offsets o;

		for (; t.len; t.len--) {
			void *exact = malloc(t.len);
			char why[256];

			memcpy(exact, t.words, t.len);
			if (t.len < real_tables[i].len)
				assert_int_not_equal(
					py_offsets_parse(exact, t.len, &o, why, sizeof(why)), 0);
			free(exact);
		}
	}
}

static void a_table_without_cookie_is_none(void **state)
{
	struct table t = real(0);
	struct py_offsets o;

	t.words[0]++;
	assert_int_equal(parse(&t, &o, NULL), -ENOEXEC);
}

static void each_offset_out_of_range_is_refused(void **state)
{
	static const __u64 bad[] = { 1 << 20, 1ULL << 31, ~0U, 1ULL << 32, 1ULL << 63, ~0ULL };

	for (size_t i = 0; i < REAL_CNT; i++) {
		const struct py_debug_offsets *layout = py_debug_offsets_find(real_tables[i].minor);

		for (int m = 0; m < PY_MEMBERS; m++) {
			size_t pos = py_members[m].at[layout->column];

			if (!pos || py_members[m].flags & PYM_FREE_THREADED)
				continue;
			for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
				struct py_offsets o = { .version = 7 };
				struct table t = real(i);
				char why[256] = "";

				t.words[pos / 8] = bad[j];
				assert_int_equal(parse(&t, &o, why), -ENODATA);
				assert_non_null(strstr(why, py_members[m].name));
				assert_int_equal(o.version, 7);
			}
		}
	}
}

static void each_offset_that_ends_beyond_its_struct_is_refused(void **state)
{
	for (size_t i = 0; i < REAL_CNT; i++) {
		const struct py_debug_offsets *layout = py_debug_offsets_find(real_tables[i].minor);

		for (int m = 0; m < PY_MEMBERS; m++) {
			size_t pos = py_members[m].at[layout->column];
			struct table t = real(i);
			struct py_offsets o;

			if (!pos || py_members[m].flags & PYM_FREE_THREADED)
				continue;
			t.words[pos / 8] =
				t.words[py_structs[py_members[m].owner].at[layout->column] / 8];
			assert_int_equal(parse(&t, &o, NULL), -ENODATA);
		}
	}
}

static void each_misaligned_offset_is_refused(void **state)
{
	for (size_t i = 0; i < REAL_CNT; i++) {
		const struct py_debug_offsets *layout = py_debug_offsets_find(real_tables[i].minor);

		for (int m = 0; m < PY_MEMBERS; m++) {
			struct table t = real(i);
			struct py_offsets o;

			if (!py_members[m].at[layout->column] || py_members[m].width == 1 ||
			    py_members[m].flags & PYM_FREE_THREADED)
				continue;
			t.words[py_members[m].at[layout->column] / 8] -= 1;
			assert_int_equal(parse(&t, &o, NULL), -ENODATA);
		}
	}
}

static void each_struct_size_that_cannot_be_is_refused(void **state)
{
	static const __u64 bad[] = { 0, (1 << 20) + 1, ~0ULL };

	for (size_t i = 0; i < REAL_CNT; i++)
		for (int s = 0; s < PYS_CNT; s++)
			for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
				struct table t = real(i);
				struct py_offsets o;

				t.words[py_structs[s].at[py_debug_offsets_find(real_tables[i].minor)
								 ->column] /
					8] = bad[j];
				assert_int_equal(parse(&t, &o, NULL), -ENODATA);
			}
}

static void what_the_kernel_reads_lies_in_its_windows(void **state)
{
	struct table t = real(2);
	struct py_offsets o;

	t.words[240 / 8] = KRAIT_THREAD_WINDOW; /* thread_id; the struct has 888 bytes */
	assert_int_equal(parse(&t, &o, NULL), -ENODATA);
	t.words[240 / 8] = KRAIT_THREAD_WINDOW - 8;
	assert_int_equal(parse(&t, &o, NULL), 0);
	t = real(2);
	t.words[320 / 8] = KRAIT_FRAME_WINDOW; /* previous */
	assert_int_equal(parse(&t, &o, NULL), -ENODATA);
	t = real(2);
	t.words[384 / 8] = KRAIT_CODE_WINDOW; /* filename */
	assert_int_equal(parse(&t, &o, NULL), -ENODATA);
}

static void fields_at_one_place_are_refused(void **state)
{
	struct table t = real(2);
	struct py_offsets o;
	char why[256];

	t.words[208 / 8] = 16; /* current_frame at the offset of interp */
	assert_int_equal(parse(&t, &o, why), -ENODATA);
	assert_non_null(strstr(why, "overlaps"));
}

static void random_tables_never_crash_and_never_lie(void **state)
{
	unsigned seed = 7;

	for (int round = 0; round < 20000; round++) {
		struct table t = real((size_t)round % REAL_CNT);
		struct py_offsets o;

		for (int i = 0; i < 3; i++) {
			size_t at = 2 + (size_t)rand_r(&seed) % (t.len / 8 - 2);

			t.words[at] = (__u64)rand_r(&seed) >> rand_r(&seed) % 31;
		}
		if (parse(&t, &o, NULL))
			continue;
		assert_in_range(o.thread.thread_id, 0, KRAIT_THREAD_WINDOW - 8);
		assert_in_range(o.frame.owner, 0, KRAIT_FRAME_WINDOW - 1);
		assert_in_range(o.code.linetable, 0, KRAIT_CODE_WINDOW - 8);
	}
}

static void anchors_are_only_where_releases_have_them(void **state)
{
	struct py_offsets o;
	struct table t = real(2);

	assert_int_equal(parse(&t, &o, NULL), 0);
	assert_string_equal(py_offsets_anchors_why(&o, true), "");
	assert_string_not_equal(py_offsets_anchors_why(&o, false), "");
	t.words[224 / 8] += 8 * 7; /* last_profiled_frame: one word later, where nothing else is */
	assert_int_equal(parse(&t, &o, NULL), 0);
	assert_int_equal(o.thread.last_profiled_frame, 144);
	assert_string_not_equal(py_offsets_anchors_why(&o, true), "");
	t = real(2);
	t.words[232 / 8] += 8 * 7;
	assert_int_equal(parse(&t, &o, NULL), 0);
	assert_string_not_equal(py_offsets_anchors_why(&o, true), "");
	/* A version without it has nothing to check. */
	t = real(1);
	assert_int_equal(parse(&t, &o, NULL), 0);
	assert_string_equal(py_offsets_anchors_why(&o, false), "");
}

/* A file's bytes, or a process's. */
static void a_table_is_as_long_as_its_version_says(void **state)
{
	static const size_t sizes[] = { 584, 760, 888 };
	__u64 words[PY_TABLE_MAX / 8] = { 0 };

	for (size_t i = 0; i < REAL_CNT; i++) {
		memcpy(words, real_tables[i].words, real_tables[i].len);
		assert_int_equal(py_debug_table_size(words, sizeof(words)), sizes[i]);
		assert_int_equal(py_debug_table_size(words, 100), 100);
	}
	words[1] = 0x031000f0;
	assert_int_equal(py_debug_table_size(words, sizeof(words)), 24);
}

static void versions_read_as_python_writes_them(void **state)
{
	static const struct {
		__u32 version;
		const char *text;
	} cases[] = {
		{ 0x030d12f0, "3.13.18" },	  { 0x030f00c1, "3.15.0rc1" },
		{ 0x031000a2, "3.16.0a2" },	  { 0x030e00b4, "3.14.0b4" },
		{ 0xffffff1f, "255.255.255?15" }, { 0x0308fff0, "3.8" },
	};
	char text[24], tiny[4];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		py_version_format(cases[i].version, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
	py_version_format(0x030f00c1, tiny, sizeof(tiny));
	assert_string_equal(tiny, "3.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_of_real_interpreters_parse),
		cmocka_unit_test(each_version_has_its_own_values),
		cmocka_unit_test(a_free_threaded_table_tells_its_thread_local_code),
		cmocka_unit_test(any_final_of_a_known_minor_is_accepted),
		cmocka_unit_test(unknown_versions_are_refused_by_name),
		cmocka_unit_test(a_short_table_is_refused),
		cmocka_unit_test(a_table_without_cookie_is_none),
		cmocka_unit_test(each_offset_out_of_range_is_refused),
		cmocka_unit_test(each_offset_that_ends_beyond_its_struct_is_refused),
		cmocka_unit_test(each_misaligned_offset_is_refused),
		cmocka_unit_test(each_struct_size_that_cannot_be_is_refused),
		cmocka_unit_test(what_the_kernel_reads_lies_in_its_windows),
		cmocka_unit_test(fields_at_one_place_are_refused),
		cmocka_unit_test(random_tables_never_crash_and_never_lie),
		cmocka_unit_test(anchors_are_only_where_releases_have_them),
		cmocka_unit_test(a_table_is_as_long_as_its_version_says),
		cmocka_unit_test(versions_read_as_python_writes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
