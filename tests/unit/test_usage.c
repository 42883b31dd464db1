/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/types.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/usage.h"
#include "base/system/clock.h"

#define BURNT_NS (NS_PER_SEC / 5)

static void burn(void)
{
	struct timespec used = { 0 };

	while (!used.tv_sec && used.tv_nsec < (long)BURNT_NS)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
}

/* Starts a helper whose own child has worked and ended; the helper lives until killed. */
static pid_t begin_helper(void)
{
	int pipes[2], status;
	char byte = 0;
	pid_t pid, child;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		child = fork();
		if (!child) {
			burn();
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (write(pipes[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

static void what_a_helpers_children_used_counts(void **state)
{
	struct usage before = { 0 }, during = { 0 }, after = { 0 };
	pid_t helper;
	int status;

	usage_read(&before);
	helper = begin_helper();
	usage_read(&during);
	assert_int_equal(during.processes, before.processes + 1);
	/* /proc has hundredths of a second. */
	assert_true(during.cpu_ns >= before.cpu_ns + BURNT_NS - NS_PER_SEC / 50);
	/* Once the helper has ended as well, its time is its starter's and counts once. */
	kill(helper, SIGKILL);
	waitpid(helper, &status, 0);
	usage_read(&after);
	assert_true(after.cpu_ns >= before.cpu_ns + BURNT_NS - NS_PER_SEC / 50);
	assert_true(after.cpu_ns <= before.cpu_ns + 2 * BURNT_NS - NS_PER_SEC / 50);
}

/* Starts a helper that works for ever. */
static pid_t begin_burner(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (!pid)
		burn();
	return pid;
}

static __u64 cpu_ns_of(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (__u64)used.tv_sec * NS_PER_SEC + (__u64)used.tv_nsec;
}

/* A process that got an ended helper's pid may use any amount: that is not krait's cost. */
static void a_glance_counts_helpers_and_nobody_else(void **state)
{
	struct usage last = { 0 };
	pid_t helper = begin_burner();
	unsigned i = 0;
	int status;

	usage_read(&last);
	while (i < last.processes && last.pids[i] != helper)
		i++;
	assert_true(i < last.processes);
	while (cpu_ns_of(helper) < last.pid_ns[i] + BURNT_NS)
		usleep(1000);
	assert_true(usage_glance(&last) >= last.cpu_ns + BURNT_NS);
	/* As if another process had begun there since. */
	last.pid_start_ticks[i]--;
	assert_true(usage_glance(&last) < last.cpu_ns + BURNT_NS);
	kill(helper, SIGKILL);
	waitpid(helper, &status, 0);
}

static void wait_for_ns(pid_t pid, __u64 ns)
{
	while (cpu_ns_of(pid) < ns)
		usleep(1000);
}

/* Whatever the one that is told apart uses, alive, ended, or another one after it. */
static void what_is_told_apart_is_not_in_the_sum(void **state)
{
	struct usage u = { 0 };
	__u64 before_ns, first_ns;
	pid_t helper;
	int status;

	usage_read(&u);
	before_ns = u.cpu_ns;
	for (unsigned round = 1; round <= 2; round++) {
		helper = begin_burner();
		usage_tell_apart(&u, helper);
		usage_read(&u);
		first_ns = u.cpu_ns;
		wait_for_ns(helper, BURNT_NS);
		assert_true(usage_glance(&u) < first_ns + BURNT_NS / 2);
		kill(helper, SIGSTOP);
		usage_read(&u);
		assert_true(u.apart_ns >= round * BURNT_NS);
		kill(helper, SIGKILL);
		waitpid(helper, &status, 0);
		usage_read(&u);
		assert_true(u.apart_ns >= round * BURNT_NS);
	}
	assert_true(u.cpu_ns < before_ns + BURNT_NS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_helpers_children_used_counts),
		cmocka_unit_test(a_glance_counts_helpers_and_nobody_else),
		cmocka_unit_test(what_is_told_apart_is_not_in_the_sum),
	};

	return cmocka_run_group_tests_name("agent/usage", tests, NULL, NULL);
}
