/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_jobs.c - reading debug information in other processes: nobody waits, answers are kept,
 * and endless jobs are ended.
 *
 * This program is its own parser, which reads a file only once it has content.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "native/names/parser_jobs.h"
#include "process/identify/dwarf_jobs.h"
#include "process/parser/parser.h"
#include "process/parser/parser_starter.h"
#include "base/worker/channel.h"
#include "base/worker/role.h"
#include "base/worker/worker.h"

#define BUILDS 40

struct fixture {
	struct parsers *parsers;
	struct dwarf_jobs *jobs;
	char folder[64], slow[96];
	char why[96];
};

/* Sets the slow file's content; empty: no result. */
static int let_it_answer(struct fixture *f, const char *content)
{
	FILE *file = fopen(f->slow, "we");

	if (!file || fputs(content, file) < 0)
		return -1;
	return fclose(file);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->folder, sizeof(f->folder), "/tmp/krait-test-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->slow, sizeof(f->slow), "%s/slow", f->folder);
	f->parsers = parsers__new();
	f->jobs = dwarf_jobs__new(f->parsers);
	*state = f;
	return f->jobs ? let_it_answer(f, "") : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dwarf_jobs__free(f->jobs);
	parsers__free(f->parsers);
	unlink(f->slow);
	rmdir(f->folder);
	free(f);
	return 0;
}

static struct file_id number(__u64 ino)
{
	return (struct file_id){ .ino = ino };
}

static int get_of(struct fixture *f, uid_t uid, __u64 ino, const char *path)
{
	const struct dwarf_request request = {
		.file = number(ino), .uid = uid, .path = path, .root = "/", .version = 0x030c07f0
	};
	struct py_offsets unused;

	return dwarf_jobs__get(f->jobs, &request, &unused, f->why, sizeof(f->why));
}

static int get(struct fixture *f, __u64 ino, const char *path)
{
	return get_of(f, 0, ino, path);
}

static bool is_running(struct fixture *f, __u64 ino)
{
	const struct file_id file = number(ino);

	return dwarf_jobs__is_running(f->jobs, &file);
}

static int await(struct fixture *f, __u64 ino, const char *path)
{
	int r;

	while ((r = get(f, ino, path)) == -EINPROGRESS)
		usleep(1000);
	return r;
}

static void the_first_look_never_waits_and_the_answer_is_kept(void **state)
{
	struct fixture *f = *state;
	int r = get(f, 1, "/bin/true");

	/*
	 * If others had the CPU for a moment, its reader may already be done; a job that never ends
	 * is tested below.
	 */
	assert_true(r == -EINPROGRESS || r == -ENOENT);
	if (r == -EINPROGRESS)
		assert_non_null(strstr(f->why, "still being read"));
	assert_int_equal(await(f, 1, "/bin/true"), -ENOENT);
	assert_string_equal(f->why, "there is no debug information for it");
	assert_false(is_running(f, 1));
	/* The same file is not read again, whatever its name is by then. */
	assert_int_equal(get(f, 1, f->slow), -ENOENT);
}

static void one_that_takes_for_ever_does_not_keep_others_waiting(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
	for (__u64 build = 2; build < BUILDS; build++)
		assert_int_equal(await(f, build, "/bin/true"), -ENOENT);
	assert_true(is_running(f, 1));
	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
}

static void two_run_at_once_and_one_more_of_roots(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get_of(f, 1000, 1, f->slow), -EINPROGRESS);
	assert_int_equal(get_of(f, 1001, 2, f->slow), -EINPROGRESS);
	assert_int_equal(get_of(f, 1002, 3, f->slow), -EINPROGRESS);
	assert_true(is_running(f, 1));
	assert_true(is_running(f, 2));
	assert_false(is_running(f, 3));
	assert_int_equal(get(f, 4, f->slow), -EINPROGRESS);
	assert_true(is_running(f, 4));
	assert_int_equal(get(f, 5, f->slow), -EINPROGRESS);
	assert_false(is_running(f, 5));
}

static void one_user_never_keeps_another_waiting(void **state)
{
	struct fixture *f = *state;

	for (__u64 ino = 1; ino < 6; ino++)
		assert_int_equal(get_of(f, 1000, ino, f->slow), -EINPROGRESS);
	for (__u64 ino = 2; ino < 6; ino++)
		assert_false(is_running(f, ino));
	while (get_of(f, 1001, 7, "/bin/true") == -EINPROGRESS)
		usleep(1000);
	assert_true(is_running(f, 1));
}

