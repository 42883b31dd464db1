/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sources.c - source lines that travel with a capture: what goes in comes out, lines that differ are not shown, and any
 * text may come in.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "support_folder.h"
#include "capture/dso/dso_store.h"
#include "profile/sources.h"
#include "base/text/short_path.h"
#include "base/share/quota.h"

static const char shop[] =
	"import x\n\ndef total(cart):\r\n    return 1\n\ndef other():\n    return 2\n";

/* Adds lines of a whole text. */
static int add(struct sources *s, unsigned owner, const char *path, const char *text, int first,
	       int last)
{
	for (int i = 1; text && i < first; i++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return sources_add(s, owner, path, text && *text ? text : NULL, first, last);
}

static char *written(const struct sources *s)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	sources_write(s, out);
	fclose(out);
	return text;
}

static void expect(const struct sources *s, const char *path, const char *here, const char *wanted)
{
	const struct source_kept *k = sources_find(s, path);
	char *text;

	assert_non_null(k);
	text = sources_text(k, here);
	assert_string_equal(text, wanted);
	free(text);
}

static void lines_of_functions_come_out(void **state)
{
	struct sources s = { 0 }, read = { 0 };
	char *text;

	assert_int_equal(add(&s, 1, "/app/shop.py", shop, 6, 7), 0);
	assert_int_equal(add(&s, 2, "/app/shop.py", shop, 3, 4), 0);
	assert_int_equal(add(&s, 1, "<cell>", "f()", 1, 1), 0);
	/* Beyond its end there is nothing. */
	assert_int_equal(add(&s, 1, "<cell>", "f()", 2, 9), 0);
	assert_int_equal(add(&s, 1, "/none.py", "", 1, 1), 0);
	assert_null(sources_find(&s, "/none.py"));
	text = written(&s);
	assert_string_equal(text, "source /app/shop.py\n"
				  " 3 def total(cart):\n"
				  " 4     return 1\n"
				  " 6 def other():\n"
				  " 7     return 2\n"
				  "source <cell>\n"
				  " 1 f()\n");
	assert_int_equal(sources_read(&read, text), 0);
	free(text);
	expect(&read, "/app/shop.py", NULL,
	       "\n\ndef total(cart):\n    return 1\n\ndef other():\n    return 2\n");
	expect(&read, "<cell>", NULL, "f()\n");
	sources_free(&s);
	sources_free(&read);
}

/* Whoever claims it: code that is no cell of a notebook has no cell's name. */
static void only_cells_are_called_so(void **state)
{
	static const char *const others[] = { "<string>",
					      "<ipython-input-2-a>",
					      "/app/shop.py",
					      "/tmp/ipykernel_7",
					      "/tmp/ipykernel_7/a/1.py",
					      "/tmp/ipykernel_/1.py",
					      "/tmp/ipykernel_7x/1.py",
					      "/tmp/ipykernel_99999999999/1.py" };
	const char *cell = "/tmp/ipykernel_7/1.py";
	struct sources s = { 0 }, read = { 0 };
	char *text;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *shown = short_path(others[i]);
		char notes[128];

		assert_int_equal(cell_path_pid(others[i]), 0);
		assert_int_equal(add(&s, 1, others[i], "f()", 1, 1), 0);
		assert_int_equal(sources_call(&s, 1, others[i], 3), 0);
		snprintf(notes, sizeof(notes), "source %s\n 0 cell 5\n", others[i]);
		assert_int_equal(sources_read(&read, notes), 0);
		assert_string_equal(short_path(others[i]), shown);
	}
	assert_int_equal(cell_path_pid(cell), 7);
	assert_int_equal(sources_call(&s, 1, cell, 4), 0); /* not kept */
	assert_string_equal(short_path(cell), "1.py");
	assert_int_equal(add(&s, 1, cell, "f()", 1, 1), 0);
	assert_int_equal(sources_call(&s, 1, cell, 3), 0);
	assert_string_equal(short_path(cell), "cell 3");
	text = written(&s);
	assert_non_null(strstr(text, "source /tmp/ipykernel_7/1.py\n 0 cell 3\n 1 f()\n"));
	assert_int_equal(sources_read(&read, text), 0);
	assert_string_equal(short_path(cell), "cell 3");
	assert_int_equal(sources_find(&read, cell)->cell, 3);
	free(text);
	sources_free(&s);
	sources_free(&read);
}

