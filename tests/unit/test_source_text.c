/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_text.c - which lines of a text a code object runs, and that no text or line table takes long.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "profile/dict.h"
#include "record/samples/source_text.h"

#define TABLE_MAX (4U << 20)
#define TEXT_MAX (1U << 20)

static const char shop[] = "import x\n"
			   "\n"
			   "@cached\n"
			   "# the sum\n"
			   "async def total(cart):\n"
			   "    return 1\n"
			   "\n"
			   "\n"
			   "\n"
			   "key = lambda a: a\n"
			   "x = total";

struct table {
	__u8 *bytes;
	__u32 size;
	int line;
};

/* An entry without columns (Objects/locations.md): one code unit in that line. */
static void put(struct table *t, int line)
{
	__s64 delta = (__s64)line - t->line;
	__u32 value = delta < 0 ? (__u32)-delta << 1 | 1 : (__u32)delta << 1;

	t->bytes[t->size++] = 0x80 | 13 << 3;
	for (; value >= 64; value >>= 6)
		t->bytes[t->size++] = 64 | (value & 63);
	t->bytes[t->size++] = (__u8)value;
	t->line = line;
}

static struct profile_code code_of(const struct table *t, int first_line)
{
	return (struct profile_code){ .first_line = first_line,
				      .lines = t->bytes,
				      .lines_size = t->size };
}

static struct source_text text_of(const char *text)
{
	struct source_text t;

	assert_int_equal(source_text_init(&t, strdup(text), strlen(text)), 0);
	return t;
}

static int fits(const char *name, int first_line, const int *lines, unsigned cnt,
		struct source_span *ret)
{
	__u8 bytes[256];
	struct table table = { bytes, 0, first_line };
	struct source_text t = text_of(shop);
	struct profile_code code;
	int err;

	for (unsigned i = 0; i < cnt; i++)
		put(&table, lines[i]);
	code = code_of(&table, first_line);
	err = source_text_fits(&t, &code, name, ret);
	source_text_deinit(&t);
	return err;
}

static void functions_are_where_their_code_says(void **state)
{
	const int body[] = { 3, 6 }, key[] = { 10 }, comment[] = { 3, 4 }, beyond[] = { 12 };
	struct source_span s;

	assert_int_equal(fits("Cart.total", 3, body, 2, &s), 0);
	assert_int_equal(s.first, 3);
	assert_int_equal(s.last, 6);
	assert_int_equal(fits("tot", 3, body, 2, &s), -ENOENT);
	assert_int_equal(fits("total", 1, body, 2, &s), -ENOENT);
	assert_int_equal(fits("total", 3, comment, 2, &s), -ENOENT);
	assert_int_equal(fits("total", 3, beyond, 1, &s), -ENOENT);
	assert_int_equal(fits("total", -2147483647 - 1, body, 2, &s), -ENOENT);
	assert_int_equal(fits("<lambda>", 10, key, 1, &s), 0);
	assert_int_equal(fits("<lambda>", 6, body + 1, 1, &s), -ENOENT);
	assert_int_equal(fits("f.<listcomp>", 6, body + 1, 1, &s), 0);
}

static void lines_are_found(void **state)
{
	struct source_text t = text_of(shop);

	assert_int_equal(t.line_cnt, 11);
	assert_string_equal(source_text_line(&t, 11), "x = total");
	assert_ptr_equal(source_text_line(&t, 1), t.text);
	assert_null(source_text_line(&t, 0));
	assert_null(source_text_line(&t, -1));
	assert_null(source_text_line(&t, 12));
	source_text_deinit(&t);
	t = text_of("");
	assert_null(source_text_line(&t, 1));
	source_text_deinit(&t);
}

static void a_text_has_no_nul(void **state)
{
	struct source_text t;
	char *text = calloc(1, TEXT_MAX + 1);

	assert_int_equal(source_text_init(&t, text, TEXT_MAX), -EINVAL);
	assert_int_equal(t.bytes, 0);
	t = text_of(shop);
	assert_true(t.bytes >= sizeof(shop) + 11 * sizeof(*t.starts));
	source_text_deinit(&t);
}

static int put_run(void *ctx, struct source_span run)
{
	fprintf(ctx, "%d-%d ", run.first, run.last);
	return 0;
}

static void a_module_has_what_it_runs(void **state)
{
	__u8 bytes[64];
	struct table table = { bytes, 0, 1 };
	struct source_text t = text_of(shop);
	struct profile_code code;
	char *runs;
	size_t size;
	FILE *out = open_memstream(&runs, &size);

	/* A decorator comes after its function, and again. */
	put(&table, 1);
	put(&table, 5);
	put(&table, 3);
	put(&table, 5);
	put(&table, 11);
	put(&table, 10);
	code = code_of(&table, 1);
	assert_int_equal(source_text_each_run(&t, &code, put_run, out), 0);
	fclose(out);
	assert_string_equal(runs, "1-5 10-11 ");
	free(runs);
	source_text_deinit(&t);
}

static int count_run(void *ctx, struct source_span run)
{
	++*(unsigned *)ctx;
	return 0;
}

/* A table of 4 MiB that goes to and fro between the ends of a text of 1 MiB. */
static void no_table_takes_long(void **state)
{
	static const char *const lines[] = { "x\n", " \n", "                                x\n" };
	struct table table = { malloc(TABLE_MAX), 0, 1 };
	clock_t began = clock();

	for (unsigned i = 0; i < 3; i++) {
		const size_t len = strlen(lines[i]), cnt = TEXT_MAX / len;
		char *text = malloc(TEXT_MAX + 1);
		struct source_text t;
		struct source_span s;
		struct profile_code code;
		unsigned runs = 0;

		for (size_t k = 0; k < cnt; k++)
			memcpy(text + k * len, lines[i], len);
		text[cnt * len] = '\0';
		assert_int_equal(source_text_init(&t, text, cnt * len), 0);
		assert_int_equal(t.line_cnt, cnt);
		table.size = 0;
		table.line = 1;
		while (table.size < TABLE_MAX - 16) {
			put(&table, 1);
			put(&table, (int)cnt);
		}
		code = code_of(&table, 1);
		assert_int_equal(source_text_fits(&t, &code, "<module>", &s),
				 i == 1 ? -ENOENT : -E2BIG);
		code.lines_size = TABLE_MAX / 16;
		assert_int_equal(source_text_fits(&t, &code, "<module>", &s), i == 1 ? -ENOENT : 0);
		assert_int_equal(source_text_each_run(&t, &code, count_run, &runs), 0);
		assert_int_equal(runs, 2);
		source_text_deinit(&t);
	}
	assert_true(clock() - began < 2 * CLOCKS_PER_SEC);
	free(table.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_where_their_code_says),
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(a_text_has_no_nul),
		cmocka_unit_test(a_module_has_what_it_runs),
		cmocka_unit_test(no_table_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
