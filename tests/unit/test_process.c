/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live processes: the interpreters of scripts/pythons in their own roots, and what is not Python.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support_pythons.h"
#include "target/elf_cache.h"
#include "target/proc.h"
#include "target/process.h"
#include "target/py_offsets.h"

#define PYTHON_MAX 32
#define NOBODY 65534
#define WAIT_CODE "import os, time; os.write(1, b'r'); time.sleep(60)"

struct fixture {
	struct elf_cache *cache;
	struct python pythons[PYTHON_MAX]; /* 3.13 and later */
	size_t cnt;
	struct py_process process;
};

struct start {
	const char *root, *path, *code;
	const char *library_path; /* or NULL */
	uid_t uid;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->cache = elf_cache__new();
	f->cnt = pythons_find(f->pythons, PYTHON_MAX, 13);
	if (!f->cnt)
		print_message("# skipped: there is no CPython of 3.13 or later\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	elf_cache__free(f->cache);
	free(f);
	return 0;
}

static void exec_start(const struct start *s, int out)
{
	char *argv[] = { "python", "-S", "-c", (char *)s->code, NULL };
	char env[PATH_MAX];
	char *envp[] = { s->library_path ? env : NULL, NULL };

	snprintf(env, sizeof(env), "LD_LIBRARY_PATH=%s", s->library_path ? s->library_path : "");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, 1);
	if (strcmp(s->root, "/") && (chroot(s->root) || chdir("/")))
		_exit(126);
	if (s->uid && (setgroups(0, NULL) || setgid(s->uid) || setuid(s->uid)))
		_exit(126);
	execve(s->path, argv, envp);
	_exit(127);
}

/* Starts and waits for the first byte of output. The pid, or -1 when it ended without. */
static pid_t start(const struct start *s)
{
	int out[2], got;
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		exec_start(s, out[1]);
	close(out[1]);
	got = (int)read(out[0], &byte, 1);
	close(out[0]);
	if (got == 1)
		return pid;
	waitpid(pid, NULL, 0);
	return -1;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t start_python(const struct python *p)
{
	struct start s = { .root = p->root, .path = p->path, .code = WAIT_CODE };
	pid_t pid = start(&s);

	assert_true(pid > 0);
	return pid;
}

static pid_t start_sleep(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/usr/bin/sleep", "sleep", "60", NULL);
		_exit(127);
	}
	for (;;) {
		char comm[16];

		assert_int_equal(process_comm(pid, comm), 0);
		if (!strcmp(comm, "sleep"))
			return pid;
		usleep(1000);
	}
}