/* Of two numbers none is right; what the user says is. */
static void a_cell_with_two_numbers_has_none(void **state)
{
	const char *a = "/tmp/ipykernel_8/a.py", *b = "/tmp/ipykernel_8/b.py";
	struct sources s = { 0 }, read = { 0 };

	assert_int_equal(sources_read(&s, "source /tmp/ipykernel_8/a.py\n 0 cell 2\n"), 0);
	assert_string_equal(short_path(a), "cell 2");
	assert_int_equal(sources_call(&s, 1, a, 9), 0);
	assert_int_equal(sources_call(&s, 1, a, 9), 0);
	assert_string_equal(short_path(a), "a.py");
	assert_int_equal(sources_find(&s, a)->cell, 0);
	/* Another capture. */
	assert_int_equal(sources_read(&read, "source /tmp/ipykernel_8/a.py\n 0 cell 2\n"), 0);
	assert_string_equal(short_path(a), "a.py");
	assert_int_equal(short_path_call(b, "cell 1"), 0);
	assert_int_equal(sources_read(&s, "source /tmp/ipykernel_8/b.py\n 0 cell 2\n 0 cell 3\n"),
			 0);
	assert_string_equal(short_path(b), "cell 1");
	sources_free(&s);
	sources_free(&read);
}

/* Names of cells are few: one owner's leave room for others'. */
static void nobody_takes_all_names(void **state)
{
	struct sources s = { 0 };
	char path[64];

	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "/tmp/ipykernel_9/%d.py", i);
		assert_int_equal(add(&s, 7, path, "f()", 1, 1), 0);
		assert_int_equal(sources_call(&s, 7, path, 6), 0);
	}
	assert_string_equal(short_path(path), "1999.py");
	assert_int_equal(add(&s, 8, "/tmp/ipykernel_9/x.py", "f()", 1, 1), 0);
	assert_int_equal(sources_call(&s, 8, "/tmp/ipykernel_9/x.py", 4), 0);
	assert_string_equal(short_path("/tmp/ipykernel_9/x.py"), "cell 4");
	sources_free(&s);
}

static void different_lines_are_not_shown(void **state)
{
	static const char differs[] = "(not shown: processes had different lines here)";
	struct sources s = { 0 }, read = { 0 };
	char wanted[256], *text;

	assert_int_equal(add(&s, 1, "a.py", "one\ntwo\nthree\n", 1, 3), 0);
	assert_int_equal(add(&s, 1, "a.py", "one\n2\nthree\n", 1, 3), 0);
	assert_int_equal(add(&s, 1, "a.py", "one\ntwo\nthree\n", 1, 3), 0);
	text = written(&s);
	assert_int_equal(sources_read(&read, text), 0);
	free(text);
	snprintf(wanted, sizeof(wanted), "one\n%s\nthree\n", differs);
	expect(&read, "a.py", NULL, wanted);
	/* Some of the processes saw the file that is here. */
	snprintf(wanted, sizeof(wanted), "one\n%s\n%s\nfour\n", differs, differs);
	expect(&read, "a.py", "one\ntwo\n3\nfour\n", wanted);
	snprintf(wanted, sizeof(wanted), "one\n%s\n%s\n", differs, differs);
	expect(&read, "a.py", "one\r\n", wanted);
	sources_free(&s);
	sources_free(&read);
}

static void long_lines_are_cut(void **state)
{
	char text[2 * SOURCES_WIDTH_MAX], *kept;
	struct sources s = { 0 };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text + SOURCES_WIDTH_MAX - 1, "\xc3\xa4", 2); /* not in the middle of a character */
	assert_int_equal(add(&s, 1, "a.py", text, 1, 1), 0);
	kept = sources_text(sources_find(&s, "a.py"), NULL);
	assert_int_equal(strspn(kept, "x"), SOURCES_WIDTH_MAX - 1);
	assert_string_equal(kept + SOURCES_WIDTH_MAX - 1, "\xe2\x80\xa6\n");
	free(kept);
	kept = sources_text(sources_find(&s, "a.py"), text);
	assert_null(strstr(kept, "different"));
	free(kept);
	sources_free(&s);
}

static void nobody_takes_all_room(void **state)
{
	const size_t size = SOURCES_MAX / 4;
	char *text = malloc(size + 1), path[32];
	struct sources s = { 0 };
	int err = 0, cnt = 0;

	memset(text, 'x', size);
	for (size_t i = 0; i < size; i += 1000)
		text[i] = '\n';
	text[size] = '\0';
	for (; !err && cnt < 16; cnt++) {
		snprintf(path, sizeof(path), "%d.py", cnt);
		err = add(&s, 7, path, text, 1, 100000);
	}
	assert_int_equal(err, -EDQUOT);
	assert_true(cnt < 4);
	assert_int_equal(s.left_out, 1);
	assert_null(sources_find(&s, path));
	assert_int_equal(add(&s, 8, "other.py", shop, 3, 4), 0);
	assert_non_null(sources_find(&s, "other.py"));
	sources_free(&s);
	free(text);
}

