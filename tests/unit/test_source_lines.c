/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_lines.c - source lines and inlined functions of native code in this very program,
 * from a real parser.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_roles.h"
#include "support_self.h"
#include "process/space/modules.h"
#include "native/names/native_files.h"
#include "native/names/source_lines.h"
#include "process/proc/maps.h"
#include "process/parser/parser_protocol.h"
#include "base/data/cleanup.h"

#define SELF "/proc/self/exe"

/* ---- code whose place is known ------------------------------------------------------------------ */

static __attribute__((noinline)) void *where(void)
{
	return __builtin_return_address(0);
}

/* After each function, the line of its call. */
static inline __attribute__((always_inline)) void *inner(void)
{
	void *at = where();

	__asm__ volatile("" : "+r"(at));
	return at;
}
enum { INNER_LINE = __LINE__ - 5 };

static inline __attribute__((always_inline)) void *middle(void)
{
	return inner();
}
enum { MIDDLE_LINE = __LINE__ - 2 };

static __attribute__((noinline)) void *outer(void)
{
	void *at = middle();

	__asm__ volatile("" : "+r"(at));
	return at;
}
enum { OUTER_LINE = __LINE__ - 5 };

/* ---- the file ------------------------------------------------------------------------------------ */

static struct modules *modules;
static struct native_files *files;
static struct module *self;
static struct source_lines *lines;

static int setup(void **state)
{
	const char *const paths[] = { SELF };

	modules = modules__new();
	files = native_files__new(modules);
	self = modules__get(modules, SELF, "/opt/app/program", 0);
	lines = source_lines__new(files);
	if (!lines)
		return -1;
	source_lines__prepare(lines);
	native_files__open(files, self, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	source_lines__free(lines);
	native_files__free(files);
	modules__free(modules);
	return 0;
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void inlined_functions_are_told_apart(void **state)
{
	/* The call itself, not the return address. */
	const __u64 offset = self_offset_of(outer()) - 1;
	struct source_frame frames[SOURCE_FRAMES_MAX];

	assert_int_equal(source_lines__find(lines, self, &offset, 1), 1);
	assert_int_equal(source_lines__at(lines, 0, frames), 3);
	/* The outermost one has its symbol's name. */
	assert_null(frames[0].name);
	assert_string_equal(frames[1].name, "middle");
	assert_string_equal(frames[2].name, "inner");
	assert_int_equal(frames[0].line, OUTER_LINE);
	assert_int_equal(frames[1].line, MIDDLE_LINE);
	assert_int_equal(frames[2].line, INNER_LINE);
	for (int i = 0; i < 3; i++)
		assert_string_equal(last_part(frames[i].file), "test_source_lines.c");
}

static void many_places_are_asked_for_at_once(void **state)
{
	const __u64 first = self_offset_of(outer()) - 1, start = self_offset_of((void *)where);
	struct source_frame frames[SOURCE_FRAMES_MAX];
	__u64 offsets[PARSER_PLACES_MAX];
	int cnt;

	for (int i = 0; i < PARSER_PLACES_MAX; i++)
		offsets[i] = i % 2 ? start : first;
	cnt = source_lines__find(lines, self, offsets, PARSER_PLACES_MAX);
	assert_in_range(cnt, 2, PARSER_PLACES_MAX);
	for (int i = 0; i < cnt; i++) {
		assert_int_equal(source_lines__at(lines, (__u32)i, frames), i % 2 ? 1 : 3);
		if (i % 2)
			assert_in_range(frames[0].line, INNER_LINE - 15, INNER_LINE - 5);
	}
}

/* Code without lines, bytes that are not code, and offsets beyond the file. */
static void places_without_lines_have_none(void **state)
{
	const __u64 offsets[] = { 0, 64, ~0ULL };
	struct source_frame frames[SOURCE_FRAMES_MAX];

	assert_int_equal(source_lines__find(lines, self, offsets, 3), 3);
	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(source_lines__at(lines, i, frames), 0);
}

static void what_is_not_open_has_no_lines(void **state)
{
	struct module *other = modules__get(modules, "", "[anonymous]", 0);
	const __u64 offset = 0;
	__u64 *too_many = calloc(PARSER_PLACES_MAX + 1, sizeof(*too_many));

	assert_int_equal(source_lines__find(lines, other, &offset, 1), -ENOENT);
	assert_true(source_lines__find(lines, self, too_many, PARSER_PLACES_MAX + 1) < 0);
	assert_true(source_lines__find(lines, self, too_many, 0) < 0);
	free(too_many);
}

/* libc's debug information is elsewhere: its code has no lines here, which is no error. */
static void a_file_without_debug_information_has_no_lines(void **state)
{
	const __u64 offset = self_offset_of((void *)strtol);
	struct source_frame frames[SOURCE_FRAMES_MAX];
	cleanup_maps struct maps maps = { .fd = -1 };
	struct module *libc = NULL;
	struct maps_line m;
	int cnt;

	assert_int_equal(maps_open(&maps, getpid()), 0);
	while (!libc && maps_next(&maps, &m) > 0) {
		const char *const paths[] = { m.path };

		if (!strstr(m.path, "libc.so") && !strstr(m.path, "libc-"))
			continue;
		libc = modules__get(modules, m.path, m.path, 0);
		native_files__open(files, libc, paths, 1, NULL);
	}
	if (!libc)
		skip();
	cnt = source_lines__find(lines, libc, &offset, 1);
	/* With libc6-dbg it has some. */
	assert_true(cnt < 0 ||
		    (cnt == 1 && source_lines__at(lines, 0, frames) < SOURCE_FRAMES_MAX));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_told_apart),
		cmocka_unit_test(many_places_are_asked_for_at_once),
		cmocka_unit_test(places_without_lines_have_none),
		cmocka_unit_test(what_is_not_open_has_no_lines),
		cmocka_unit_test(a_file_without_debug_information_has_no_lines),
	};

	become_worker(argv);
	return cmocka_run_group_tests_name("source lines", tests, setup, teardown);
}
