/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_parser_jobs.c - a parser's answers, and which answers krait believes; runs in this process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <elf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_elf.h"
#include "native/names/parser_jobs.h"
#include "native/rows/elf_rows.h"
#include "base/data/cleanup.h"

#define SELF "/proc/self/exe"

static struct parser_jobs *jobs;
static struct parser_answer answer;

static int setup(void **state)
{
	jobs = parser_jobs__new();
	return !jobs;
}

static int teardown(void **state)
{
	parser_jobs__free(jobs);
	return 0;
}

/* Asks, and checks that the answer is valid. Returns its size. */
static size_t ask(const struct parser_request *r, int fd)
{
	size_t len = parser_jobs__answer(jobs, r, parser_request_size(r), &fd, fd >= 0, &answer);

	assert_true(len > 0);
	assert_true(parser_answer_check(&answer, len, r));
	return len;
}

static int open_self(__u32 number)
{
	const struct parser_request r = { .job = PARSER_OPEN, .file = number };
	cleanup_close int fd = open(SELF, O_RDONLY | O_CLOEXEC);

	ask(&r, fd);
	return answer.result;
}

static void offsets_have_names_and_what_is_alike_around_them(void **state)
{
	__u64 entry = elf_entry_offset(SELF);
	struct parser_request r = { .job = PARSER_FIND,
				    .cnt = 3,
				    .offsets = { entry, entry + 1, 0 } };

	assert_int_equal(open_self(0), 0);
	assert_true(answer.opened.has_symbols);
	assert_true(answer.opened.build_id_size >= 16);
	ask(&r, -1);
	assert_int_equal(answer.result, 0);
	assert_int_equal(answer.found.cnt, 3);
	for (int i = 0; i < 2; i++) {
		const struct parser_place *p = &answer.found.places[i];

		assert_string_equal(answer.found.names + p->name, "_start");
		assert_int_equal(p->symbol_start, entry);
		assert_true(p->start >= entry);
	}
	assert_int_equal(answer.found.places[2].name, PARSER_NO_NAME);
}

/* What the parser says about a range is what it says about each offset in it. */
static void a_range_is_all_alike(void **state)
{
	struct parser_request r = { .job = PARSER_FIND, .cnt = 1 };
	__u64 at = elf_entry_offset(SELF), end = at + 100000, ranges = 0;

	assert_int_equal(open_self(0), 0);
	while (at < end) {
		struct parser_place first;
		char name[256] = "";

		r.offsets[0] = at;
		ask(&r, -1);
		first = answer.found.places[0];
		assert_true(first.start <= at);
		if (first.name != PARSER_NO_NAME)
			snprintf(name, sizeof(name), "%s", answer.found.names + first.name);
		ranges++;
		for (__u64 step = (first.end - at) / 5 + 1; at < first.end; at += step) {
			const struct parser_place *p = &answer.found.places[0];

			r.offsets[0] = at;
			ask(&r, -1);
			assert_int_equal(p->name == PARSER_NO_NAME, !*name);
			if (!*name)
				continue;
			assert_string_equal(answer.found.names + p->name, name);
			assert_int_equal(p->symbol_start, first.symbol_start);
		}
		at = first.end;
	}
	assert_true(ranges > 50);
}

static void many_offsets_are_one_job(void **state)
{
	struct parser_request r = { .job = PARSER_FIND, .cnt = PARSER_PLACES_MAX };

	assert_int_equal(open_self(PARSER_FILES_MAX - 1), 0);
	r.file = PARSER_FILES_MAX - 1;
	for (__u32 i = 0; i < r.cnt; i++)
		r.offsets[i] = elf_entry_offset(SELF) + i * 97;
	ask(&r, -1);
	assert_int_equal(answer.result, 0);
	assert_int_equal(answer.found.cnt, PARSER_PLACES_MAX);
}

