/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_context.c - a process's owner and program, from files that the process can influence.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/proc/context.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"

#define ARGS(text) text, sizeof(text) - 1

static struct context parsed(const char *status)
{
	struct context c = { .uid = (uid_t)-1 };

	context_parse_status(status, &c);
	return c;
}

static void the_effective_user_and_the_innermost_pid_count(void **state)
{
	struct context c =
		parsed("Name:\tpython3\nUid:\t1000\t33\t0\t0\nNSpid:\t4711\t12\t1\nX:\t1\n");

	assert_int_equal(c.uid, 33);
	assert_int_equal(c.ns_pid, 1);
}

static const char *pid_text(pid_t pid)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d ", (int)pid);
	return text;
}

static void a_status_cut_anywhere_is_read_as_far_as_it_goes(void **state)
{
	const char whole[] = "Name:\tx\nUid:\t1000\t33\t0\t0\nNSpid:\t4711\t82\n";

	for (size_t len = 0; len < sizeof(whole); len++) {
		char text[sizeof(whole)] = "";
		struct context c;

		memcpy(text, whole, len);
		c = parsed(text);
		assert_true(c.uid == (uid_t)-1 || c.uid == 0 || c.uid == 3 || c.uid == 33);
		assert_true(c.ns_pid == 0 || c.ns_pid == 8 || c.ns_pid == 82 ||
			    strstr("4 47 471 4711 ", pid_text(c.ns_pid)));
	}
	assert_int_equal(parsed("NSpid:\n").ns_pid, 0);
	assert_int_equal(parsed("NSpid:\tx\n").ns_pid, 0);
	assert_int_equal(parsed("").uid, (uid_t)-1);
	/* A name that seems to contain such a line comes after its own key. */
	assert_int_equal(parsed("Name:\tUid:\t7\t7\n").uid, (uid_t)-1);
}

static void script_of(const char *exe, bool alone, const char *args, size_t len, const char *want)
{
	char got[16];

	memset(got, '#', sizeof(got));
	context_parse_arguments(args, len, exe, alone, got, sizeof(got));
	assert_string_equal(got, want);
}

static void script_is(const char *args, size_t len, const char *want)
{
	script_of("/usr/bin/python3.12", false, args, len, want);
}

/* What is an option's value there is not known: only a file of Python is one for sure. */
static void a_program_that_embeds_python_is_not_labelled_with_an_options_value(void **state)
{
	const char *nbdkit = "/usr/sbin/nbdkit", *uwsgi = "/usr/bin/uwsgi-core";

	script_of(nbdkit, false, ARGS("nbdkit\0-f\0-t\0004\0python\0burn.py\0"), "burn.py");
	script_of(nbdkit, false, ARGS("nbdkit\0-f\0-t\0004\0null\0"), "");
	script_of("/usr/sbin/apache2", false, ARGS("/usr/sbin/apache2\0-k\0start\0"), "");
	script_of(uwsgi, false,
		  ARGS("uwsgi\0--plugin\0python\0--http\0:80\0--wsgi-file=/a/app.py\0"),
		  "/a/app.py");
	script_of(uwsgi, false, ARGS("uwsgi\0--ini\0.py\0"), "");
	script_of("", false, ARGS("gone\0start\0"), "");
}

static void an_interpreter_may_have_any_name(void **state)
{
	script_of("/opt/myapp", true, ARGS("myapp\0-B\0spin\0001\0"), "spin");
	script_of("/opt/myapp", false, ARGS("myapp\0-B\0spin\0001\0"), "");
	script_of("/usr/bin/python3.13-dbg", false, ARGS("x\0-m\0app\0"), "app");
	script_of("/usr/bin/python", false, ARGS("x\0app\0"), "app");
	script_of("/usr/bin/python3.11 (deleted)", false, ARGS("x\0app\0"), "app");
	script_of("/usr/bin/pythonista", false, ARGS("pythonista\0app\0"), "");
}

static void another_program_may_run_the_interpreter(void **state)
{
	script_of("/usr/lib64/ld-linux-x86-64.so.2", false,
		  ARGS("/lib64/ld.so\0--library-path\0/x\0/usr/bin/python3.11\0-B\0app\0"), "app");
	script_of("/usr/bin/qemu-aarch64-static", false, ARGS("q\0python3\0app\0"), "app");
	script_of("/usr/libexec/valgrind/none-amd64-linux", false,
		  ARGS("valgrind\0--tool=none\0python3.11\0loop.py\0"), "loop.py");
	script_of("/usr/bin/qemu-x86_64", false, ARGS("q\0ls\0-l\0"), "");
}

static void the_script_is_the_first_that_is_no_option(void **state)
{
	script_is(ARGS("python3\0app.py\0-x\0"), "app.py");
	script_is(ARGS("python3\0-B\0-W\0error\0-X\0dev\0app.py\0"), "app.py");
	script_is(ARGS("python3\0--check-hash-based-pycs\0never\0app.py\0"), "app.py");
	script_is(ARGS("python3\0-m\0http.server\0"), "http.server");
	script_is(ARGS("python3\0-c\0import x\0app.py\0"), "-c");
	script_is(ARGS("python3\0-\0app.py\0"), "");
}

static void arguments_may_end_anywhere(void **state)
{
	script_is(ARGS(""), "");
	script_is(ARGS("python3"), "");
	script_is(ARGS("python3\0"), "");
	/* A truncated command line may end in an option that needs another argument. */
	script_is(ARGS("python3\0-m"), "");
	script_is(ARGS("python3\0-W"), "");
	script_is(ARGS("python3\0-m\0"), "");
	script_is(ARGS("python3\0-W\0"), "");
	script_is(ARGS("python3\0\0"), "");
	script_is(ARGS("python3\0a/very/long/path/app.py\0"), "a/very/long/pat");
}

static void a_process_is_read_while_it_lives(void **state)
{
	struct context c;
	char groups[CGROUP_TEXT_MAX];
	cleanup_close int own = proc_open(getpid()), gone = -1;
	int status;
	pid_t pid;

	context_read_at(own, false, &c, groups);
	assert_true(c.known);
	assert_int_equal(c.uid, geteuid());
	assert_int_equal(c.ns_pid, getpid());
	assert_non_null(strchr(groups, ':'));

	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	gone = proc_open(pid);
	context_read_at(gone, false, &c, NULL);
	assert_false(c.known);
	assert_int_equal(c.uid, (uid_t)-1);
	assert_string_equal(c.script, "");
	assert_string_equal(c.cgroup, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_program_that_embeds_python_is_not_labelled_with_an_options_value),
		cmocka_unit_test(an_interpreter_may_have_any_name),
		cmocka_unit_test(another_program_may_run_the_interpreter),
		cmocka_unit_test(the_effective_user_and_the_innermost_pid_count),
		cmocka_unit_test(a_status_cut_anywhere_is_read_as_far_as_it_goes),
		cmocka_unit_test(the_script_is_the_first_that_is_no_option),
		cmocka_unit_test(arguments_may_end_anywhere),
		cmocka_unit_test(a_process_is_read_while_it_lives),
	};

	return cmocka_run_group_tests_name("user/process/proc/context.c", tests, NULL, NULL);
}