/* Lines of several runs, in any order, are those of the text; only who adds one first pays for it. */
static void runs_become_one_and_cost_once(void **state)
{
	static const int runs[][2] = { { 5, 6 }, { 2, 3 }, { 1, 9 }, { 3, 5 }, { 4, 4 }, { 8, 20 } };
	const char *text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
	struct sources s = { 0 };
	__u64 held;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(add(&s, 1, "a.py", text, runs[i][0], runs[i][1]), 0);
	expect(&s, "a.py", NULL, "\n2\n3\n\n5\n6\n");
	for (unsigned i = 2; i < sizeof(runs) / sizeof(runs[0]); i++)
		assert_int_equal(add(&s, 1, "a.py", text, runs[i][0], runs[i][1]), 0);
	expect(&s, "a.py", NULL, text);
	held = quota__held_by_all(s.quota);
	for (unsigned owner = 0; owner < 100; owner++)
		assert_int_equal(add(&s, owner, "a.py", text, 1, 9), 0);
	assert_int_equal(quota__held_by_all(s.quota), held);
	/* A line that begins like a kept one is another. */
	assert_int_equal(add(&s, 1, "b.py", "xyz\n", 1, 1), 0);
	assert_int_equal(add(&s, 1, "b.py", "x\r\n", 1, 1), 0);
	assert_non_null(sources_find(&s, "b.py"));
	assert_null(sources_find(&s, "b.py")->lines[0].text);
	sources_free(&s);
}

/* Whatever notes say, in whatever order. */
static void no_notes_take_long(void **state)
{
	const int cnt = 400000;
	struct sources s = { 0 };
	clock_t began = clock();
	char *notes;
	size_t size;
	FILE *out = open_memstream(&notes, &size);

	fputs("source a\n", out);
	for (int i = cnt; i; i--)
		fprintf(out, " %d \n", i);
	fclose(out);
	assert_int_equal(sources_read(&s, notes), 0);
	free(notes);
	sources_free(&s);
	out = open_memstream(&notes, &size);
	for (int i = cnt; i; i--)
		fprintf(out, "source %06d\n", i);
	fclose(out);
	assert_int_equal(sources_read(&s, notes), 0);
	free(notes);
	sources_free(&s);
	assert_true(clock() - began < 2 * CLOCKS_PER_SEC);
}

static char folder[TEST_FOLDER_MAX];

static int remove_folder(void **state)
{
	if (*folder)
		test_folder_remove(folder);
	*folder = '\0';
	return 0;
}

/* One line far below costs little to keep, but its file is as long as all the lines before. */
static void files_for_perf_are_bounded(void **state)
{
	static const __u8 build_id[DSO_BUILD_ID_SIZE] = { 0x1a };
	char path[PATH_MAX], *text;
	struct sources s = { 0 };
	struct dso_store store = { 0 };
	struct stat st;
	__u64 bytes = 0;

	test_folder_make(folder);
	snprintf(store.name, sizeof(store.name), "%s", folder);
	store.fd = open(folder, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/%02d.py", i);
		assert_int_equal(
			sources_add(&s, 1, path, "x = 1\n", SOURCES_LINE_MAX, SOURCES_LINE_MAX), 0);
	}
	text = sources_text(&s.list[0], NULL);
	assert_int_equal(sources_text_size(&s.list[0]), strlen(text));
	free(text);
	assert_int_equal(dso_store_put_sources(&store, build_id, &s), -EFBIG);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(dso_store_sources_path(path, sizeof(path), &store, build_id), 0);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%02d.py", i);
		bytes += stat(path, &st) ? 0 : (__u64)st.st_size;
	}
	assert_true(bytes > SOURCES_MAX && bytes <= 4 * SOURCES_MAX);
	assert_int_equal(dso_store_remove_sources(store.fd, strrchr(dirname(path), '/') + 1), 0);
	close(store.fd);
	assert_int_equal(rmdir(folder), 0);
	*folder = '\0';
	sources_free(&s);
}

static void any_text_may_come_in(void **state)
{
	static const char *const texts[] = {
		"",
		"source",
		"source \n",
		"source a\n b\n 0 c\n -0 d\n -1\n 99999999999 e\n 1000001 f\n",
		" 1 x\n",
		"source a\nnative b\n 10 c\n",
		"source a\n 1 ",
		"source a\n -1 x\n 1 y\n",
		"source a\n 1x\n",
		"source a\n \n 12 x\n",
		"source a\n -\n 12 x\n",
		"source a\n - 12 x\n",
		"source a\n  12 x\n",
		"source a\n +12 x\n",
		"source a\n \n 1 x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sources s = { 0 };

		assert_int_equal(sources_read(&s, texts[i]), 0);
		for (__u32 k = 0; k < s.cnt; k++) {
			assert_true(s.list[k].cnt <= 1);
			free(sources_text(&s.list[k], NULL));
		}
		sources_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_functions_come_out),
		cmocka_unit_test(only_cells_are_called_so),
		cmocka_unit_test(a_cell_with_two_numbers_has_none),
		cmocka_unit_test(nobody_takes_all_names),
		cmocka_unit_test(different_lines_are_not_shown),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(nobody_takes_all_room),
		cmocka_unit_test(runs_become_one_and_cost_once),
		cmocka_unit_test(no_notes_take_long),
		cmocka_unit_test_teardown(files_for_perf_are_bounded, remove_folder),
		cmocka_unit_test(any_text_may_come_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