static void copy_file(const char *from, const char *to)
{
	char *argv[] = { "cp", (char *)from, (char *)to, NULL };
	pid_t pid = fork();
	int status;

	if (!pid) {
		execv("/usr/bin/cp", argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int identify(struct fixture *f, pid_t pid)
{
	return py_process_identify(pid, f->cache, &f->process);
}

static void check_python(const struct fixture *f, const struct python *p)
{
	char version[24];

	py_version_format(f->process.offsets.version, version, sizeof(version));
	assert_string_equal(version, p->version);
	assert_true(f->process.initialised);
	assert_int_equal(f->process.build, strstr(p->kind, "exe") ? PY_BUILD_EXE : PY_BUILD_SHARED);
	assert_int_equal(f->process.runtime_addr % 8, 0);
	assert_true(f->process.start_ticks > 0);
	assert_string_equal(f->process.why, "");
}

static void each_python_is_identified(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->cnt; i++) {
		pid_t pid = start_python(&f->pythons[i]);

		assert_int_equal(identify(f, pid), 0);
		check_python(f, &f->pythons[i]);
		assert_int_equal(f->process.pid, pid);
		stop(pid);
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
		pid = start_python(&p);
		assert_int_equal(identify(f, pid), 0);
		check_python(f, &p);
		assert_non_null(strstr(f->process.file, "libpython3."));
		stop(pid);
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
	pid = start_python(&f->pythons[0]);
	assert_int_equal(identify(f, pid), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(identify(f, pid), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	us = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	print_message("# one identification of a known binary: %.1f us\n", us);
	stop(pid);
}

/* An executable that holds the interpreter, copied to a folder that nobody can name. */
static const struct python *find_exe(const struct fixture *f)
{
	for (size_t i = 0; i < f->cnt; i++)
		if (!strcmp(f->pythons[i].kind, "exe"))
			return &f->pythons[i];
	print_message("# skipped: there is no CPython with the runtime in the executable\n");
	return NULL;
}

struct copied {
	char dir[512], file[600]; /* as we see it */
	struct python python; /* as it runs */
};

static void copy_exe(const struct python *p, const char *name, struct copied *ret)
{
	bool host = !strcmp(p->root, "/");
	char from[1024];

	snprintf(from, sizeof(from), "%s%s", host ? "" : p->root, p->path);
	snprintf(ret->dir, sizeof(ret->dir), "%s/tmp/krait-XXXXXX", host ? "" : p->root);
	assert_non_null(mkdtemp(ret->dir));
	chmod(ret->dir, 0755);
	snprintf(ret->file, sizeof(ret->file), "%s/%s", ret->dir, name);
	copy_file(from, ret->file);
	ret->python = *p;
	snprintf(ret->python.path, sizeof(ret->python.path), "%.255s",
		 ret->file + (host ? 0 : strlen(p->root)));
}

static void remove_copy(const struct copied *c)
{
	unlink(c->file);
	rmdir(c->dir);
}

static void a_renamed_binary_is_identified(void **state)
{
	struct fixture *f = *state;
	const struct python *exe = find_exe(f);
	struct copied copy;
	pid_t pid;

	if (!exe)
		return;
	copy_exe(exe, "a web (server)", &copy);
	pid = start_python(&copy.python);
	assert_int_equal(identify(f, pid), 0);
	check_python(f, exe);
	assert_non_null(strstr(f->process.file, "/a web (server)"));
	stop(pid);
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
	pid = start_python(&copy.python);
	assert_int_equal(unlink(copy.file), 0);
	assert_int_equal(identify(f, pid), 0);
	check_python(f, exe);
	copy_file("/usr/bin/sleep", copy.file);
	assert_int_equal(identify(f, pid), 0);
	check_python(f, exe);
	stop(pid);
	remove_copy(&copy);
}

/*
 * Without the capability for map_files: as nobody, on a process of nobody. A child does it, since
 * nobody cannot become root again.
 */
static int identify_as_nobody(struct fixture *f, pid_t pid)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int r = setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ? -EPERM :
										 identify(f, pid);

		if (r)
			fprintf(stderr, "# as nobody: %s\n", f->process.why);
		_exit(-r);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
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
	pid = start(&s);
	if (pid > 0) {
		/* Nothing is cached yet that a privileged look could have left. */
		elf_cache__free(f->cache);
		f->cache = elf_cache__new();
		assert_int_equal(identify_as_nobody(f, pid), 0);
		assert_int_equal(unlink(copy.file), 0);
		assert_int_equal(identify_as_nobody(f, pid), 0);
		stop(pid);
	} else {
		print_message("# skipped: nobody cannot run %s\n", copy.file);
	}
	remove_copy(&copy);
}

/* A deleted library cannot be opened by any name then: its memory is searched. */
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
	pid = start(&s);
	assert_true(pid > 0);
	assert_int_equal(unlink(copy.file), 0);
	assert_int_equal(identify_as_nobody(f, pid), 0);
	assert_int_equal(identify(f, pid), 0);
	assert_string_equal(f->process.file, copy.file);
	stop(pid);
	remove_copy(&copy);
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
		pid_t pid = strcmp(p->root, "/") ? -1 : start(&s);

		if (pid < 0)
			continue;
		assert_int_equal(identify(f, pid), 0);
		check_python(f, p);
		assert_null(strstr(f->process.file, "x.so"));
		stop(pid);
	}
}

/* 3.8 to 3.12 have no debug offsets: tables, checked against the process. */
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
		pid = start_python(&all[i]);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(identify(f, pid), 0);
			assert_true(f->process.initialised);
			assert_int_equal(f->process.source, PY_SOURCE_TABLE);
			assert_int_equal(f->process.version, f->process.offsets.version);
			py_version_format(f->process.version, version, sizeof(version));
			assert_string_equal(version, all[i].version);
		}
		stop(pid);
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
		pid = start_python(&all[i]);
		assert_int_equal(identify(f, pid), -ENOTSUP);
		assert_non_null(strstr(f->process.why, "no debug offsets; krait supports 3.8 to"));
		snprintf(version, sizeof(version), "CPython %s (", all[i].version);
		assert_non_null(strstr(f->process.why, version));
		assert_int_equal(f->process.source, PY_SOURCE_NONE);
		stop(pid);
	}
	if (!seen)
		print_message("# skipped: there is no older CPython\n");
}

static void what_is_not_python_says_what_was_inspected(void **state)
{
	struct fixture *f = *state;
	pid_t pid = start_sleep();

	assert_int_equal(identify(f, pid), -ENOEXEC);
	assert_non_null(strstr(f->process.why, "sleep and "));
	assert_non_null(strstr(f->process.why, "none holds a Python runtime"));
	assert_string_equal(f->process.comm, "sleep");
	stop(pid);
}

