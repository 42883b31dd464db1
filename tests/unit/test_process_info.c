/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_process_info.c - user/target/process_info.c: containers, pids of namespaces, ourselves.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "target/process_info.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void containers_are_found_in_every_usual_form(void **state)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{ "0::/system.slice/docker-" ID ".scope\n", ID },
		{ "12:pids:/docker/" ID "\n11:cpu:/docker/" ID "\n", ID },
		{ "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", ID },
		{ "0::/machine.slice/libpod-" ID ".scope/container\n", ID },
		{ "0::/docker/" ID "/kubelet/kubepods/" ID2 "\n", ID2 },
		{ "0::/lxc.payload.web/init.scope\n", "web" },
		{ "4:memory:/lxc/web-1\n", "web-1" },
		{ "0::/user.slice/user-0.slice/session-1.scope\n", "" },
		{ "0::/x" ID "\n", "" },
		{ "0::/docker-" ID "0.scope\n", "" },
		{ "0::/lxc/\n", "" },
		{ "", "" },
	};
	char id[CONTAINER_ID_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(container_id_find(cases[i].text, id), *cases[i].id != '\0');
		assert_string_equal(id, cases[i].id);
	}
}

static void the_innermost_pid_is_the_last(void **state)
{
	assert_int_equal(ns_pid_find("Name:\tx\nNSpid:\t100\t20\t3\nNSpgid:\t7\n"), 3);
	assert_int_equal(ns_pid_find("NSpid:\t100\n"), 100);
	assert_int_equal(ns_pid_find("NSpid:\t\nx"), 0);
	assert_int_equal(ns_pid_find("Name:\tNSpid: 5\n"), 0);
	assert_int_equal(ns_pid_find(""), 0);
}

static void we_know_ourselves(void **state)
{
	struct process_info info;

	assert_int_equal(process_info_read(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_true(info.has_uid);
	assert_int_equal(info.uid, geteuid());
	assert_non_null(strstr(info.command, "test_process_info"));
	assert_int_equal(process_info_read(0x7ffffff0, &info), -ESRCH);
	/* A kernel thread has no arguments. */
	if (!process_info_read(2, &info) && *info.command)
		assert_int_equal(info.command[0], '[');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_are_found_in_every_usual_form),
		cmocka_unit_test(the_innermost_pid_is_the_last),
		cmocka_unit_test(we_know_ourselves),
	};

	return cmocka_run_group_tests_name("user/target/process_info.c", tests, NULL, NULL);
}