/* Likewise, an owner with answers for many files does not displace another's. */
static void who_has_most_answers_loses_one_first(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(await(f, 1, "/bin/true"), -ENOENT);
	for (__u64 ino = 2; ino < 40; ino++)
		while (get_of(f, 1000, ino, "/bin/true") == -EINPROGRESS)
			usleep(1000);
	/* If it had been forgotten, this would be -EINPROGRESS. */
	assert_int_equal(get(f, 1, "/bin/true"), -ENOENT);
}

static void a_late_answer_is_an_answer(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
	usleep(50000);
	assert_true(is_running(f, 1));
	let_it_answer(f, "no ELF file");
	assert_int_equal(await(f, 1, f->slow), -ENOENT);
}

static void a_parser_that_dies_is_an_answer(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
	let_it_answer(f, "!");
	assert_int_equal(await(f, 1, f->slow), -ENODATA);
	assert_string_equal(f->why, "its debug information could not be parsed");
	assert_int_equal(await(f, 2, "/bin/true"), -ENOENT);
}

/* Its offsets cannot be trusted. */
static void an_answer_that_cannot_be_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
	let_it_answer(f, "?");
	assert_int_equal(await(f, 1, f->slow), -ENODATA);
}

/* Opening a FIFO waits for a writer, and opening a device can have effects. */
static void what_is_no_regular_file_is_not_opened(void **state)
{
	struct fixture *f = *state;
	char fifo[96];

	snprintf(fifo, sizeof(fifo), "%s/fifo", f->folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(await(f, 1, fifo), -ENOENT);
	assert_int_equal(await(f, 2, "/dev/zero"), -ENOENT);
	assert_int_equal(await(f, 3, "/"), -ENOENT);
	unlink(fifo);
}

static void all_end_with_the_jobs(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->slow), -EINPROGRESS);
	assert_int_equal(get(f, 2, f->slow), -EINPROGRESS);
	dwarf_jobs__free(f->jobs);
	f->jobs = NULL;
	parsers__free(f->parsers);
	f->parsers = NULL;
	for (int i = 0; worker__dying() && i < 1000; i++)
		usleep(10000);
	assert_int_equal(worker__dying(), 0);
}

/* ---- a parser that waits for a file to have something in it ------------------------------------- */

static void serve(int fd)
{
	struct parser_jobs *jobs = parser_jobs__new();
	static struct parser_answer answer;
	struct parser_request request;
	unsigned fd_cnt = 2;
	int fds[2];
	ssize_t n = channel_recv(fd, &request, sizeof(request), fds, &fd_cnt, -1);
	struct stat st = { 0 };
	char first = 0;
	size_t len;

	if (n <= 0)
		return;
	while (!fstat(fds[0], &st) && !st.st_size)
		poll(NULL, 0, 5);
	if (pread(fds[0], &first, 1, 0) == 1 && first == '!')
		return;
	len = parser_jobs__answer(jobs, &request, (size_t)n, fds, fd_cnt, &answer);
	if (first == '?') {
		memset(&answer.dwarf, 0x7f, sizeof(answer.dwarf.offsets));
		answer.result = 0;
	}
	if (channel_send(fd, &answer, len, NULL, 0))
		return;
}

static int serve_slowly(int fd)
{
	return parser_starter_serve(fd, serve);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(the_first_look_never_waits_and_the_answer_is_kept),
		TEST(one_that_takes_for_ever_does_not_keep_others_waiting),
		TEST(two_run_at_once_and_one_more_of_roots),
		TEST(one_user_never_keeps_another_waiting),
		TEST(who_has_most_answers_loses_one_first),
		TEST(a_late_answer_is_an_answer),
		TEST(a_parser_that_dies_is_an_answer),
		TEST(an_answer_that_cannot_be_is_refused),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(all_end_with_the_jobs),
	};

	const struct role parser = { "parser", serve_slowly };

	if (role_find(&parser, 1, argv[0]))
		return role_main(&parser);
	return cmocka_run_group_tests_name("user/process/identify/dwarf_jobs.c", tests, NULL, NULL);
}