static void what_is_not_open_has_no_symbols(void **state)
{
	const struct parser_request find = { .job = PARSER_FIND, .file = 5, .cnt = 1 };
	const struct parser_request shut = { .job = PARSER_CLOSE, .file = 5 };

	ask(&find, -1);
	assert_int_equal(answer.result, -EBADF);
	assert_int_equal(open_self(5), 0);
	assert_int_equal(
		parser_jobs__answer(jobs, &shut, parser_request_size(&shut), NULL, 0, &answer), 0);
	ask(&find, -1);
	assert_int_equal(answer.result, -EBADF);
}

static void a_file_that_is_none_is_refused(void **state)
{
	const __u32 kinds[] = { PARSER_OPEN, PARSER_DWARF };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct parser_request r = { .job = kinds[i], .version = 0x030c07f0 };
		cleanup_close int passwd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
		cleanup_close int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

		ask(&r, passwd);
		assert_true(answer.result < 0);
		ask(&r, zero);
		assert_true(answer.result < 0);
		ask(&r, -1);
		assert_int_equal(answer.result, -EBADF);
	}
}

/* Makes a copy of this program in memory. */
static int copy_of_self(size_t *ret_size)
{
	cleanup_close int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	int copy = memfd_create("krait-test", MFD_CLOEXEC);
	char buf[65536];
	ssize_t n;

	*ret_size = 0;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		assert_int_equal(write(copy, buf, (size_t)n), n);
		*ret_size += (size_t)n;
	}
	return copy;
}

/* 1.5 GiB of symbols that take no room on the disk. */
static void a_symbol_table_without_end_is_refused(void **state)
{
	const struct parser_request r = { .job = PARSER_OPEN };
	size_t size;
	cleanup_close int fd = copy_of_self(&size);
	Elf64_Ehdr e;
	Elf64_Shdr s;

	assert_int_equal(pread(fd, &e, sizeof(e), 0), sizeof(e));
	for (int i = 0; i < e.e_shnum; i++) {
		off_t at = (off_t)(e.e_shoff + (size_t)i * sizeof(s));

		assert_int_equal(pread(fd, &s, sizeof(s), at), sizeof(s));
		if (s.sh_type != SHT_SYMTAB)
			continue;
		s.sh_offset = (size + 4095) & ~4095ULL;
		s.sh_size = 1536ULL << 20;
		assert_int_equal(pwrite(fd, &s, sizeof(s), at), sizeof(s));
		assert_int_equal(ftruncate(fd, (off_t)(s.sh_offset + s.sh_size)), 0);
		break;
	}
	ask(&r, fd);
	assert_int_equal(answer.result, -E2BIG);
}

static void what_is_no_request_has_no_answer(void **state)
{
	struct parser_request r = { .job = PARSER_FIND, .cnt = 2 };

	for (size_t len = 0; len < parser_request_size(&r); len++)
		assert_int_equal(parser_jobs__answer(jobs, &r, len, NULL, 0, &answer), 0);
	r.cnt = PARSER_PLACES_MAX + 1;
	assert_int_equal(parser_jobs__answer(jobs, &r, sizeof(r), NULL, 0, &answer), 0);
	r = (struct parser_request){ .job = 99 };
	assert_int_equal(parser_jobs__answer(jobs, &r, parser_request_size(&r), NULL, 0, &answer),
			 0);
	r = (struct parser_request){ .job = PARSER_OPEN, .file = PARSER_FILES_MAX };
	assert_int_equal(parser_jobs__answer(jobs, &r, parser_request_size(&r), NULL, 0, &answer),
			 0);
}

