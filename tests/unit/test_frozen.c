/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_frozen.c - all threads of a process stand still while the function runs, and resume however
 * it ends; a thread in uninterruptible sleep is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/memory/frozen.h"
#include "process/proc/proc.h"

#define THREADS 20

/* Counters in memory that the test sees. */
struct counts {
	volatile unsigned long cnt[THREADS];
	volatile int signals;
};

static struct counts *counts;

static void *count(void *arg)
{
	volatile unsigned long *cnt = arg;

	for (;;)
		(*cnt)++;
	return NULL;
}

static void on_signal(int number)
{
	counts->signals++;
}

static void *work(void *arg)
{
	volatile unsigned long *cnt = arg;

	for (;;) {
		(*cnt)++;
		usleep(100);
	}
	return NULL;
}

/* With short-lived threads: the first one is new each time. */
static _Noreturn void be_busy(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 1; i < THREADS; i++) {
		pthread_t t;

		pthread_create(&t, NULL, i == 1 ? count : work, (void *)&counts->cnt[i]);
	}
	for (;;) {
		counts->cnt[0]++;
		usleep(100);
	}
}

/* Waits uninterruptibly for a vfork() child that shares its memory and sleeps. */
static _Noreturn void be_stuck(void)
{
	if (!vfork()) {
		/* The child of vfork() may call almost nothing. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		counts->cnt[0] = (unsigned long)getpid();
		usleep(60 * 1000000);
		_exit(0);
	}
	pause();
	_exit(0);
}

static pid_t start(void (*fn)(void))
{
	pid_t pid;

	memset((void *)counts, 0, sizeof(*counts));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
	}
	for (int i = 0; i < 5000 && !counts->cnt[0]; i++)
		usleep(1000);
	assert_true(counts->cnt[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned long sum(void)
{
	unsigned long all = 0;

	for (int i = 0; i < THREADS; i++)
		all += counts->cnt[i];
	return all;
}

struct seen {
	__u32 threads, stopped;
	bool moved;
	pid_t child;
};

static int run(int dir, frozen_fn fn, const void *ctx, void *shared, size_t size, __u64 *ret_ns)
{
	const struct frozen_call call = {
		.dir = dir,
		.fn = fn,
		.ctx = ctx,
		.shared = shared,
		.size = size,
		.limit_ns = 1000000000,
	};

	return frozen_run(&call, ret_ns);
}

static int look(const void *ctx, const struct frozen *f, void *shared)
{
	struct seen *seen = shared;
	unsigned long before = sum();

	seen->threads = f->cnt;
	for (__u32 i = 0; i < f->cnt; i++)
		seen->stopped += frozen__has_stopped(f, f->threads[i].tid);
	usleep(20000);
	seen->moved = sum() != before;
	return *(const int *)ctx;
}

/* Checks that each thread has moved again. */
static void assert_goes_on(void)
{
	unsigned long before[THREADS];

	for (int i = 0; i < THREADS; i++)
		before[i] = counts->cnt[i];
	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < 5000 && counts->cnt[i] == before[i]; k++)
			usleep(1000);
		assert_true(counts->cnt[i] != before[i]);
	}
}

static void all_stand_still_and_go_on(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid), wanted = 0;
	__u64 ns;

	assert_goes_on();
	for (int i = 0; i < 20; i++) {
		struct seen seen = { 0 };

		wanted = i % 2 ? -ENOENT : 0;
		assert_int_equal(run(dir, look, &wanted, &seen, sizeof(seen), &ns), wanted);
		assert_int_equal(seen.threads, THREADS);
		assert_int_equal(seen.stopped, THREADS);
		assert_false(seen.moved);
		assert_in_range(ns, 20000000, 3000000000);
	}
	assert_goes_on();
	close(dir);
	end(pid);
}

/* The stopping process is killed: the kernel resumes the threads. */
static int die(const void *ctx, const struct frozen *f, void *shared)
{
	raise(SIGKILL);
	return 0;
}

static int hang(const void *ctx, const struct frozen *f, void *shared)
{
	for (;;)
		pause();
	return 0;
}

