/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_process.c - live interpreters of every version are identified correctly.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "process/proc/proc.h"
#include "python/layout/py_offsets.h"

static void each_python_is_identified(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		pid_t pid = process_start_python(&f->pythons[i]);

		assert_int_equal(process_identify(f, pid), 0);
		process_check_python(f, &f->pythons[i]);
		assert_int_equal(f->process.pid, pid);
		process_stop(pid);
	}
}

/* The launchers of libpython that scripts/pythons puts into its roots. */
static void a_runtime_in_a_library_is_identified(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		struct python p = f->pythons[i];
		char host[2 * PATH_MAX];
		pid_t pid;

		snprintf(p.path, sizeof(p.path), "/opt/krait/python%.4s-shared", p.version);
		snprintf(p.kind, sizeof(p.kind), "shared");
		snprintf(host, sizeof(host), "%s%s", p.root, p.path);
		if (access(host, X_OK))
			continue;
		pid = process_start_python(&p);
		assert_int_equal(process_identify(f, pid), 0);
		process_check_python(f, &p);
		assert_non_null(strstr(f->process.file, "libpython3."));
		process_stop(pid);
	}
}

/* A process may change its own table, but krait reads nothing by it. */
static void a_process_whose_memory_is_not_its_file_is_refused(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct python *p = &f->pythons[i];
		struct start s = {
			.root = p->root,
			.path = p->path,
			.code = "import ctypes as c, os, time\n"
				"a = c.addressof(c.c_char.in_dll(c.pythonapi, '_PyRuntime'))\n"
				"c.CDLL(None).mprotect(c.c_void_p(a & ~4095), c.c_size_t(8192), 3)\n"
				"c.c_uint64.from_address(a + 224).value += 8\n"
				"os.write(1, b'r'); time.sleep(60)",
		};
		pid_t honest = process_start_python(p), pid = process_start(&s);

		if (pid < 0) {
			print_message("# skipped: %s has no ctypes\n", p->path);
		} else {
			assert_int_equal(process_identify(f, pid), -ENODATA);
			assert_string_equal(f->process.why,
					    "the runtime in its memory is not the one in its file");
			assert_int_equal(f->process.version >> 16,
					 0x300 + strtoul(p->version + 2, NULL, 10));
			process_stop(pid);
		}
		assert_int_equal(process_identify(f, honest), 0);
		assert_true(f->process.of_file);
		process_stop(honest);
	}
}

/* Anybody can set mm->start_code (PR_SET_MM_MAP); after an exec it is what the file says. */
static void the_start_of_code_is_what_the_kernel_makes_of_the_file(void **state)
{
	struct fixture *f = *state;
	struct proc_stat stat;
	pid_t pid;

	for (size_t i = 0; i < f->cnt; i++) {
		pid = process_start_python(&f->pythons[i]);
		assert_int_equal(process_identify(f, pid), 0);
		assert_int_equal(proc_stat_read(pid, &stat), 0);
		if (f->process.build == PY_BUILD_EXE)
			assert_int_equal(stat.start_code + f->process.code_delta,
					 f->process.runtime_addr);
		process_stop(pid);
	}
}

static void anchors_are_for_the_layout_of_a_file(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		pid_t pid = process_start_python(&f->pythons[i]);

		assert_int_equal(process_identify(f, pid), 0);
		assert_string_equal(f->process.anchors_why, "");
		assert_int_equal(py_process_has_anchors(&f->process),
				 f->process.version >= 0x030f0000);
		process_stop(pid);
	}
}

static void a_known_binary_takes_well_under_a_millisecond(void **state)
{
	struct fixture *f = *state;
	struct timespec from, to;
	double us;
	pid_t pid;

	if (!f->cnt)
		return;
	pid = process_start_python(&f->pythons[0]);
	assert_int_equal(process_identify(f, pid), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(process_identify(f, pid), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	us = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	print_message("# one identification of a known binary: %.1f us\n", us);
	process_stop(pid);
}

static void of_two_copies_the_live_one_wins(void **state)
{
	static const char code[] = "import ctypes, os, shutil, sysconfig, tempfile, time\n"
				   "l = sysconfig.get_config_var('LIBDIR') + '/'"
				   " + sysconfig.get_config_var('INSTSONAME')\n"
				   "d = tempfile.mkdtemp()\n"
				   "shutil.copy(l, d + '/x.so')\n"
				   "ctypes.CDLL(d + '/x.so')\n"
				   "shutil.rmtree(d)\n"
				   "os.write(1, b'r')\n"
				   "time.sleep(60)\n";
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct python *p = &f->pythons[i];
		struct start s = { .root = p->root, .path = p->path, .code = code };
		pid_t pid = strcmp(p->root, "/") ? -1 : process_start(&s);

		if (pid < 0)
			continue;
		assert_int_equal(process_identify(f, pid), 0);
		process_check_python(f, p);
		assert_null(strstr(f->process.file, "x.so"));
		process_stop(pid);
	}
}

/* 3.8 to 3.12 have no debug offsets: krait uses tables and checks them against the process. */
static void a_python_without_debug_offsets_is_identified_by_its_table(void **state)
{
	struct fixture *f = *state;
	struct python all[PYTHON_MAX];
	size_t cnt = pythons_find(all, PYTHON_MAX, 8);

	for (size_t i = 0; i < cnt; i++) {
		char version[24];
		pid_t pid;

		if (atoi(all[i].version + 2) >= 13)
			continue;
		pid = process_start_python(&all[i]);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(process_identify(f, pid), 0);
			assert_true(f->process.initialised);
			assert_int_equal(f->process.source, PY_SOURCE_TABLE);
			assert_int_equal(f->process.version, f->process.offsets.version);
			py_version_format(f->process.version, version, sizeof(version));
			assert_string_equal(version, all[i].version);
		}
		process_stop(pid);
	}
}

static void an_older_python_is_refused_by_name(void **state)
{
	struct fixture *f = *state;
	struct python all[PYTHON_MAX];
	size_t cnt = pythons_find(all, PYTHON_MAX, 6);
	bool seen = false;

	for (size_t i = 0; i < cnt; i++) {
		char version[40];
		pid_t pid;

		if (atoi(all[i].version + 2) >= 8)
			continue;
		seen = true;
		pid = process_start_python(&all[i]);
		assert_int_equal(process_identify(f, pid), -ENOTSUP);
		assert_non_null(strstr(f->process.why, "no debug offsets; krait supports 3.8 to"));
		snprintf(version, sizeof(version), "CPython %s (", all[i].version);
		assert_non_null(strstr(f->process.why, version));
		assert_int_equal(f->process.source, PY_SOURCE_NONE);
		process_stop(pid);
	}
	if (!seen)
		print_message("# skipped: there is no older CPython\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_python_is_identified),
		cmocka_unit_test(a_runtime_in_a_library_is_identified),
		cmocka_unit_test(a_process_whose_memory_is_not_its_file_is_refused),
		cmocka_unit_test(the_start_of_code_is_what_the_kernel_makes_of_the_file),
		cmocka_unit_test(anchors_are_for_the_layout_of_a_file),
		cmocka_unit_test(a_known_binary_takes_well_under_a_millisecond),
		cmocka_unit_test(of_two_copies_the_live_one_wins),
		cmocka_unit_test(a_python_without_debug_offsets_is_identified_by_its_table),
		cmocka_unit_test(an_older_python_is_refused_by_name),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
