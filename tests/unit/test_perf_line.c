/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_line.c - where the command begins in a line of perf record's, and what krait must not add to it; when perf's events begin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/perf/perf_child.h"
#include "cmd/perf/perf_line.h"

/* As perf 6.1 prints it. */
static const char help[] =
	"\n Usage: perf record [<options>] [<command>]\n"
	"    or: perf record [<options>] -- <command> [<options>]\n\n"
	"    -a, --all-cpus        system-wide collection from all CPUs\n"
	"    -C, --cpu <cpu>       list of cpus to monitor\n"
	"    -D, --delay <ms>      ms to wait before starting measurement after program start\n"
	"    -e, --event <event>   event selector. use 'perf list' to list available events\n"
	"    -F, --freq <freq or 'max'>\n"
	"                          profile at this frequency\n"
	"    -g                    enables call-graph recording\n"
	"    -k, --clockid <clockid>\n"
	"                          clockid to use for events, see clock_gettime()\n"
	"    -o, --output <file>   output file name\n"
	"    -z, --compression-level[=<n>]\n"
	"                          Compress records using specified level\n"
	"        --aio[=<n>]       Use <n> control blocks in asynchronous trace writing mode\n"
	"        --call-graph <record_mode[,record_size]>\n"
	"                          setup and enables call-graph (stack chain/backtrace):\n\n"
	"\t\t\t\trecord_mode:\tcall graph recording mode (fp|dwarf|lbr)\n"
	"        --control <fd:ctl-fd[,ack-fd] or fifo:ctl-fifo[,ack-fifo]>\n"
	"        --filter <filter>\n"
	"        --switch-output[=<signal or size[BKMG] or time[smhd]>]\n"
	"        --threads[=<spec>]\n";

#define parse(...)                                                                                 \
	({                                                                                         \
		static char *const args_[] = { __VA_ARGS__, NULL };                                \
		struct perf_line l_;                                                               \
                                                                                                   \
		perf_line_parse(&l_, args_, help);                                                 \
		l_;                                                                                \
	})

static void the_command_begins_where_perf_says(void **state)
{
	assert_int_equal(parse("-a", "sleep", "1").command, 1);
	assert_int_equal(parse("-F", "99", "-g", "python3", "-m", "x").command, 3);
	assert_int_equal(parse("-F99", "-g", "python3").command, 2);
	assert_int_equal(parse("-gF", "99", "python3").command, 2);
	assert_int_equal(parse("-ag", "python3").command, 1);
	assert_int_equal(parse("--freq", "99", "python3").command, 2);
	assert_int_equal(parse("--freq=99", "python3").command, 1);
	assert_int_equal(parse("--fre", "99", "python3").command, 2);
	assert_int_equal(parse("--call-graph", "dwarf", "python3").command, 2);
	/* A value that may be left out is in the same word. */
	assert_int_equal(parse("-z", "python3").command, 1);
	assert_int_equal(parse("-z3", "python3").command, 1);
	assert_int_equal(parse("--aio", "python3").command, 1);
	assert_int_equal(parse("--no-such", "python3").command, 1);
	assert_int_equal(parse("-a").command, 1);
}

static void what_follows_two_dashes_is_the_command(void **state)
{
	struct perf_line l = parse("-e", "--", "--", "-g", "-k");

	assert_int_equal(l.separator, 2);
	assert_int_equal(l.command, 3);
	assert_false(l.has_chains);
	assert_false(l.has_clock);
	l = parse("-a", "--");
	assert_int_equal(l.separator, 1);
	assert_int_equal(l.command, l.cnt);
}

static void what_is_given_is_not_added(void **state)
{
	assert_true(parse("-ag").has_chains);
	assert_true(parse("--call-graph=dwarf").has_chains);
	assert_false(parse("-a", "prog", "-g").has_chains);
	assert_true(parse("-k", "boottime").has_clock);
	assert_true(parse("--clockid=mono").has_clock);
	assert_int_equal(parse("-D", "100").delay_ms, 100);
	assert_int_equal(parse("--delay=-1").delay_ms, -1);
	assert_false(parse("-D", "100").controlled);
	assert_true(parse("-D", "10-20,30-40").controlled);
	assert_true(parse("--control", "fifo:x").controlled);
	assert_false(parse("-a").controlled);
	assert_string_equal(parse("-o", "x.data").output, "x.data");
	assert_string_equal(parse("-ox.data").output, "x.data");
	assert_string_equal(parse("--output=-").output, "-");
	assert_null(parse("-a").output);
	assert_string_equal(parse("--switch-output=1s").unfit, "switch-output");
	assert_string_equal(parse("--threads").unfit, "threads");
	/* The value is missing: perf says so. */
	assert_null(parse("-a", "-o").output);
}

/* Without a thread that waits for --delay: else they would count nothing in the whole run. */
static void events_count_at_once_without_a_thread(void **state)
{
	struct perf_child c = { .pidfd = -1, .gate = -1, .delay_ms = 3600000 };
	int orders[2], answers[2];
	pthread_attr_t attr;
	char order[16] = "";
	size_t size;

	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(answers), 0);
	assert_int_equal(write(answers[1], "ack\n", 4), 4);
	assert_int_equal(fcntl(orders[0], F_SETFL, O_NONBLOCK), 0);
	c.control = orders[1];
	c.answers = answers[0];
	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_getstacksize(&attr, &size), 0);
	/* No address space has room for that. */
	assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)1 << 60), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	assert_true(perf_child_go(&c));
	assert_int_equal(pthread_attr_setstacksize(&attr, size), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
	assert_false(c.enables);
	assert_int_equal(read(orders[0], order, sizeof(order)), 7);
	assert_string_equal(order, "enable\n");
	close(orders[0]);
	close(answers[1]);
	perf_child_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_begins_where_perf_says),
		cmocka_unit_test(what_follows_two_dashes_is_the_command),
		cmocka_unit_test(what_is_given_is_not_added),
		cmocka_unit_test(events_count_at_once_without_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
