/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_label.c - the label of a process's frame.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "record/samples/label.h"
#include "process/proc/context.h"

static void assert_label(unsigned parts, const char *comm, const char *script, const char *want)
{
	struct context context = { .known = true, .uid = 1000, .ns_pid = 3 };
	char label[128];

	strcpy(context.script, script);
	process_label(label, sizeof(label), parts, comm, 42, &context);
	assert_string_equal(label, want);
}

static void a_script_says_which_python_it_is(void **state)
{
	assert_label(LABEL_SCRIPT, "python3.12", "/srv/shop/app.py", "python3.12 [app.py]");
	assert_label(LABEL_SCRIPT, "python3.12", "http.server", "python3.12 [http.server]");
	assert_label(LABEL_SCRIPT, "python3", "", "python3");
	assert_label(LABEL_SCRIPT, "python3", "folder/", "python3 [folder/]");
}

static void what_is_said_is_not_said_twice(void **state)
{
	assert_label(LABEL_SCRIPT, "app.py", "/srv/app.py", "app.py");
	assert_label(LABEL_SCRIPT, "a-script-with-a", "/srv/a-script-with-a-long-name.py",
		     "a-script-with-a");
	/* Not as a prefix: another program may have such a name. */
	assert_label(LABEL_SCRIPT, "a", "/srv/app.py", "a [app.py]");
}

static void parts_are_chosen_by_name(void **state)
{
	assert_int_equal(label_part("script", 6), LABEL_SCRIPT);
	assert_int_equal(label_part("pid", 3), LABEL_PID);
	assert_int_equal(label_part("pids", 4), 0);
	assert_label(LABEL_PID | LABEL_NSPID | LABEL_USER | LABEL_SCRIPT, "python3", "x.py",
		     "python3 [pid 42, nspid 3, user 1000, x.py]");
	assert_label(LABEL_COMMAND, "python3", "x.py", "python3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_says_which_python_it_is),
		cmocka_unit_test(what_is_said_is_not_said_twice),
		cmocka_unit_test(parts_are_chosen_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
