/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cgroup.c - containers by the names of their groups, and other facts that /proc tells about a
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support_folder.h"
#include "process/proc/cgroup.h"
#include "process/proc/context.h"

#define HEX "0123456789abcdef"
#define ID HEX HEX HEX HEX
#define POD "pod0e5f3a1c-8d8b-4a53-9a55-aaaaaaaaaaaa"

static const struct {
	const char *path, *runtime, *id;
} containers[] = {
	{ "/docker/" ID, "docker", ID },
	{ "/system.slice/docker-" ID ".scope", "docker", ID },
	{ "/docker/" ID "/init.scope", "docker", ID },
	{ "/kubepods/burstable/" POD "/" ID, "container", ID },
	{ "/kubepods.slice/kubepods-burstable.slice/x.slice/cri-containerd-" ID ".scope",
	  "containerd", ID },
	{ "/system.slice/containerd.service/kubepods-x.slice:cri-containerd:" ID, "containerd",
	  ID },
	{ "/kubepods.slice/" POD ".slice/crio-" ID ".scope", "cri-o", ID },
	{ "/machine.slice/libpod-" ID ".scope", "podman", ID },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID },
	{ "/libpod_parent/libpod-" ID, "podman", ID },
	{ "/user.slice/nerdctl-" ID ".scope", "containerd", ID },
	{ "/lxc/web", "lxc", "web" },
	{ "/lxc.payload.web-1/system.slice", "lxc", "web-1" },
	{ "/docker/" ID "/docker/" HEX HEX HEX "ffffffffffffffff", "docker",
	  HEX HEX HEX "ffffffffffffffff" },
	{ "/../docker-" ID ".scope", "docker", ID },
	/* No containers. */
	{ "", "", "" },
	{ "/", "", "" },
	{ "/user.slice/user-1000.slice/session-2.scope", "", "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", "" },
	{ "/crio-conmon-" ID ".scope", "", "" },
	{ "/docker/" ID "0", "", "" },
	{ "/docker/" HEX HEX HEX "ABCDEFABCDEFABCD", "", "" },
	{ "/lxc/a\033[31m", "", "" },
	{ "/lxc/" ID "0", "", "" },
	{ "/lxc/", "", "" },
};

static void a_container_is_known_by_the_name_of_its_group(void **state)
{
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct container c;

		container_of_cgroup(containers[i].path, &c);
		if (strcmp(c.id, containers[i].id) || strcmp(c.runtime, containers[i].runtime))
			fail_msg("%s: %s %s", containers[i].path, c.runtime, c.id);
	}
}

static void the_path_that_says_most_counts(void **state)
{
	char path[64], tiny[4];

	cgroup_path("3:cpu:/a\n2:memory:/a/longer\n0::/\n", path, sizeof(path));
	assert_string_equal(path, "/a/longer");
	cgroup_path("2:memory:/a/longer\n0::/b\n", path, sizeof(path));
	assert_string_equal(path, "/b");
	cgroup_path("0::/b", path, sizeof(path));
	assert_string_equal(path, "/b");
	cgroup_path("1:name=systemd:/with:colon\n", path, sizeof(path));
	assert_string_equal(path, "/with:colon");
	cgroup_path("0::/abcdef\n", tiny, sizeof(tiny));
	assert_string_equal(tiny, "/ab");
	cgroup_path("nonsense\n:\n::\n", path, sizeof(path));
	assert_string_equal(path, "");
	cgroup_path("", path, sizeof(path));
	assert_string_equal(path, "");
}

static const char *const folders[] = { "unified", "unified/app.slice", "unified/app.slice/web",
				       "cpu,cpuacct", "cpu,cpuacct/old" };

