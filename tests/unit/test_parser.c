/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_parser.c - parsers as processes: what they may not do, and the handling of those that die,
 * hang or compute for ever.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_told_parser.h"
#include "process/parser/parser.h"
#include "process/parser/parser_starter.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/worker/role.h"

static struct parsers *parsers;

static int setup(void **state)
{
	parsers = parsers__new();
	return !parsers;
}

static int teardown(void **state)
{
	parsers__free(parsers);
	return 0;
}

/* Runs a job in a parser of its own. The answer is valid until the next call. */
static int run(const char *order, unsigned cpu_ms, const struct parser_answer **ret)
{
	const struct parser_request r = { .job = PARSER_DWARF, .version = 0x030c07f0 };
	cleanup_close int fd = told_parser_order(order);
	static struct parser_answer kept;
	struct parser *p = parser__start(parsers);
	int err;

	assert_non_null(p);
	assert_int_equal(parser__ask(p, &r, &fd, 1), 0);
	parser__set_limits(p, cpu_ms, 60000);
	while ((err = parser__answer(p, 100, ret)) == -EINPROGRESS)
		;
	if (!err) {
		kept = **ret;
		*ret = &kept;
	}
	parser__end(p);
	return err;
}

static void a_parser_may_do_nothing(void **state)
{
	const struct parser_answer *answer;
	struct self self;

	assert_int_equal(run("tell", 5000, &answer), 0);
	memcpy(&self, &answer->dwarf.offsets, sizeof(self));
	assert_int_equal(self.may, 0);
	/* The standard descriptors, which lead nowhere, and its channel. */
	assert_in_range(self.fds, 1, 4);
	if (geteuid())
		return;
	assert_in_range(self.uid, 65520, ~0U);
	assert_int_equal(self.uid, self.gid);
}

/* According to the kernel. */
static void a_parser_has_no_rights(void **state)
{
	static const char *const lines[] = { "CapEff:\t0000000000000000\n",
					     "CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n",
					     "Seccomp:\t2\n", "Groups:\t \n" };
	const struct parser_request r = { .job = PARSER_DWARF, .version = 0x030c07f0 };
	struct parser *p = parser__start(parsers);
	const struct parser_answer *answer;
	cleanup_close int order = told_parser_order(""), fd = -1;
	char path[64], text[4096] = "";

	assert_non_null(p);
	assert_int_equal(parser__ask(p, &r, &order, 1), 0);
	assert_int_equal(parser__answer(p, 10000, &answer), 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)parser__pid(p));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) - (geteuid() != 0); i++)
		assert_non_null(strstr(text, lines[i]));
	/* Memory that only root may read belongs to root. */
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)parser__pid(p));
	assert_true(!geteuid() || open(path, O_RDONLY) < 0);
	parser__end(p);
}

static void a_parser_that_does_not_answer_is_given_up(void **state)
{
	const struct parser_answer *answer;
	__u64 begin_ns = clock_monotonic_ns();

	assert_int_equal(run("die", 5000, &answer), -EPIPE);
	assert_int_equal(run("lie", 5000, &answer), 0); /* an answer to another question */
	assert_int_equal(run("compute", 200, &answer), -ETIMEDOUT);
	assert_int_equal(run("hang", 5000, &answer), -ETIMEDOUT);
	/* If it sleeps instead of computing, it does not get all of its CPU time. */
	assert_true(clock_monotonic_ns() - begin_ns < 30 * NS_PER_SEC);
	assert_int_equal(run("", 5000, &answer), 0);
}

static void a_starter_that_dies_is_started_again(void **state)
{
	const struct parser_answer *answer;
	struct parser *p = parser__start(parsers);
	char path[64], text[256] = "", *end;
	cleanup_fclose FILE *f = NULL;
	pid_t starter = 0;
	siginfo_t died;

	assert_non_null(p);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)parser__pid(p));
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	end = strrchr(text, ')');
	assert_int_equal(sscanf(end, ") %*c %d", &starter), 1);
	assert_int_equal(kill(starter, SIGKILL), 0);
	parser__end(p);
	/* parser__end() may have met its end, and taken it. */
	assert_true(!waitid(P_PID, (id_t)starter, &died, WEXITED | WNOWAIT) || errno == ECHILD);
	assert_int_equal(run("", 5000, &answer), 0);
}

int main(int argc, char **argv)
{
	const struct role role = { "parser", told_parser_serve };
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_parser_may_do_nothing),
		TEST(a_parser_has_no_rights),
		TEST(a_parser_that_does_not_answer_is_given_up),
		TEST(a_starter_that_dies_is_started_again),
	};

	if (role_find(&role, 1, argv[0]))
		return role_main(&role);
	return cmocka_run_group_tests_name("user/process/parser/parser.c", tests, NULL, NULL);
}
