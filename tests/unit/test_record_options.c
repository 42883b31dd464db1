/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_record_options.c - the command line of krait record. argp ends the process on errors, so each
 * command line is parsed in a child.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/record/record_options.h"
#include "cmd/record/record_targets.h"

#define MAX_ARGS 64

struct parsed {
	struct record_options options; /* shared with the child; strings are valid in both */
	char *argv[MAX_ARGS];
	char line[1024];
	int argc, exit_code;
	char err[16384];
};

static struct parsed *p;

static int setup(void **state)
{
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
#ifdef __SANITIZE_ADDRESS__
	/* What only this memory points to is no leak. */
	__lsan_register_root_region(p, sizeof(*p));
#endif
	return 0;
}

static int teardown(void **state)
{
	return munmap(p, sizeof(*p));
}

static void split(const char *line)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->line, sizeof(p->line), "krait_record %s", line);
	for (char *word = strtok(p->line, " "); word; word = strtok(NULL, " ")) {
		assert_in_range(p->argc, 0, MAX_ARGS - 2);
		p->argv[p->argc++] = word;
	}
}

static void parse_in_child(int err_fd)
{
	dup2(err_fd, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	record_options_parse(&p->options, p->argc, p->argv);
	_exit(99);
}

/* Parses in a child. Returns the exit code, or 99 if the line is valid. */
static int parse(const char *line)
{
	size_t len = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	split(line);
	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		parse_in_child(fds[1]);
	close(fds[1]);
	while ((n = read(fds[0], p->err + len, sizeof(p->err) - 1 - len)) > 0)
		len += (size_t)n;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const struct record_options *good(const char *line)
{
	int code = parse(line);

	if (code != 99)
		fail_msg("\"%s\": exit code %d, %s", line, code, p->err);
	return &p->options;
}

static void assert_refused(const char *line, const char *message)
{
	int code = parse(line);

	if (code != 2 || !strstr(p->err, message))
		fail_msg("\"%s\": exit code %d, not \"%s\" but %s", line, code, message, p->err);
	/* One line in the format of all messages. */
	if (strncmp(p->err, "krait: ", strlen("krait: ")) ||
	    strchr(p->err, '\n') != p->err + strlen(p->err) - 1)
		fail_msg("\"%s\": not one line of krait's: %s", line, p->err);
}

static void a_process_is_sampled_densely_and_a_machine_rarely(void **state)
{
	assert_int_equal(good("-p 1")->frequency, 997);
	assert_int_equal(good("-- true")->frequency, 997);
	assert_int_equal(good("-a")->frequency, 99);
	assert_int_equal(good("-a -F 10k")->frequency, 10000);
	assert_int_equal(good("-r 500 -p 1")->frequency, 500);
	assert_int_equal(good("--freq=1234hz -p 1")->frequency, 1234);
	assert_int_equal(good("--rate 7 -p 1")->frequency, 7);
}

static void native_and_kernel_are_there_unless_not_wanted(void **state)
{
	const struct record_options *o = good("-p 1");

	assert_true(o->native && o->kernel && !o->interpreter_frames);
	o = good("-p 1 --no-native");
	assert_true(!o->native && o->kernel);
	o = good("-p 1 --no-kernel");
	assert_true(o->native && !o->kernel);
	o = good("-p 1 --no-native --no-kernel -n -k");
	assert_true(o->native && o->kernel);
	o = good("-p 1 --no-native --interpreter-frames");
	assert_true(o->native && o->interpreter_frames);
}

static void events_come_in_lists_and_repeatedly(void **state)
{
	const struct record_options *o = good("-p 1");

	assert_int_equal(o->event_cnt, 1);
	assert_string_equal(o->events[0].name, "cpu-clock");
	assert_int_equal(o->events[0].frequency, 997);
	assert_int_equal(o->events[0].period, 0);
	o = good("-p 1 -e faults,cs -e cycles:u");
	assert_int_equal(o->event_cnt, 3);
	assert_string_equal(o->events[0].name, "faults");
	assert_string_equal(o->events[1].name, "cs");
	assert_string_equal(o->events[2].name, "cycles:u");
	assert_true(o->events[2].exclude_kernel);
	assert_int_equal(o->events[2].frequency, 997);
}

/* Countable events get the period, and a clock among them keeps its rate. */
static void a_period_is_for_what_is_counted(void **state)
{
	const struct record_options *o = good("-p 1 -e cpu-clock,faults -c 1");

	assert_int_equal(o->events[0].frequency, 997);
	assert_int_equal(o->events[0].period, 0);
	assert_int_equal(o->events[1].frequency, 0);
	assert_int_equal(o->events[1].period, 1);
	o = good("-p 1 -e cpu-clock,faults -c 10k -F 99");
	assert_int_equal(o->events[0].frequency, 99);
	assert_int_equal(o->events[1].period, 10000);
	o = good("-p 1 -c 1000000");
	assert_int_equal(o->events[0].period, 1000000);
	assert_int_equal(o->events[0].frequency, 0);
	assert_int_equal(o->frequency, 0);
	assert_refused("-p 1 -c 5000", "counts nanoseconds; use at least 10000");
	assert_refused("-p 1 -c 10000 -F 99",
		       "-F sets the rate of clocks and -c the period of other events");
	assert_refused("-p 1 -e cs -c 1 -F 99",
		       "-F sets the rate of clocks and -c the period of other events");
	assert_refused("-p 1 -e cs -c 0", "a period is a number of events");
	assert_refused("-p 1 -e cs -c often", "a period is a number of events");
}

static void probes_are_events(void **state)
{
	const struct record_options *o = good(
		"-p 1 -e usdt:/a/lib.so:python:gc__start,cs --probe libc:read%return --probe /x/y,z/z:f+4");

	assert_int_equal(o->event_cnt, 4);
	assert_string_equal(o->events[0].name, "usdt:lib.so:python:gc__start");
	assert_string_equal(o->events[1].name, "cs");
	assert_string_equal(o->events[2].name, "uretprobe:libc:read");
	assert_string_equal(o->events[3].name, "uprobe:z:f+4");
	assert_int_equal(o->events[3].period, 1);
	assert_true(event_is_probe(&o->events[3]));
}

static void bad_events_are_refused_by_name(void **state)
{
	char line[1024] = "-p 1";

	assert_refused("-p 1 -e page-fault", "no event \"page-fault\"");
	assert_refused("-p 1 -e {cs,faults", "has no end");
	assert_refused("-p 1 -e {cs,faults}:u", "\":u\" behind a group: :S is all");
	assert_refused("-p 1 -e {cs,cpu-clock}:S", "a clock leads a group");
	assert_refused("-p 1 -e {cs,uprobe:/bin/sh:main}", "not tracepoints and probes");
	assert_refused("-p 1 -e cs,,faults", "no event \"\"");
	assert_refused("-p 1 --probe libc", "a probe is uprobe:FILE:FUNCTION");
	assert_refused("-p 1 -e usdt::x", "a probe is usdt:FILE:NAME");
	assert_refused("-p 1 --probe libc:f+4%return", "without an offset");
	assert_refused("-p 1 --probe libc:f -F 99", "have no rate");
	assert_refused("-p 1 -e cs,faults,cs", "event cs is given twice");
	assert_refused("-p 1 -e nosuch:tracepoint", "\"nosuch:tracepoint\"");
	assert_refused("-p 1 -e nosuch/event=0x3c,umask=0x1/,cs", "no PMU \"nosuch\"");
	for (int i = 0; i <= KRAIT_MAX_EVENTS; i++)
		sprintf(line + strlen(line), " -e r%x", i);
	assert_refused(line, "too many events: at most 16");
}

static void processes_come_in_lists_and_repeatedly(void **state)
{
	const struct record_options *o = good("-p 12,34 -p 56 --pid=4194304");

	assert_int_equal(o->pid_cnt, 4);
	assert_int_equal(o->pids[0], 12);
	assert_int_equal(o->pids[1], 34);
	assert_int_equal(o->pids[2], 56);
	assert_int_equal(o->pids[3], 4194304);
	assert_false(o->all);
	assert_null(o->command);
}

static void a_command_keeps_its_own_options(void **state)
{
	const struct record_options *o = good("-d 5s -- python3 -a -p 7 -- x");

	assert_ptr_equal(o->command, p->argv + 4);
	assert_string_equal(o->command[0], "python3");
	assert_string_equal(o->command[1], "-a");
	assert_string_equal(o->command[4], "--");
	assert_null(o->command[6]);
	assert_false(o->all);
	assert_int_equal(o->pid_cnt, 0);
	assert_int_equal(o->duration_ns, 5000000000ULL);
	assert_string_equal(good("python3 -d 5s")->command[0], "python3");
	assert_int_equal(good("python3 -d 5s")->duration_ns, 0);
}

static void outputs_have_a_default_and_come_repeatedly(void **state)
{
	const struct record_options *o = good("-a");

	assert_int_equal(o->output_cnt, 1);
	assert_string_equal(o->outputs[0], "perf.data");
	o = good("-a -o - -o x.folded --output=y.html");
	assert_int_equal(o->output_cnt, 3);
	assert_string_equal(o->outputs[0], "-");
	assert_string_equal(o->outputs[2], "y.html");
	assert_string_equal(good("-a -o - -f folded")->format, "folded");
}

static void the_other_options_arrive(void **state)
{
	const struct record_options *o = good(
		"-a -tqvv --lines --no-process --stats --ring-size 8M --unwind-memory 16M --max-loss 2.5");

	assert_true(o->all && o->threads && o->quiet && o->lines && o->no_process && o->stats);
	assert_int_equal(o->verbose, 2);
	assert_int_equal(o->ring_bytes, 8 << 20);
	assert_true(o->max_loss_percent == 2.5);
	o = good("-a");
	assert_false(o->threads || o->quiet || o->lines || o->no_process || o->stats || o->verbose);
	assert_int_equal(o->ring_bytes, 0);
	assert_true(o->max_loss_percent == 1.0);
}

static void groups_have_a_leader(void **state)
{
	const struct record_options *o =
		good("-p 1 -e {cs,faults}:S,{cpu-clock,migrations},major-faults");

	assert_int_equal(o->event_cnt, 5);
	assert_int_equal(o->events[0].leader, 0);
	assert_int_equal(o->events[1].leader, 1);
	assert_true(o->events[1].is_read && !o->events[0].is_read);
	assert_int_equal(o->events[3].leader, 3);
	assert_false(o->events[3].is_read || o->events[4].is_read);
	assert_int_equal(o->events[4].leader, 0);
	assert_int_equal(o->anchors, ANCHOR_MODE_OFF);
	o = good("-p 1 --memory -e {cs,faults}:S");
	assert_int_equal(o->events[3].leader, 3);
}

static void exactly_one_kind_of_target_is_needed(void **state)
{
	assert_refused("", "nothing to record: use -a, -p PID or -- COMMAND");
	assert_refused("-F 99", "nothing to record:");
	assert_refused("--", "nothing to record:");
	assert_refused("-a -p 1", "choose one of -a and -p");
	assert_refused("-a -p 1 -- true", "choose one of -a and -p");
	/* As in perf. */
	assert_string_equal(good("-a -g -- sleep 1")->command[0], "sleep");
	assert_true(good("-a -g -- sleep 1")->all);
	assert_int_equal(good("-p 1 sleep 1")->pid_cnt, 1);
	assert_refused("4242", "4242 is not a command; to record a process, use -p 4242 (");
	assert_refused("-p 1 4242", "several processes are one word: -p 1,4242 (");
	assert_refused("-a --frequency-of 9", "--frequency-of");
	assert_refused("-a --ferq 9", "no option --ferq; did you mean --freq?");
	assert_refused("-p 1 --max-los=5 --thraeds",
		       "no option --thraeds; did you mean --threads?");
}

static void bad_process_ids_are_refused(void **state)
{
	static const char *const bad[] = { "x",	 "0",	"-1",	"1x",	   "1,,2",
					   ",1", "1;2", "0x10", "4194305", "99999999999999999999",
					   "1.5" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		snprintf(line, sizeof(line), "--pid=%s", bad[i]);
		assert_refused(line, "-p takes process ids");
	}
}

static void bad_numbers_are_refused_with_an_example(void **state)
{
	assert_refused("-a -F 0", "a rate is a number of Hz, such as 997 or 10k, not \"0\"");
	assert_refused("-a -F fast", "a rate is a number of Hz");
	assert_refused("-a -F 0x10", "a rate is a number of Hz");
	assert_refused("-a -d 10x", "a time is 10 or 10s, 500ms, 2m or 1h, not \"10x\"");
	assert_refused("-a -d -1", "a time is 10 or 10s");
	assert_refused("-a --ring-size lots", "a size is a number with k, M or G, not \"lots\"");
	assert_refused("-a --unwind-memory 0", "a size is a number with k, M or G, not \"0\"");
	assert_refused("-a --max-loss 101", "--max-loss takes a percentage");
	assert_refused("-a --max-loss -1", "--max-loss takes a percentage");
	assert_refused("-a --max-loss nan", "--max-loss takes a percentage");
	assert_refused("-a --max-loss 5%%", "--max-loss takes a percentage");
}

static void a_format_goes_with_one_output(void **state)
{
	assert_refused("-a -f folded -o a -o b", "-f applies to a single -o");
}

static void too_many_are_refused(void **state)
{
	char line[1024] = "-a";

	for (int i = 0; i < RECORD_MAX_OUTPUTS + 1; i++)
		strcat(line, " -ox");
	assert_refused(line, "too many outputs: at most 16");
	strcpy(line, "-p1");
	for (int i = 0; i < RECORD_MAX_PIDS; i++)
		strcat(line, ",1");
	assert_refused(line, "too many processes: at most 256; use -a");
}

static void what_argp_refuses_is_a_usage_error_too(void **state)
{
	assert_refused("-a --nonsense", "no option --nonsense (krait_record --help lists all)");
	assert_refused("-a --freq", "--freq needs a value: --freq=HZ (");
	assert_refused("-a --n", "--n is short for --name and for --");
	assert_refused("-a --native=3", "--native takes no value: \"3\" (");
	assert_refused("-aJ", "no option -J (");
	assert_refused("-a -F", "-F needs a value: -F HZ (");
}

static void help_is_no_error(void **state)
{
	assert_int_equal(parse("--help"), 0);
	assert_non_null(strstr(p->err, "krait record -a -d 10s"));
}

static void assert_explained(const struct filter *filter, unsigned unwanted, const char *want)
{
	const struct record_options o = { .filter = *filter };
	const struct record_nothing there = { .unwanted = unwanted, .threads = "" };
	char text[RECORD_TARGETS_TEXT];

	record_targets_explain(text, &o, &there);
	assert_string_equal(text, want);
}

static void where_nothing_fits_it_says_what_was_asked_for(void **state)
{
	const struct filter none = { 0 }, name = { .names = { "wl" }, .name_cnt = 1 },
			    several = { .names = { "*wl*" },
					.cgroups = { "/a.slice" },
					.users = { 1000 },
					.name_cnt = 1,
					.cgroup_cnt = 1,
					.user_cnt = 1 };

	assert_explained(
		&none, 0,
		"no Python process ran during the recording (krait list shows what runs now)");
	assert_explained(&name, 0,
			 "no Python process ran during the recording, with or without --name wl");
	assert_explained(&name, 3,
			 "3 Python processes ran during the recording, none with --name wl "
			 "(--name '*wl*' takes parts of names, too)");
	assert_explained(&several, 1,
			 "1 Python process ran during the recording, but not with --name *wl* "
			 "--cgroup /a.slice --user 1000");
}

static void where_no_thread_fits_it_says_which_ran(void **state)
{
	struct record_options o = { .event_cnt = 1, .events = { { .name = "cpu-clock" } } };
	struct record_nothing there = { .processes = 1, .threads = "" };
	char text[RECORD_TARGETS_TEXT];

	assert_int_equal(thread_filter_add(&o.thread, "worker-1"), 0);
	record_targets_explain(text, &o, &there);
	assert_string_equal(text, "the processes had none of these events");
	o.event_cnt = 0;
	record_targets_explain(text, &o, &there);
	assert_string_equal(
		text,
		"the processes used no CPU time; krait record --wall shows what they wait for");
	there.threads = "7 python3, 8 worker-2";
	record_targets_explain(text, &o, &there);
	assert_string_equal(text, "no thread that ran matches --thread worker-1 (those that ran: "
				  "7 python3, 8 worker-2)");
}

/* Sixteen names of any length. */
static void what_was_asked_for_is_cut_where_room_ends(void **state)
{
	static char name[3000];
	struct filter filter = { .name_cnt = FILTER_MAX };
	const struct record_options *o;
	char text[RECORD_TARGETS_TEXT];

	memset(name, 'n', sizeof(name) - 1);
	for (size_t i = 0; i < FILTER_MAX; i++)
		filter.names[i] = name;
	o = &(const struct record_options){ .filter = filter };
	record_targets_explain(text, o, &(struct record_nothing){ 0, 2, "" });
	assert_true(strlen(text) < RECORD_TARGETS_TEXT);
	assert_int_equal(strncmp(text, "2 Python processes ran", 22), 0);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_process_is_sampled_densely_and_a_machine_rarely),
		T(native_and_kernel_are_there_unless_not_wanted),
		T(events_come_in_lists_and_repeatedly),
		T(a_period_is_for_what_is_counted),
		T(probes_are_events),
		T(bad_events_are_refused_by_name),
		T(processes_come_in_lists_and_repeatedly),
		T(a_command_keeps_its_own_options),
		T(outputs_have_a_default_and_come_repeatedly),
		T(the_other_options_arrive),
		T(groups_have_a_leader),
		T(exactly_one_kind_of_target_is_needed),
		T(bad_process_ids_are_refused),
		T(bad_numbers_are_refused_with_an_example),
		T(a_format_goes_with_one_output),
		T(too_many_are_refused),
		T(what_argp_refuses_is_a_usage_error_too),
		T(help_is_no_error),
		T(where_nothing_fits_it_says_what_was_asked_for),
		T(where_no_thread_fits_it_says_which_ran),
		T(what_was_asked_for_is_cut_where_room_ends),
	};

	return cmocka_run_group_tests_name("cmd/record/record_options", tests, setup, teardown);
}
