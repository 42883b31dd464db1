/* SPDX-License-Identifier: BSD-2-Clause */
/* The opener gives memory of processes that its user may look at, and of no others, whatever it is sent. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support_folder.h"
#include "process/memory/opener.h"
#include "process/memory/remote.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"
#include "base/worker/role.h"

#define USER 61001
#define OTHER 61002
#define SECRET 0x5ec2e7ULL

static volatile __u64 word;
static pid_t opener, targets[8];
static int target_cnt;
static char folder[TEST_FOLDER_MAX];

static void become(uid_t uid)
{
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(1);
}

/* A process that sleeps, with a word of its own. Returns its folder. */
static int target(uid_t uid, bool dumpable, pid_t *ret_pid)
{
	int ready[2], dir;
	char path[32], byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		word = SECRET + uid;
		if (uid)
			become(uid);
		prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	targets[target_cnt++] = pid;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	*ret_pid = pid;
	return dir;
}

static int begin(void **state)
{
	int fds[2];

	if (geteuid() || fcntl(ROLE_OPENER_FD, F_GETFD) >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		return -1;
	opener = fork();
	if (!opener) {
		close(fds[0]);
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		become(USER);
		if (rights_keep_and_permit(0, RIGHTS_BIT(CAP_SYS_PTRACE)) || rights_effective())
			_exit(1);
		_exit(opener_serve(fds[1]));
	}
	close(fds[1]);
	if (fds[0] != ROLE_OPENER_FD) {
		dup2(fds[0], ROLE_OPENER_FD);
		close(fds[0]);
	}
	return 0;
}

static int end(void **state)
{
	if (!opener)
		return 0;
	/* They have the descriptor, too. */
	while (target_cnt) {
		kill(targets[--target_cnt], SIGKILL);
		waitpid(targets[target_cnt], NULL, 0);
	}
	close(ROLE_OPENER_FD);
	waitpid(opener, NULL, 0);
	if (*folder)
		test_folder_remove(folder);
	*folder = '\0';
	opener = 0;
	return 0;
}

static void assert_refused(int dir, pid_t tid)
{
	char text[256];
	int fd = opener_memory(dir);

	assert_int_equal(fd, -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(opener_syscall(dir, tid, text, sizeof(text)), -EACCES);
	close(dir);
}

static void gives_the_user_s_own_for_reading(void **state)
{
	char text[256], task[48];
	__u64 value = 0;
	pid_t pid;
	int dir, fd;

	if (!opener)
		return;
	dir = target(USER, true, &pid);
	fd = opener_memory(dir);
	assert_true(fd >= 0);
	assert_int_equal(remote_read_fd(fd, (uintptr_t)&word, &value, sizeof(value)), 0);
	assert_int_equal(value, SECRET + USER);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(opener_syscall(dir, pid, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "0x"));
	assert_int_equal(opener_syscall(dir, pid + 1, text, sizeof(text)), -ENOENT);
	/* What it has executed since then, or its end, is not in the memory of before. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	target_cnt--;
	assert_int_equal(remote_read_fd(fd, (uintptr_t)&word, &value, sizeof(value)), -ESRCH);
	assert_int_equal(opener_memory(dir), -1);
	close(fd);
	close(dir);
	dir = target(USER, true, &pid);
	snprintf(task, sizeof(task), "task/%d", (int)pid);
	fd = openat(dir, task, O_RDONLY | O_DIRECTORY);
	close(dir);
	dir = fd;
	fd = opener_memory(dir);
	assert_true(fd >= 0);
	close(fd);
	close(dir);
}

static void refuses_others(void **state)
{
	pid_t pid;
	int dir;

	if (!opener)
		return;
	dir = target(OTHER, true, &pid);
	assert_refused(dir, pid);
	dir = target(0, true, &pid);
	assert_refused(dir, pid);
	dir = target(USER, false, &pid);
	assert_refused(dir, pid);
	/* Its own: it has a right that the user has not. */
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)opener);
	assert_refused(open(path, O_RDONLY | O_DIRECTORY), opener);
}

