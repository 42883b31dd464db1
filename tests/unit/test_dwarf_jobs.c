/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_jobs.c - reading debug information in other processes: nobody waits, answers are kept,
 * and what never ends is ended.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "target/dwarf_jobs.h"

#define BUILDS 40

struct fixture {
	struct dwarf_jobs *jobs;
	char folder[64], fifo[96];
	char why[96];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->folder, sizeof(f->folder), "/tmp/krait-test-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->fifo, sizeof(f->fifo), "%s/fifo", f->folder);
	f->jobs = dwarf_jobs__new();
	*state = f;
	return f->jobs ? mkfifo(f->fifo, 0600) : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dwarf_jobs__free(f->jobs);
	unlink(f->fifo);
	rmdir(f->folder);
	free(f);
	return 0;
}

static int get(struct fixture *f, __u64 build, const char *path)
{
	const struct dwarf_request request = { build, path, "/", 0x030c07f0 };
	struct py_offsets unused;

	return dwarf_jobs__get(f->jobs, &request, &unused, f->why, sizeof(f->why));
}

static int await(struct fixture *f, __u64 build, const char *path)
{
	int r;

	while ((r = get(f, build, path)) == -EINPROGRESS)
		usleep(1000);
	return r;
}

/* Children of this process, running or not waited for. */
static bool has_children(void)
{
	return !waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT);
}

static void the_first_look_never_waits_and_the_answer_is_kept(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, "/bin/true"), -EINPROGRESS);
	assert_non_null(strstr(f->why, "still being read"));
	assert_int_equal(await(f, 1, "/bin/true"), -ENOENT);
	assert_string_equal(f->why, "there is no debug information of it");
	assert_false(dwarf_jobs__is_running(f->jobs, 1));
	assert_false(has_children());
	/* The same build is not read again, whatever it is called by then. */
	assert_int_equal(get(f, 1, f->fifo), -ENOENT);
	assert_false(has_children());
}

/* To open a FIFO that nobody writes to takes for ever. */
static void one_that_takes_for_ever_does_not_keep_others_waiting(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->fifo), -EINPROGRESS);
	for (__u64 build = 2; build < BUILDS; build++)
		assert_int_equal(await(f, build, "/bin/true"), -ENOENT);
	assert_true(dwarf_jobs__is_running(f->jobs, 1));
	assert_int_equal(get(f, 1, f->fifo), -EINPROGRESS);
	assert_true(has_children());
	dwarf_jobs__free(f->jobs);
	assert_false(has_children());
	f->jobs = NULL;
}

static void two_run_at_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(get(f, 1, f->fifo), -EINPROGRESS);
	assert_int_equal(get(f, 2, f->fifo), -EINPROGRESS);
	assert_int_equal(get(f, 3, "/bin/true"), -EINPROGRESS);
	assert_true(dwarf_jobs__is_running(f->jobs, 1));
	assert_true(dwarf_jobs__is_running(f->jobs, 2));
	assert_false(dwarf_jobs__is_running(f->jobs, 3));
}

/* What the child finds is the answer, also when it comes late. */
static void a_late_answer_is_an_answer(void **state)
{
	struct fixture *f = *state;
	siginfo_t child = { 0 };

	assert_int_equal(get(f, 1, f->fifo), -EINPROGRESS);
	/* Ours is the only child; it opens the FIFO that we now open, and finds no ELF file. */
	fclose(fopen(f->fifo, "we"));
	assert_int_equal(waitid(P_ALL, 0, &child, WEXITED | WNOWAIT), 0);
	assert_int_equal(await(f, 1, f->fifo), -ENOENT);
	assert_false(has_children());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(the_first_look_never_waits_and_the_answer_is_kept),
		TEST(one_that_takes_for_ever_does_not_keep_others_waiting),
		TEST(two_run_at_once),
		TEST(a_late_answer_is_an_answer),
	};

	return cmocka_run_group_tests_name("user/target/dwarf_jobs.c", tests, NULL, NULL);
}
