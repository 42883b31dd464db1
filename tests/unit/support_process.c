/* SPDX-License-Identifier: BSD-2-Clause */
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "base/data/cleanup.h"
#include "process/memory/remote.h"
#include "process/probe/probed.h"
#include "process/proc/proc.h"
#include "python/layout/py_offsets.h"

struct remote *process_memory(pid_t pid)
{
	cleanup_close int dir = proc_open(pid);

	if (dir < 0) {
		errno = -dir;
		return NULL;
	}
	return remote__open_at(dir, false);
}

int process_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->cache = elf_cache__new();
	f->cnt = pythons_find(f->pythons, PYTHON_MAX, 13);
	if (!f->cnt)
		print_message("# skipped: there is no CPython of 3.13 or later\n");
	*state = f;
	return 0;
}

int process_teardown(void **state)
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

pid_t process_start(const struct start *s)
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

void process_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t process_start_python(const struct python *p)
{
	struct start s = { .root = p->root, .path = p->path, .code = WAIT_CODE };
	pid_t pid = process_start(&s);

	assert_true(pid > 0);
	return pid;
}

pid_t process_start_sleep(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/usr/bin/sleep", "sleep", "60", NULL);
		_exit(127);
	}
	for (;;) {
		struct proc_stat stat;
		char comm[16];

		/* Sleeping: an exec names the process before it maps the program and its libraries. */
		assert_int_equal(process_comm(pid, comm), 0);
		assert_int_equal(proc_stat_read(pid, &stat), 0);
		if (!strcmp(comm, "sleep") && stat.state == 'S')
			return pid;
		usleep(1000);
	}
}

void copy_file(const char *from, const char *to)
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

int process_identify(struct fixture *f, pid_t pid)
{
	struct py_process_fds fds;
	int r = py_process_identify_fds(pid, f->cache, &f->process, &fds);

	py_process_fds_close(&fds);
	return r;
}

void process_check_python(const struct fixture *f, const struct python *p)
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

const struct python *find_exe(const struct fixture *f)
{
	for (size_t i = 0; i < f->cnt; i++)
		if (!strcmp(f->pythons[i].kind, "exe"))
			return &f->pythons[i];
	print_message("# skipped: there is no CPython with the runtime in the executable\n");
	return NULL;
}

pid_t process_fork_waiting(uid_t real, uid_t effective)
{
	pid_t parent = getpid(), pid;
	int ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		if (real && setresuid(real, effective, effective))
			_exit(1);
		/* Changing ids clears both the dumpable flag and the parent-death signal. */
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && write(ends[1], "", 1) == 1) {
			close(ends[0]);
			close(ends[1]);
			pause();
		}
		_exit(0);
	}
	assert_true(pid > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

const struct py_process *process_ids(struct probed *p)
{
	while (!probed__ids(p, true) && probed__is_opening(p))
		;
	return probed__ids(p, false);
}

void copy_exe(const struct python *p, const char *name, struct copied *ret)
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

void remove_copy(const struct copied *c)
{
	unlink(c->file);
	rmdir(c->dir);
}

int identify_as_nobody(struct fixture *f, pid_t pid)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int r = setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ?
				-EPERM :
				process_identify(f, pid);

		if (r)
			fprintf(stderr, "# as nobody: %s\n", f->process.why);
		_exit(-r);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}
