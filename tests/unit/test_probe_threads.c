/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_threads.c - the threads of a real process: the kernel's facts about each, stacks and
 * variables of those that wait, and none of a running one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "process/probe/probe_threads.h"
#include "process/memory/remote.h"
#include "base/data/cleanup.h"

/* A thread that waits at a pipe with two variables, a running one, and the main one, asleep. */
#define CODE                                                                                       \
	"import os, threading, time\n"                                                             \
	"ends = os.pipe()\n"                                                                       \
	"def wait(number, text):\n"                                                                \
	"    os.write(1, b'.')\n"                                                                  \
	"    os.read(ends[0], 1)\n"                                                                \
	"def spin():\n"                                                                            \
	"    while True: pass\n"                                                                   \
	"t = threading.Thread(target=wait, args=(42, 'text'), daemon=True)\n"                      \
	"t.start()\n"                                                                              \
	"threading.Thread(target=spin, daemon=True).start()\n"                                     \
	"time.sleep(600)\n"

/* Seconds by which every look at the clock advances it. */
static time_t step_secs, ahead_secs;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = (int)syscall(SYS_clock_gettime, clock, ret);

	ahead_secs += step_secs;
	ret->tv_sec += ahead_secs;
	return err;
}

static struct probe_threads take(struct fixture *f, pid_t pid, bool locals, pid_t first_tid)
{
	cleanup_close int dir = proc_open(pid);
	cleanup_remote struct remote *remote = process_memory(pid);
	const struct probe_threads_ask ask = {
		.offsets = f->process.offsets,
		.runtime_addr = f->process.runtime_addr,
		.first_tid = first_tid,
		.locals = locals,
	};
	struct probe_threads l;
	cleanup_close int fd = -1;

	assert_true(dir >= 0);
	assert_non_null(remote);
	fd = probe_threads_list(dir, remote__fd(remote), &ask, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(probe_threads_read(fd, &l), 0);
	return l;
}

static const struct probe_thread *in_read(const struct probe_threads *l)
{
	for (__u32 i = 0; i < l->thread_cnt; i++)
		if (l->threads[i].flags & PROBE_THREAD_HELD && l->threads[i].syscall == SYS_read)
			return &l->threads[i];
	return NULL;
}

/* It waits at its pipe, with a stack of four functions and the first one's variables. */
static void check_waiting(const struct probe_threads *l, const struct probe_thread *t)
{
	unsigned functions = 0, found = 0;

	assert_int_equal(t->state, 'S');
	assert_int_equal(t->file_mode, S_IFIFO);
	assert_int_equal(t->ns_tid, t->tid);
	assert_true(t->runs > 0);
	assert_int_equal(t->reason, REASON_PYTHON);
	for (__u32 i = 0; i < t->frame_cnt; i++)
		functions += l->frames[t->first_frame + i].code_addr != 0;
	assert_int_equal(functions, 4); /* wait, run, _bootstrap_inner, _bootstrap */
	for (__u32 i = 0; i < l->local_cnt; i++) {
		const struct probe_local *v = &l->locals[i];

		if (v->frame != t->first_frame)
			continue;
		found += (!strcmp(l->texts + v->name, "number") &&
			  !strcmp(l->texts + v->value, "42")) ||
			 (!strcmp(l->texts + v->name, "text") &&
			  !strcmp(l->texts + v->value, "'text'"));
		assert_false(v->changed);
	}
	assert_int_equal(found, 2);
}

static void each_thread_is_what_it_is(void **state)
{
	struct fixture *f = *state;

	if (!f->cnt)
		skip();
	for (size_t i = 0; i < f->cnt; i++) {
		const struct start s = { f->pythons[i].root, f->pythons[i].path, CODE, NULL, 0 };
		pid_t pid = process_start(&s);
		const struct probe_thread *waiting = NULL;
		struct probe_threads l;

		assert_true(pid > 0);
		assert_int_equal(process_identify(f, pid), 0);
		/* It gets there sooner or later, even on a busy machine. */
		for (int n = 0; n < 500 && !waiting; n++) {
			usleep(20000);
			l = take(f, pid, true, 0);
			waiting = l.thread_cnt == 3 ? in_read(&l) : NULL;
			if (!waiting)
				probe_threads_free(&l);
		}
		assert_non_null(waiting);
		check_waiting(&l, waiting);
		assert_int_equal(l.threads[0].tid, pid);
		assert_int_equal(l.next_tid, 0);
		probe_threads_free(&l);
		l = take(f, pid, false, pid + 1);
		assert_int_equal(l.thread_cnt, 2);
		assert_int_equal(l.local_cnt, 0);
		probe_threads_free(&l);
		process_stop(pid);
	}
}

static void without_python_the_kernels_part_is_there(void **state)
{
	struct fixture *f = *state;
	pid_t pid = process_start_sleep();
	struct probe_threads l;

	memset(&f->process, 0, sizeof(f->process));
	l = take(f, pid, true, 0);
	assert_int_equal(l.thread_cnt, 1);
	assert_int_equal(l.frame_cnt, 0);
	assert_false(l.threads[0].flags & PROBE_THREAD_PYTHON);
	assert_true(l.threads[0].comm[0]);
	probe_threads_free(&l);
	process_stop(pid);
}

static void *wait_for_end(void *end)
{
	char byte;

	return read(*(int *)end, &byte, 1) ? NULL : end;
}

/* Else a busy machine, or one that has deep stacks to read, would seem to hang. */
static void a_list_that_takes_long_is_continued(void **state)
{
	enum { THREADS = 4 };
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	unsigned lists = 0, cnt = 0;
	pid_t next_tid = 0;
	int ends[2];

	memset(&f->process, 0, sizeof(f->process));
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_end, &ends[0]), 0);
	step_secs = 2;
	do {
		struct probe_threads l = take(f, getpid(), false, next_tid);

		assert_int_equal(l.thread_cnt, 1);
		next_tid = l.next_tid;
		cnt += l.thread_cnt;
		lists++;
		probe_threads_free(&l);
	} while (next_tid);
	step_secs = 0;
	assert_int_equal(lists, THREADS + 1);
	assert_int_equal(cnt, THREADS + 1);
	close(ends[1]);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	close(ends[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_is_what_it_is),
		cmocka_unit_test(without_python_the_kernels_part_is_there),
		cmocka_unit_test(a_list_that_takes_long_is_continued),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
