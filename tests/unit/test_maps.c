/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/proc/maps.h"

static int parse(const char *text, struct maps_line *ret, char *line, size_t size)
{
	snprintf(line, size, "%s", text);
	return maps_line_parse(line, strlen(line), ret);
}

static void maps_of(struct maps *ret, const char *text, size_t len)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	maps_open_fd(ret, fd);
}

static void a_line_gives_every_field(void **state)
{
	struct maps_line m;
	char line[256];

	assert_int_equal(parse("7f0000001000-7f0000003000 r-xp 0001f000 fe:0a 247498     "
			       "         /usr/bin/python3.13",
			       &m, line, sizeof(line)),
			 0);
	assert_int_equal(m.start, 0x7f0000001000);
	assert_int_equal(m.end, 0x7f0000003000);
	assert_int_equal(m.offset, 0x1f000);
	assert_int_equal(m.dev_major, 0xfe);
	assert_int_equal(m.dev_minor, 0x0a);
	assert_int_equal(m.inode, 247498);
	assert_int_equal(m.prot, MAPPING_READ | MAPPING_EXEC);
	assert_false(m.deleted);
	assert_string_equal(m.path, "/usr/bin/python3.13");
}

static void names_may_be_odd(void **state)
{
	static const struct {
		const char *shown, *path;
		int deleted;
	} cases[] = {
		{ "/a b/c  d ", "/a b/c  d ", 0 },
		{ "/lib/x.so (deleted)", "/lib/x.so", 1 },
		{ "/lib/x.so (deleted) (deleted)", "/lib/x.so (deleted)", 1 },
		{ "/two\\012lines\\012", "/two\nlines\n", 0 },
		{ "/back\\slash\\01", "/back\\slash\\01", 0 },
		{ "/\xff\x01\xe2\x82", "/\xff\x01\xe2\x82", 0 },
		{ "/memfd:x (deleted)", "/memfd:x", 1 },
		{ "", "", 0 },
	};
	char line[256], text[256];
	struct maps_line m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "1000-2000 rw-s 00000000 00:01 7 %s", cases[i].shown);
		assert_int_equal(parse(text, &m, line, sizeof(line)), 0);
		assert_string_equal(m.path, cases[i].path);
		assert_int_equal(m.deleted, cases[i].deleted);
	}
}

static void a_mapping_without_file_keeps_its_label(void **state)
{
	struct maps_line m;
	char line[256];

	assert_int_equal(parse("1000-2000 rw-p 00000000 00:00 0", &m, line, sizeof(line)), 0);
	assert_string_equal(m.path, "");
	assert_int_equal(parse("1000-2000 rw-p 00000000 00:00 0    [heap]", &m, line, sizeof(line)),
			 0);
	assert_string_equal(m.path, "[heap]");
}

static void what_is_no_line_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		"1000",
		"1000-2000",
		"1000-2000 rwxp",
		"1000-2000 rwxp 0 0:0",
		"2000-1000 rw-p 00000000 00:00 0",
		"1000-1000 rw-p 00000000 00:00 0",
		"1000-2000 rw?p 00000000 00:00 0",
		"1000-2000 rw-p 00000000 00:00 x",
		"1000-2000 rw-p 00000000 00:00 f",
		"11111111111111111-2000 rw-p 00000000 00:00 0",
		"1000-2000 rw-p 00000000 00:00 99999999999999999999",
		"1000-2000 rw-p 00000000 100000000:00 0",
		"1000-2000  rw-p 00000000 00:00 0",
	};
	struct maps_line m = { .start = 42 };
	char line[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &m, line, sizeof(line)), -EINVAL);
	assert_int_equal(m.start, 42);
}

static void a_name_that_is_too_long_is_cut_and_the_next_line_is_right(void **state)
{
	static const char first[] = "1000-2000 r-xp 00000000 00:01 7 /";
	static const char second[] = "\n3000-4000 r--p 00001000 00:01 8 /next\n";
	cleanup_maps struct maps maps;
	size_t lengths[] = { MAPS_LINE_MAX - 1,	    MAPS_LINE_MAX, MAPS_LINE_MAX + 1,
			     2 * MAPS_LINE_MAX - 1, 20000,	   100000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i] + sizeof(second) - 1;
		char *text = malloc(len);
		struct maps_line m;

		memset(text, 'x', len);
		memcpy(text, first, sizeof(first) - 1);
		memcpy(text + lengths[i], second, sizeof(second) - 1);
		maps_of(&maps, text, len);
		assert_int_equal(maps_next(&maps, &m), 1);
		assert_int_equal(m.inode, 7);
		assert_int_equal(m.cut, lengths[i] >= MAPS_LINE_MAX);
		assert_true(strlen(m.path) > 4000);
		assert_int_equal(m.path[strlen(m.path) - 1], 'x');
		assert_int_equal(maps_next(&maps, &m), 1);
		assert_int_equal(m.inode, 8);
		assert_string_equal(m.path, "/next");
		assert_false(m.cut);
		assert_int_equal(maps_next(&maps, &m), 0);
		assert_int_equal(maps_next(&maps, &m), 0);
		maps_close(&maps);
		free(text);
	}
}

