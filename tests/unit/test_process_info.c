/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_process_info.c - user/process/proc/process_info.c: containers, pids in namespaces, our own
 * process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/proc/proc.h"
#include "process/proc/process_info.h"
#include "support_folder.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Makes a folder like /proc/PID for a process in that group. */
static void assert_container(const char *group, const char *want)
{
	char folder[TEST_FOLDER_MAX], path[TEST_FOLDER_MAX + 16];
	struct process_info info;
	int dir;

	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/cgroup", folder);
	test_file_put(path, group);
	dir = open(folder, O_PATH | O_DIRECTORY);
	/* Without status, the process has ended. */
	assert_int_equal(process_info_read_at(dir, 1, &info), -ESRCH);
	snprintf(path, sizeof(path), "%s/status", folder);
	test_file_put(path, "Name:\tx\n");
	assert_int_equal(process_info_read_at(dir, 1, &info), 0);
	assert_string_equal(info.container, want);
	close(dir);
	test_folder_remove(folder);
}

/* As with --label (cgroup.h): what watches a container is not in it. */
static void a_container_is_what_the_labels_say(void **state)
{
	assert_container("0::/machine.slice/libpod-" ID ".scope/container\n", ID);
	assert_container("12:pids:/docker/" ID "\n11:cpu:/docker/" ID "\n", ID);
	assert_container("0::/lxc.payload.web/init.scope\n", "web");
	assert_container("0::/machine.slice/libpod-conmon-" ID ".scope\n", "");
	assert_container("0::/user.slice/user-0.slice/session-1.scope\n", "");
	assert_container("", "");
}

static void the_innermost_pid_is_the_last(void **state)
{
	assert_int_equal(proc_ns_pid("Name:\tx\nNSpid:\t100\t20\t3\nNSpgid:\t7\n"), 3);
	assert_int_equal(proc_ns_pid("NSpid:\t100\n"), 100);
	assert_int_equal(proc_ns_pid("NSpid:\t\nx"), 0);
	assert_int_equal(proc_ns_pid("Name:\tNSpid: 5\n"), 0);
	assert_int_equal(proc_ns_pid(""), 0);
}

static int info_of(pid_t pid, struct process_info *ret)
{
	int dir = proc_open(pid), r = dir < 0 ? dir : process_info_read_at(dir, pid, ret);

	if (dir >= 0)
		close(dir);
	return r;
}

static void we_know_ourselves(void **state)
{
	struct process_info info;

	assert_int_equal(info_of(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_true(info.has_uid);
	assert_int_equal(info.uid, geteuid());
	assert_non_null(strstr(info.command, "test_process_info"));
	assert_int_equal(info_of(0x7ffffff0, &info), -ESRCH);
	/* A kernel thread has no arguments. */
	if (!info_of(2, &info) && *info.command)
		assert_int_equal(info.command[0], '[');
}

static void a_pid_stands_for_the_process_that_began_then(void **state)
{
	struct proc_stat stat;
	int dir;

	(void)state;
	assert_int_equal(proc_stat_read(getpid(), &stat), 0);
	dir = proc_open_started(getpid(), stat.start_ticks);
	assert_true(dir >= 0);
	close(dir);
	assert_int_equal(proc_open_started(getpid(), stat.start_ticks + 1), -ESRCH);
	assert_int_equal(proc_open_started(0x7fffffff, stat.start_ticks), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pid_stands_for_the_process_that_began_then),
		cmocka_unit_test(a_container_is_what_the_labels_say),
		cmocka_unit_test(the_innermost_pid_is_the_last),
		cmocka_unit_test(we_know_ourselves),
	};

	return cmocka_run_group_tests_name("user/process/proc/process_info.c", tests, NULL, NULL);
}