static void it_goes_on_when_its_tracer_dies(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid);
	char none;
	__u64 ns;

	assert_goes_on();
	assert_int_equal(run(dir, die, &none, &none, 1, &ns), -EIO);
	assert_goes_on();
	assert_int_equal(run(dir, hang, &none, &none, 1, &ns), -ETIMEDOUT);
	assert_goes_on();
	close(dir);
	end(pid);
}

static int change_and_hang(const void *ctx, const struct frozen *f, void *shared)
{
	*(char *)shared = 'x';
	return hang(ctx, f, shared);
}

/*
 * A reader that uses no CPU most probably waits for memory; the process must not stand still for
 * that until the limit.
 */
static void it_goes_on_when_its_reader_hangs(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid);
	char none = 'o';
	const struct frozen_call call = { .dir = dir,
					  .fn = change_and_hang,
					  .ctx = &none,
					  .shared = &none,
					  .size = 1,
					  .limit_ns = 60000000000 };
	__u64 ns;

	assert_goes_on();
	assert_int_equal(frozen_run(&call, &ns), -ETIMEDOUT);
	assert_in_range(ns, 1000000000, 10000000000);
	/* The caller must not get incomplete results. */
	assert_int_equal(none, 'o');
	assert_goes_on();
	close(dir);
	end(pid);
}

/* A signal that arrives during the stop, or that causes it, is not lost. */
static int send_signal(const void *ctx, const struct frozen *f, void *shared)
{
	kill(*(const pid_t *)ctx, SIGUSR1);
	return 0;
}

static void no_signal_is_lost(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid), cnt = 0;
	__u64 ns;
	char none;

	assert_goes_on();
	for (int i = 0; i < 50; i++) {
		int before = counts->signals;

		/* One right before the stop and one during it: they may merge, but none may vanish. */
		kill(pid, SIGUSR1);
		assert_int_equal(run(dir, send_signal, &pid, &none, 1, &ns), 0);
		for (int k = 0; k < 5000 && counts->signals == before; k++)
			usleep(1000);
		cnt += counts->signals != before;
	}
	assert_int_equal(cnt, 50);
	close(dir);
	end(pid);
}

static void one_that_cannot_be_stopped_is_said(void **state)
{
	pid_t pid = start(be_stuck);
	int dir = proc_open(pid), wanted = 0;
	struct seen seen = { 0 };
	pid_t child = (pid_t)counts->cnt[0];
	char text[1024];
	__u64 ns;

	usleep(20000);
	assert_int_equal(run(dir, look, &wanted, &seen, sizeof(seen), &ns), 0);
	assert_int_equal(seen.threads, 1);
	assert_int_equal(seen.stopped, 0);
	/* It also does not stop later, when it wakes up. */
	kill(child, SIGKILL);
	for (int i = 0; i < 5000; i++) {
		assert_true(proc_read(dir, "stat", text, sizeof(text)) > 0);
		if (strstr(text, ") S "))
			break;
		usleep(1000);
	}
	assert_non_null(strstr(text, ") S "));
	close(dir);
	end(pid);
}

static void who_is_traced_already_is_refused(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid), wanted = 0;
	struct seen seen = { 0 };
	__u64 ns;

	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(run(dir, look, &wanted, &seen, sizeof(seen), &ns), -EPERM);
	assert_goes_on();
	close(dir);
	end(pid);
}

static void one_that_has_gone(void **state)
{
	pid_t pid = start(be_busy);
	int dir = proc_open(pid), wanted = 0;
	struct seen seen = { 0 };
	__u64 ns;

	end(pid);
	assert_int_equal(run(dir, look, &wanted, &seen, sizeof(seen), &ns), -ESRCH);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_stand_still_and_go_on),
		cmocka_unit_test(it_goes_on_when_its_tracer_dies),
		cmocka_unit_test(it_goes_on_when_its_reader_hangs),
		cmocka_unit_test(no_signal_is_lost),
		cmocka_unit_test(one_that_cannot_be_stopped_is_said),
		cmocka_unit_test(who_is_traced_already_is_refused),
		cmocka_unit_test(one_that_has_gone),
	};

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(counts != MAP_FAILED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