static void a_runtime_mapped_as_data_is_none(void **state)
{
	struct fixture *f = *state;
	const struct python *exe = find_exe(f);
	char host[1024];
	void *data;
	int fd;

	if (!exe)
		return;
	snprintf(host, sizeof(host), "%s%s", exe->root, exe->path);
	fd = open(host, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	data = mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	assert_int_equal(identify(f, getpid()), -ENOEXEC);
	munmap(data, 16 << 20);
	/* With code as well, but not where a loader puts the rest. */
	data = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_int_equal(identify(f, getpid()), -ENOEXEC);
	munmap(data, 1 << 20);
	close(fd);
}

static void no_such_process_and_kernel_threads_and_zombies(void **state)
{
	struct fixture *f = *state;
	struct proc_stat stat;
	pid_t pid;

	assert_int_equal(identify(f, 0x7ffffff0), -ESRCH);
	assert_int_equal(f->process.pid, 0x7ffffff0);
	if (!proc_stat_read(2, &stat) && stat.kernel_thread) {
		assert_int_equal(identify(f, 2), -ENOEXEC);
		assert_non_null(strstr(f->process.why, "kernel thread"));
	}
	pid = start_sleep();
	kill(pid, SIGKILL);
	while (!proc_stat_read(pid, &stat) && stat.state != 'Z')
		usleep(1000);
	assert_int_equal(identify(f, pid), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(identify(f, pid), -ESRCH);
}

/* Identified again and again, from before its exec until it is gone. */
static void a_process_that_changes_meanwhile_gets_a_documented_answer(void **state)
{
	struct fixture *f = *state;

	for (int round = 0; round < 100; round++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exec /bin/true", NULL);
			_exit(127);
		}
		do {
			int r = identify(f, pid);

			assert_true(r == -ENOEXEC || r == -ESRCH);
			assert_true(*f->process.why);
		} while (waitpid(pid, NULL, WNOHANG) != pid);
		assert_int_equal(identify(f, pid), -ESRCH);
	}
}

static void stat_is_parsed_from_the_last_parenthesis(void **state)
{
	static const char text[] = "42 (a) R 1 (b c)) S 1 2 3 4 -1 4194304 0 0 0 0 1 2 3 4 20 0 1 "
				   "0 987654321 0 0 0 94000";
	struct proc_stat stat;

	assert_int_equal(proc_stat_parse(text, sizeof(text) - 1, &stat), 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.start_ticks, 987654321);
	assert_int_equal(stat.start_code, 94000);
	assert_false(stat.kernel_thread);
	for (size_t len = 0; len < sizeof(text) - 7; len++)
		assert_int_equal(proc_stat_parse(text, len, &stat), -EINVAL);
}

struct seen {
	pid_t last, stop_at;
	int cnt;
	bool ordered;
};

static int note_process(pid_t pid, void *ctx)
{
	struct seen *s = ctx;

	s->ordered &= pid > s->last;
	s->last = pid;
	s->cnt++;
	return pid == s->stop_at ? 7 : 0;
}

static void every_process_is_visited_once_in_order(void **state)
{
	struct seen s = { .ordered = true };

	assert_int_equal(process_each(note_process, &s), 0);
	assert_true(s.ordered);
	assert_true(s.cnt > 1);
	s = (struct seen){ .stop_at = getpid(), .ordered = true };
	assert_int_equal(process_each(note_process, &s), 7);
	assert_int_equal(s.last, getpid());
}

static void our_own_name_and_start_are_read(void **state)
{
	__u64 ticks, again;
	char comm[16];

	assert_int_equal(prctl(PR_SET_NAME, "a) b (c"), 0);
	assert_int_equal(process_comm(getpid(), comm), 0);
	assert_string_equal(comm, "a) b (c");
	assert_int_equal(process_start_ticks(getpid(), &ticks), 0);
	assert_int_equal(process_start_ticks(getpid(), &again), 0);
	assert_int_equal(ticks, again);
	assert_int_equal(process_start_ticks(0x7ffffff0, &ticks), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_python_is_identified),
		cmocka_unit_test(a_runtime_in_a_library_is_identified),
		cmocka_unit_test(a_known_binary_takes_well_under_a_millisecond),
		cmocka_unit_test(a_renamed_binary_is_identified),
		cmocka_unit_test(a_deleted_or_replaced_binary_is_identified),
		cmocka_unit_test(without_privilege_own_processes_are_identified),
		cmocka_unit_test(without_privilege_a_deleted_library_is_found_in_memory),
		cmocka_unit_test(of_two_copies_the_live_one_wins),
		cmocka_unit_test(a_python_without_debug_offsets_is_identified_by_its_table),
		cmocka_unit_test(an_older_python_is_refused_by_name),
		cmocka_unit_test(what_is_not_python_says_what_was_inspected),
		cmocka_unit_test(a_runtime_mapped_as_data_is_none),
		cmocka_unit_test(no_such_process_and_kernel_threads_and_zombies),
		cmocka_unit_test(a_process_that_changes_meanwhile_gets_a_documented_answer),
		cmocka_unit_test(stat_is_parsed_from_the_last_parenthesis),
		cmocka_unit_test(every_process_is_visited_once_in_order),
		cmocka_unit_test(our_own_name_and_start_are_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