static void *keep_rights(void *ctx)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !syscall(SYS_setresgid, USER, USER, USER) &&
	    !syscall(SYS_setresuid, USER, USER, USER) &&
	    write(*(int *)ctx, &tid, sizeof(tid)) == sizeof(tid))
		pause();
	return NULL;
}

/* Of a process of the user's that has a thread with root's capabilities. */
static void refuses_threads_with_more_rights(void **state)
{
	int began[2], ready[2], dir;
	char path[32], text[256];
	pthread_t thread;
	pid_t pid, tid;

	if (!opener)
		return;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (pipe(began) || pthread_create(&thread, NULL, keep_rights, &began[1]) ||
		    read(began[0], &tid, sizeof(tid)) != sizeof(tid))
			_exit(1);
		/* Not by the C library, which changes all threads. */
		if (syscall(SYS_setresgid, USER, USER, USER) ||
		    syscall(SYS_setresuid, USER, USER, USER))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		if (write(ready[1], &tid, sizeof(tid)) == sizeof(tid))
			pause();
		_exit(0);
	}
	targets[target_cnt++] = pid;
	close(ready[1]);
	assert_int_equal(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(opener_syscall(dir, pid, text, sizeof(text)) > 0);
	assert_int_equal(opener_syscall(dir, tid, text, sizeof(text)), -EACCES);
	close(dir);
}

/* Maps of one process and memory of another, and all of it in a folder that is none of /proc's. */
static void refuses_what_only_looks_like_a_process(void **state)
{
	char path[TEST_FOLDER_MAX + 8], to[64];
	pid_t own, other;
	int dir;

	if (!opener)
		return;
	close(target(USER, true, &own));
	close(target(OTHER, true, &other));
	test_folder_make(folder);
	chmod(folder, 0755);
	snprintf(path, sizeof(path), "%s/maps", folder);
	snprintf(to, sizeof(to), "/proc/%d/maps", (int)own);
	assert_int_equal(symlink(to, path), 0);
	snprintf(path, sizeof(path), "%s/mem", folder);
	snprintf(to, sizeof(to), "/proc/%d/mem", (int)other);
	assert_int_equal(symlink(to, path), 0);
	assert_refused(open(folder, O_RDONLY | O_DIRECTORY), own);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)own);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	assert_refused(dir, own);
	assert_refused(open("/proc", O_RDONLY | O_DIRECTORY), own);
}

/* Short and long messages, too few and too many descriptors: the opener goes on. */
static void outlives_nonsense(void **state)
{
	const int fds[CHANNEL_FDS_MAX] = { 0 };
	char text[9000] = "";
	pid_t pid;
	int dir, fd;

	if (!opener)
		return;
	for (size_t len = 1; len <= sizeof(text); len = len * 3 + 1)
		assert_int_equal(send(ROLE_OPENER_FD, text, len, 0), (ssize_t)len);
	/* As long as a request, with another number of descriptors. */
	for (unsigned cnt = 0; cnt <= CHANNEL_FDS_MAX; cnt++)
		if (cnt != 2)
			assert_int_equal(
				channel_send(ROLE_OPENER_FD, text, sizeof(pid_t), fds, cnt), 0);
	dir = target(USER, true, &pid);
	fd = opener_memory(dir);
	assert_true(fd >= 0);
	close(fd);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gives_the_user_s_own_for_reading, begin, end),
		cmocka_unit_test_setup_teardown(refuses_others, begin, end),
		cmocka_unit_test_setup_teardown(refuses_threads_with_more_rights, begin, end),
		cmocka_unit_test_setup_teardown(refuses_what_only_looks_like_a_process, begin, end),
		cmocka_unit_test_setup_teardown(outlives_nonsense, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