/* The pieces of the answers, concatenated, are the table. */
static void rows_come_in_pieces(void **state)
{
	struct parser_request r = { .job = PARSER_ROWS };
	cleanup_close int fd = -1;
	struct row_table t;
	Dl_info libc;
	__u32 all, rule_words, pieces = 0;

	/* A large one. */
	assert_true(dladdr((void *)(uintptr_t)&getppid, &libc));
	fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_rows(fd, &t), 0);
	rule_words = t.rule_cnt * 4;
	all = rule_words + t.page_cnt + t.row_cnt;
	do {
		ask(&r, r.job == PARSER_ROWS ? fd : -1);
		assert_int_equal(answer.result, 0);
		assert_int_equal(answer.rows.row_cnt, t.row_cnt);
		assert_int_equal(answer.rows.first_page, t.first_page);
		for (__u32 i = 0; i < answer.rows.word_cnt; i++) {
			__u32 at = answer.rows.at + i, word = answer.rows.words[i];

			if (at < rule_words)
				assert_int_equal(word, ((const __u32 *)t.rules)[at]);
			else if (at >= rule_words + t.page_cnt)
				assert_int_equal(word, t.rows[at - rule_words - t.page_cnt]);
		}
		r.job = PARSER_ROWS_MORE;
		r.at = answer.rows.at + answer.rows.word_cnt;
		pieces++;
	} while (r.at < all);
	assert_int_equal(r.at, all);
	assert_true(pieces > 1);
	/* Beyond the end there are none, and a missing file has none. */
	ask(&r, -1);
	assert_int_equal(answer.result, -ENODATA);
	r.job = PARSER_ROWS;
	ask(&r, -1);
	assert_int_equal(answer.result, -EBADF);
	row_table_free(&t);
}

static void what_has_no_runtime_has_no_table(void **state)
{
	const struct parser_request requests[] = {
		{ .job = PARSER_RUNTIME },
		{ .job = PARSER_TABLE, .at = PUBLISHED_ASYNCIO },
	};
	cleanup_close int fd = open(SELF, O_RDONLY | O_CLOEXEC), none = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 2; i++) {
		ask(&requests[i], fd);
		assert_int_equal(answer.result, -ENOENT);
		ask(&requests[i], none);
		assert_int_equal(answer.result, -ENOEXEC);
		ask(&requests[i], -1);
		assert_int_equal(answer.result, -EBADF);
	}
}

static const char *text(__u32 at)
{
	assert_true(at < answer.sources.names_size);
	return answer.sources.names + at;
}

/* For this program, which has debug information; and for an offset in no function. */
static void offsets_have_source_lines(void **state)
{
	struct parser_request r = { .job = PARSER_SOURCE, .cnt = 2 };
	const struct parser_source_frame *f = &answer.sources.frames[0];
	Dl_info where;

	assert_true(dladdr((void *)(uintptr_t)parser_jobs__new, &where));
	/* Position-independent: the lowest mapping is the file's beginning. */
	r.offsets[0] = (__u64)((uintptr_t)parser_jobs__new - (uintptr_t)where.dli_fbase);
	r.offsets[1] = 1;
	assert_int_equal(open_self(0), 0);
	ask(&r, -1);
	assert_int_equal(answer.result, 0);
	assert_int_equal(answer.sources.cnt, 2);
	assert_int_equal(answer.sources.ends[1], answer.sources.ends[0]);
	if (!answer.sources.ends[0])
		skip(); /* built without debug information */
	assert_non_null(strstr(text(f->file), "parser_jobs.c"));
	assert_true(f->line > 0);
	assert_int_equal(f->name, PARSER_NO_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(offsets_have_names_and_what_is_alike_around_them),
		TEST(a_range_is_all_alike),
		TEST(many_offsets_are_one_job),
		TEST(what_is_not_open_has_no_symbols),
		TEST(a_file_that_is_none_is_refused),
		TEST(a_symbol_table_without_end_is_refused),
		TEST(what_is_no_request_has_no_answer),
		TEST(what_has_no_runtime_has_no_table),
		TEST(rows_come_in_pieces),
		TEST(offsets_have_source_lines),
	};

	return cmocka_run_group_tests_name("user/native/names/parser_jobs.c", tests, NULL, NULL);
}
