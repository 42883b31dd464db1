/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_config_file.c - files of --config: inserted as options before the command line, or
 * refused without quoting their values.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/types.h>
#include <cmocka.h>

#include "cmd/common/config_file.h"
#include "cmd/agent/agent_options.h"
#include "base/system/error.h"

static char path[] = "/tmp/krait-test-config-XXXXXX";

static int load(struct config_arguments *a, const char *text, mode_t mode, struct error *err)
{
	char *argv[] = { (char *)"krait agent", (char *)"--rate=7", NULL };
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, mode);
	return config_file_load(a, path, NULL, &agent_argp, 2, argv, err);
}

static void assert_refused(const char *text, mode_t mode, const char *why)
{
	struct config_arguments a;
	struct error err;

	assert_true(load(&a, text, mode, &err) < 0);
	assert_int_equal(err.code, EXIT_CODE_USAGE);
	if (!strstr(err.text, why))
		fail_msg("%s", err.text);
	assert_null(strstr(err.text, "hunter2"));
}

static void keys_become_options_in_front(void **state)
{
	static const char *const expected[] = {
		"krait agent", "--rate=19", "--off-cpu", "--interval=5s", "--export-header=A: b#c",
		"--rate=7"
	};
	struct config_arguments a;
	struct agent_options o;
	struct error err;

	assert_int_equal(load(&a,
			      "; text\n# text\n[sampling]\nrate = 19\noff-cpu = yes\nkernel=no\n"
			      "  interval = 5s\n[export]\nexport-header = A: b#c\n",
			      0600, &err),
			 0);
	assert_int_equal(a.argc, 6);
	for (int i = 0; i < a.argc; i++)
		assert_string_equal(a.argv[i], expected[i]);
	assert_null(a.argv[6]);
	agent_options_parse(&o, a.argc, a.argv);
	/* The command line takes precedence. */
	assert_int_equal(o.record.frequency, 7);
	assert_int_equal(o.interval_ns, 5000000000ULL);
	assert_true(o.record.off_cpu);
	assert_false(o.record.kernel);
	config_arguments_free(&a);
}

/* For a feature that is on by default, "no" becomes the option that turns it off. */
static void no_turns_off_what_is_on(void **state)
{
	static const struct {
		const char *text, *option; /* of the file's last key */
		enum async_mode async;
		bool greenlets, task_names;
	} rows[] = {
		{ "", NULL, ASYNC_TASKS, true, false },
		{ "async = no\n", "--no-async", ASYNC_OFF, true, false },
		{ "async = yes\n", "--async", ASYNC_TASKS, true, false },
		{ "async = both\n", "--async=both", ASYNC_BOTH, true, false },
		{ "no-async = yes\n", "--no-async", ASYNC_OFF, true, false },
		{ "greenlets = off\n", "--no-greenlets", ASYNC_TASKS, false, false },
		{ "greenlets = yes\n", "--greenlets", ASYNC_TASKS, true, false },
		{ "task-names = yes\n", "--task-names", ASYNC_TASKS, true, true },
		{ "greenlets = no\nasync = tasks\n", "--async=tasks", ASYNC_TASKS, false, false },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_arguments a;
		struct agent_options o;
		struct error err;

		assert_int_equal(load(&a, rows[i].text, 0600, &err), 0);
		if (rows[i].option)
			assert_string_equal(a.argv[a.argc - 2], rows[i].option);
		agent_options_parse(&o, a.argc, a.argv);
		assert_int_equal(o.record.async, rows[i].async);
		assert_int_equal(o.record.greenlets, rows[i].greenlets);
		assert_int_equal(o.record.task_names, rows[i].task_names);
		config_arguments_free(&a);
	}
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
	char line[400];

	assert_refused("rate = 19\nrat = hunter2\n", 0600, ":2: there is no such key: \"rat\"");
	assert_refused("native = hunter2\n", 0600, "yes or no");
	assert_refused("config = hunter2\n", 0600, "no such key");
	assert_refused("hunter2\n", 0600, ":1: neither");
	memset(line, 'x', sizeof(line));
	memcpy(line, "rate = ", 7);
	line[sizeof(line) - 1] = '\0';
	assert_refused(line, 0600, "longer than");
}

static void who_may_write_or_read_it_matters(void **state)
{
	struct config_arguments a;
	struct error err;

	assert_refused("rate = 19\n", 0620, "others can write");
	assert_refused("rate = 19\n", 0602, "others can write");
	assert_refused("export-header = Authorization: hunter2\n", 0640, "others can read");
	assert_int_equal(load(&a, "rate = 19\n", 0644, &err), 0);
	config_arguments_free(&a);
	if (!geteuid()) {
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_refused("rate = 19\n", 0600, "belongs to another user");
		assert_int_equal(chown(path, 0, 0), 0);
	}
}

/* git's syntax: only the command's section counts, a key alone is yes, quotes are none of the value. */
static void a_section_is_a_command(void **state)
{
	static const char text[] =
		"# mine\n[report]\n\tnope = 1\n[agent]\n\trate = \"19\"\n\toff-cpu\n"
		"  ; none\n\tinterval = 5s  \n[top]\n\tnope\n[ agent]\nnope\n";
	static const char *const expected[] = { "krait agent", "--rate=19", "--off-cpu",
						"--interval=5s" };
	char *argv[] = { (char *)"krait agent", NULL };
	struct config_arguments a;
	struct error err;
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0644);
	assert_int_equal(config_file_load(&a, path, "agent", &agent_argp, 1, argv, &err), 0);
	assert_int_equal(a.argc, 4);
	for (int i = 0; i < a.argc; i++)
		assert_string_equal(a.argv[i], expected[i]);
	config_arguments_free(&a);
	assert_true(config_file_load(&a, path, "report", &agent_argp, 1, argv, &err) < 0);
	assert_non_null(strstr(err.text, ":3: there is no such key: \"nope\""));
	assert_true(config_file_load(&a, path, "top", &agent_argp, 1, argv, &err) < 0);
	assert_non_null(strstr(err.text, ":10: there is no such key: \"nope\""));
	assert_int_equal(config_file_load(&a, path, "record", &agent_argp, 1, argv, &err), 0);
	assert_int_equal(a.argc, 1);
	config_arguments_free(&a);
}

static void the_path_is_found_in_both_ways(void **state)
{
	char *one[] = { (char *)"x", (char *)"--config=a", NULL };
	char *two[] = { (char *)"x", (char *)"--config", (char *)"b", NULL };
	char *none[] = { (char *)"x", (char *)"--config", NULL };

	assert_string_equal(config_file_path(2, one), "a");
	assert_string_equal(config_file_path(3, two), "b");
	assert_null(config_file_path(2, none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_become_options_in_front),
		cmocka_unit_test(no_turns_off_what_is_on),
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(who_may_write_or_read_it_matters),
		cmocka_unit_test(a_section_is_a_command),
		cmocka_unit_test(the_path_is_found_in_both_ways),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