static void a_group_holds_those_below_it_and_no_others(void **state)
{
	static const char text[] = "4:memory:/one\n0::/app.slice/web.service\n";

	assert_true(cgroup_is_below(text, "/app.slice"));
	assert_true(cgroup_is_below(text, "/app.slice/"));
	assert_true(cgroup_is_below(text, "/app.slice/web.service"));
	assert_true(cgroup_is_below(text, "app.slice"));
	assert_true(cgroup_is_below(text, "app.slice/web.service/"));
	assert_true(cgroup_is_below(text, "one"));
	assert_true(cgroup_is_below(text, "/one"));
	assert_true(cgroup_is_below(text, "/"));
	assert_true(cgroup_is_below(text, ""));
	assert_false(cgroup_is_below(text, "web.service"));
	assert_false(cgroup_is_below(text, "app"));
	assert_false(cgroup_is_below(text, "/app"));
	assert_false(cgroup_is_below(text, "/app.slice/web"));
	assert_false(cgroup_is_below(text, "/app.slice/web.service/x"));
	assert_false(cgroup_is_below("", "/"));
}

/* Hierarchies of both versions, one within the other's folder, as in systemd's "hybrid" mode. */
static void the_least_limit_of_a_group_and_those_above_counts(void **state)
{
	char folder[TEST_FOLDER_MAX], path[128], found[64] = "";

	test_folder_make(folder);
	for (const char *const *sub =
		     (const char *const[]){ "memory", "memory/a", "memory/a/b", "v2", NULL };
	     *sub; sub++) {
		snprintf(path, sizeof(path), "%s/%s", folder, *sub);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/memory/memory.limit_in_bytes", folder);
	test_file_put(path, "9223372036854771712\n");
	snprintf(path, sizeof(path), "%s/memory/a/memory.limit_in_bytes", folder);
	test_file_put(path, "33554432\n");
	snprintf(path, sizeof(path), "%s/memory/a/b/memory.limit_in_bytes", folder);
	test_file_put(path, "67108864\n");
	assert_int_equal(cgroup_memory_limit("4:memory:/a/b\n3:cpu:/x\n0::/\n", folder, found,
					     sizeof(found)),
			 32 << 20);
	assert_string_equal(found, "/a");
	assert_int_equal(
		cgroup_memory_limit("4:memory:/gone\n0::/v2\n", folder, found, sizeof(found)), 0);
	snprintf(path, sizeof(path), "%s/v2/memory.max", folder);
	test_file_put(path, "max\n");
	assert_int_equal(cgroup_memory_limit("0::/v2\n", folder, found, sizeof(found)), 0);
	test_file_put(path, "16777216\n");
	assert_int_equal(cgroup_memory_limit("0::/v2/inner\n", folder, found, sizeof(found)),
			 16 << 20);
	assert_string_equal(found, "/v2");
	assert_int_equal(cgroup_memory_limit("nonsense", folder, found, sizeof(found)), 0);
	test_folder_remove(folder);
}

static void a_group_is_found_by_what_a_user_calls_it(void **state)
{
	char root[TEST_FOLDER_MAX], mounts[TEST_FOLDER_MAX + 16], name[128], text[512];

	test_folder_make(root);
	snprintf(mounts, sizeof(mounts), "%s/mounts", root);
	snprintf(text, sizeof(text),
		 "tmpfs %s tmpfs rw 0 0\ncgroup2 %s/unified cgroup2 rw 0 0\n"
		 "cgroup %s/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
		 root, root, root);
	test_file_put(mounts, text);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", root, folders[i]);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	assert_string_equal(cgroup_find("app.slice", mounts), "app.slice");
	assert_string_equal(cgroup_find("/app.slice/", mounts), "/app.slice/");
	assert_string_equal(cgroup_find("/app.slice/web", mounts), "/app.slice/web");
	assert_string_equal(cgroup_find("old", mounts), "old");
	snprintf(name, sizeof(name), "%s/unified/app.slice/web", root);
	assert_string_equal(cgroup_find(name, mounts), "/app.slice/web");
	snprintf(name, sizeof(name), "%s/cpu,cpuacct/old/", root);
	assert_string_equal(cgroup_find(name, mounts), "/old/");
	snprintf(name, sizeof(name), "%s/unified", root);
	assert_string_equal(cgroup_find(name, mounts), "");
	assert_null(cgroup_find("web", mounts));
	assert_null(cgroup_find("/app", mounts));
	snprintf(name, sizeof(name), "%s/unified/old", root);
	assert_null(cgroup_find(name, mounts));
	assert_string_equal(cgroup_find("/any", "/dev/null"), "/any");
	test_folder_remove(root);
}

static void status_tells_the_effective_user_and_the_inner_pid(void **state)
{
	struct context c = { .ns_pid = 0 };

	context_parse_status("Name:\tUid:\nUid:\t1\t1000\t3\t4\nNSpid:\t70\t12\t5\nX:\t1\n", &c);
	assert_int_equal(c.uid, 1000);
	assert_int_equal(c.ns_pid, 5);
	c = (struct context){ .ns_pid = 0, .uid = 7 };
	context_parse_status("Name:\tx\nNSpid:\n", &c);
	assert_int_equal(c.ns_pid, 0);
	assert_int_equal(c.uid, 7);
}

static void arguments_tell_the_script_or_the_module(void **state)
{
	static const struct {
		const char *args;
		size_t len;
		const char *script;
	} cases[] = {
#define ARGS(text) text, sizeof(text)
		{ ARGS("python3\0/srv/app.py\0x"), "/srv/app.py" },
		{ ARGS("python3\0-B\0-X\0dev\0app.py"), "app.py" },
		{ ARGS("python3\0-Xdev\0app.py"), "app.py" },
		{ ARGS("python3\0-W\0error\0-m\0http.server\0-d"), "http.server" },
		{ ARGS("python3\0-c\0pass\0app.py"), "-c" },
		{ ARGS("python3\0-"), "" },
		{ ARGS("python3"), "" },
		{ ARGS("python3\0-m"), "" },
		{ ARGS("python3\0-W"), "" },
		{ "", 0, "" },
		{ "no end", 6, "" },
	};
	char script[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* As context_read_at() provides it: with a NUL at the end. */
		char args[64] = "";

		memcpy(args, cases[i].args, cases[i].len);
		context_parse_arguments(args, cases[i].len, "/usr/bin/python3", false, script,
					sizeof(script));
		assert_string_equal(script, cases[i].script);
	}
}

static void units_and_pods_have_names(void **state)
{
	static const struct {
		const char *path, *unit, *pod;
	} cases[] = {
		{ "/system.slice/nginx.service", "nginx.service", "" },
		{ "/system.slice/foo@b-1.service/worker", "foo@b-1.service", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "x.service",
		  "" },
		{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "", "" },
		{ "/user.slice/session-2.scope", "", "" },
		{ "/system.slice/a\033b.service", "", "" },
		{ "/.service", "", "" },
		{ "/kubepods/burstable/" POD "/" ID, "", "0e5f3a1c-8d8b-4a53-9a55-aaaaaaaaaaaa" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-"
		  "pod0e5f3a1c_8d8b_4a53_9a55_aaaaaaaaaaaa.slice/cri-containerd-" ID ".scope",
		  "", "0e5f3a1c-8d8b-4a53-9a55-aaaaaaaaaaaa" },
		{ "/kubepods/pod" HEX HEX "/x", "", HEX HEX },
		{ "/" POD "/x", "", "" },
		{ "/kubepods/podx/y", "", "" },
		{ "/kubepods/pod" HEX HEX "0/x", "", "" },
	};
	char unit[128], pod[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unit_of_cgroup(cases[i].path, unit, sizeof(unit));
		pod_of_cgroup(cases[i].path, pod, sizeof(pod));
		assert_string_equal(unit, cases[i].unit);
		assert_string_equal(pod, cases[i].pod);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_is_known_by_the_name_of_its_group),
		cmocka_unit_test(units_and_pods_have_names),
		cmocka_unit_test(the_path_that_says_most_counts),
		cmocka_unit_test(the_least_limit_of_a_group_and_those_above_counts),
		cmocka_unit_test(a_group_holds_those_below_it_and_no_others),
		cmocka_unit_test(a_group_is_found_by_what_a_user_calls_it),
		cmocka_unit_test(status_tells_the_effective_user_and_the_inner_pid),
		cmocka_unit_test(arguments_tell_the_script_or_the_module),
	};

	return cmocka_run_group_tests_name("process/proc/cgroup", tests, NULL, NULL);
}