static void a_last_line_needs_no_newline(void **state)
{
	static const char text[] = "1000-2000 r-xp 00000000 00:01 7 /a\n"
				   "3000-4000 r-xp 00000000 00:01 8 /b";
	cleanup_maps struct maps maps;
	struct maps_line m;

	maps_of(&maps, text, sizeof(text) - 1);
	assert_int_equal(maps_next(&maps, &m), 1);
	assert_int_equal(maps_next(&maps, &m), 1);
	assert_string_equal(m.path, "/b");
	assert_int_equal(maps_next(&maps, &m), 0);
}

/* Checks one line after the other: "START-END OFFSET INODE path". */
static void expect_code(const char *text, const char *const wants[])
{
	struct maps maps;
	struct maps_line m;
	char got[256];

	maps_of(&maps, text, strlen(text));
	for (; *wants; wants++) {
		assert_int_equal(maps_next_code(&maps, &m), 1);
		snprintf(got, sizeof(got), "%llx-%llx %llx %llu %s", m.start, m.end, m.offset,
			 m.inode, m.path);
		assert_string_equal(got, *wants);
	}
	assert_int_equal(maps_next_code(&maps, &m), 0);
	maps_close(&maps);
}

static void code_that_was_moved_is_its_files(void **state)
{
	/* All of it, part of it in two pieces, and huge pages of hugetlbfs. */
	expect_code("1000-2000 r--p 00000000 fe:00 7 /lib/a.so\n"
		    "2000-5000 r-xp 00000000 00:00 0 \n"
		    "5000-6000 r--p 00004000 fe:00 7 /lib/a.so\n"
		    "6000-7000 rw-p 00000000 00:00 0 \n",
		    (const char *const[]){ "1000-2000 0 7 /lib/a.so", "2000-5000 1000 7 /lib/a.so",
					   "5000-6000 4000 7 /lib/a.so", "6000-7000 0 0 ", NULL });
	expect_code("1000-2000 r-xp 00003000 fe:00 7 /lib/a.so\n"
		    "2000-3000 r-xp 00000000 00:00 0 \n"
		    "3000-5000 r-xp 00000000 00:0f 99 /anon_hugepage (deleted)\n"
		    "5000-6000 r-xp 00007000 fe:00 7 /lib/a.so\n",
		    (const char *const[]){ "1000-2000 3000 7 /lib/a.so",
					   "2000-5000 4000 7 /lib/a.so",
					   "5000-6000 7000 7 /lib/a.so", NULL });
}

static void other_code_beside_a_file_is_not(void **state)
{
	/* Another file follows, a hole, another place in the file, nothing; it is data. */
	static const char *const behind[] = { "5000-6000 r--p 00004000 fe:00 8 /lib/b.so\n",
					      "6000-7000 r--p 00005000 fe:00 7 /lib/a.so\n",
					      "5000-6000 r--p 00005000 fe:00 7 /lib/a.so\n", "",
					      "5000-6000 r--p 00004000 fe:01 7 /lib/a.so\n" };
	char text[512];
	struct maps maps;
	struct maps_line m;

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		snprintf(text, sizeof(text),
			 "1000-2000 r--p 00000000 fe:00 7 /lib/a.so\n"
			 "2000-5000 r-xp 00000000 00:00 0 \n%s",
			 behind[i]);
		maps_of(&maps, text, strlen(text));
		assert_int_equal(maps_next_code(&maps, &m), 1);
		assert_int_equal(maps_next_code(&maps, &m), 1);
		assert_int_equal(m.start, 0x2000);
		assert_int_equal(m.inode, 0);
		assert_string_equal(m.path, "");
		assert_int_equal(maps_next_code(&maps, &m), *behind[i] != '\0');
		maps_close(&maps);
	}
	expect_code("1000-2000 r--p 00000000 fe:00 7 /lib/a.so\n"
		    "2000-5000 rw-p 00000000 00:00 0 \n"
		    "5000-6000 r--p 00004000 fe:00 7 /lib/a.so\n",
		    (const char *const[]){ "1000-2000 0 7 /lib/a.so", "2000-5000 0 0 ",
					   "5000-6000 4000 7 /lib/a.so", NULL });
}

static void our_own_mappings_are_read_to_the_end(void **state)
{
	cleanup_maps struct maps maps;
	struct maps_line m;
	int cnt = 0, r, found = 0;
	__u64 end = 0;

	assert_int_equal(maps_open(&maps, getpid()), 0);
	while ((r = maps_next(&maps, &m)) > 0) {
		assert_true(m.start >= end);
		end = m.end;
		cnt++;
		found |= (uintptr_t)&our_own_mappings_are_read_to_the_end - m.start <
			 m.end - m.start;
	}
	assert_int_equal(r, 0);
	assert_true(cnt > 5);
	assert_true(found);
}

static void a_process_that_is_not_there_says_so(void **state)
{
	struct maps maps;

	assert_int_equal(maps_open(&maps, 0x7ffffff0), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_every_field),
		cmocka_unit_test(names_may_be_odd),
		cmocka_unit_test(a_mapping_without_file_keeps_its_label),
		cmocka_unit_test(what_is_no_line_is_refused),
		cmocka_unit_test(a_name_that_is_too_long_is_cut_and_the_next_line_is_right),
		cmocka_unit_test(a_last_line_needs_no_newline),
		cmocka_unit_test(code_that_was_moved_is_its_files),
		cmocka_unit_test(other_code_beside_a_file_is_not),
		cmocka_unit_test(our_own_mappings_are_read_to_the_end),
		cmocka_unit_test(a_process_that_is_not_there_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
