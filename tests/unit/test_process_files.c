/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_process_files.c - interpreters whose file was renamed, deleted or replaced, or may not be
 * opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"

static void a_renamed_binary_is_identified(void **state)
{
	struct fixture *f = *state;
	const struct python *exe = find_exe(f);
	struct copied copy;
	pid_t pid;

	if (!exe)
		return;
	copy_exe(exe, "a web (server)", &copy);
	pid = process_start_python(&copy.python);
	assert_int_equal(process_identify(f, pid), 0);
	process_check_python(f, exe);
	assert_non_null(strstr(f->process.file, "/a web (server)"));
	process_stop(pid);
	remove_copy(&copy);
}

static void a_deleted_or_replaced_binary_is_identified(void **state)
{
	struct fixture *f = *state;
	const struct python *exe = find_exe(f);
	struct copied copy;
	pid_t pid;

	if (!exe)
		return;
	copy_exe(exe, "snake", &copy);
	pid = process_start_python(&copy.python);
	assert_int_equal(unlink(copy.file), 0);
	assert_int_equal(process_identify(f, pid), 0);
	process_check_python(f, exe);
	copy_file("/usr/bin/sleep", copy.file);
	assert_int_equal(process_identify(f, pid), 0);
	process_check_python(f, exe);
	process_stop(pid);
	remove_copy(&copy);
}

static void without_privilege_own_processes_are_identified(void **state)
{
	struct fixture *f = *state;
	const struct python *exe = find_exe(f);
	struct start s = { .code = WAIT_CODE, .uid = NOBODY };
	struct copied copy;
	pid_t pid;

	if (!exe || geteuid())
		return;
	copy_exe(exe, "snake", &copy);
	s.root = exe->root;
	s.path = copy.python.path;
	pid = process_start(&s);
	if (pid > 0) {
		/* Drops anything that a privileged look may have cached. */
		elf_cache__free(f->cache);
		f->cache = elf_cache__new();
		assert_int_equal(identify_as_nobody(f, pid), 0);
		assert_int_equal(unlink(copy.file), 0);
		assert_int_equal(identify_as_nobody(f, pid), 0);
		process_stop(pid);
	} else {
		print_message("# skipped: nobody cannot run %s\n", copy.file);
	}
	remove_copy(&copy);
}

/* Then a deleted library cannot be opened by any name, so its memory is searched. */
static void without_privilege_a_deleted_library_is_found_in_memory(void **state)
{
	struct fixture *f = *state;
	struct start s = { .code = WAIT_CODE, .uid = NOBODY };
	const struct python *exe = find_exe(f);
	char host[1024], lib[1024], inside[512];
	struct copied copy;
	struct python p;
	pid_t pid;

	if (!exe || geteuid())
		return;
	p = *exe;
	snprintf(p.path, sizeof(p.path), "/usr/lib/%s-linux-gnu/libpython%.4s.so.1.0", "x86_64",
		 p.version);
	snprintf(host, sizeof(host), "%s%s", p.root, p.path);
	snprintf(inside, sizeof(inside), "/opt/krait/python%.4s-shared", p.version);
	snprintf(lib, sizeof(lib), "libpython%.4s.so.1.0", p.version);
	if (access(host, R_OK)) {
		print_message("# skipped: no %s\n", host);
		return;
	}
	copy_exe(&p, lib, &copy);
	snprintf(lib, sizeof(lib), "%s", copy.python.path);
	*strrchr(lib, '/') = '\0';
	s.root = p.root;
	s.path = inside;
	s.library_path = lib;
	pid = process_start(&s);
	assert_true(pid > 0);
	assert_int_equal(unlink(copy.file), 0);
	assert_int_equal(identify_as_nobody(f, pid), 0);
	assert_int_equal(process_identify(f, pid), 0);
	assert_string_equal(f->process.file, copy.file);
	process_stop(pid);
	remove_copy(&copy);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_renamed_binary_is_identified),
		cmocka_unit_test(a_deleted_or_replaced_binary_is_identified),
		cmocka_unit_test(without_privilege_own_processes_are_identified),
		cmocka_unit_test(without_privilege_a_deleted_library_is_found_in_memory),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
