/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_proc_ids.c - user/process/proc/proc_ids.c: whose a process is, and who pays for it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"
#include "process/proc/proc.h"

/* A child that says when it is ready, and sleeps until its parent ends it. */
static pid_t start(int (*be)(void))
{
	int fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = be() ? 'n' : 'y';
		(void)!write(fds[1], &byte, 1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	if (byte == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int nothing(void)
{
	return 0;
}

static int undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int user_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int mount_namespace(void)
{
	return unshare(CLONE_NEWNS);
}

static void a_child_is_like_us(void **state)
{
	pid_t pid = start(nothing);
	cleanup_close int dir = proc_open(pid);
	struct proc_ids ids, again;

	assert_int_equal(proc_ids_at(dir, &ids), 0);
	assert_int_equal(ids.uid, getuid());
	assert_int_equal(ids.fsgid, getegid());
	assert_int_equal(proc_ids_at(dir, &again), 0);
	assert_true(ids.digest && ids.digest == again.digest);
	assert_true(proc_shares_mounts(dir) && proc_shares_users(dir) && proc_has_our_root(dir));
	assert_true(proc_is_dumpable(dir, geteuid()));
	assert_int_equal(proc_owner(pid), geteuid());
	end(pid);
	assert_true(proc_ids_at(dir, &ids) < 0);
	assert_int_equal(proc_owner(pid), 0);
}

static void who_may_not_be_traced_looks_like_roots(void **state)
{
	pid_t pid = start(undumpable);
	cleanup_close int dir = proc_open(pid);

	assert_true(proc_is_dumpable(dir, geteuid()) == !geteuid());
	assert_int_equal(proc_owner(pid), geteuid());
	end(pid);
}

static void namespaces_differ(void **state)
{
	pid_t pid = start(mount_namespace);
	cleanup_close int dir = pid ? proc_open(pid) : -1;

	if (!pid)
		return; /* not root */
	assert_false(proc_shares_mounts(dir) || proc_has_our_root(dir));
	assert_true(proc_shares_users(dir));
	end(pid);
}

#define MAPPED 61234

/* Root makes namespaces for others: the first of whom is in it pays. */
static void a_user_namespace_of_roots_is_whose_it_is_for(void **state)
{
	pid_t pid = geteuid() ? 0 : start(user_namespace);
	cleanup_close int dir = pid ? proc_open(pid) : -1;
	char path[64];
	FILE *f;

	if (!pid)
		return; /* not root, or there are none */
	assert_false(proc_shares_users(dir));
	assert_int_equal(proc_payer_at(dir, 4711), 4711); /* nobody is */
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "0 %d 1\n", MAPPED);
	if (!fclose(f))
		assert_int_equal(proc_payer_at(dir, 4711), MAPPED);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_like_us),
		cmocka_unit_test(who_may_not_be_traced_looks_like_roots),
		cmocka_unit_test(namespaces_differ),
		cmocka_unit_test(a_user_namespace_of_roots_is_whose_it_is_for),
	};

	return cmocka_run_group_tests_name("process/proc/proc_ids", tests, NULL, NULL);
}
