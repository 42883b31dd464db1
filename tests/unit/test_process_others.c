/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_process_others.c - processes that are not Python or have ended, and what /proc says of all.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "support_roles.h"
#include "process/proc/proc.h"

static void what_is_not_python_says_what_was_inspected(void **state)
{
	struct fixture *f = *state;
	pid_t pid = process_start_sleep();

	assert_int_equal(process_identify(f, pid), -ENOEXEC);
	assert_non_null(strstr(f->process.why, "sleep and "));
	assert_non_null(strstr(f->process.why, "none holds a Python runtime"));
	assert_string_equal(f->process.comm, "sleep");
	process_stop(pid);
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
	assert_int_equal(process_identify(f, getpid()), -ENOEXEC);
	munmap(data, 16 << 20);
	/* Code as well, but not where a loader would put the rest. */
	data = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_int_equal(process_identify(f, getpid()), -ENOEXEC);
	munmap(data, 1 << 20);
	close(fd);
}

static void no_such_process_and_kernel_threads_and_zombies(void **state)
{
	struct fixture *f = *state;
	struct proc_stat stat;
	pid_t pid;

	assert_int_equal(process_identify(f, 0x7ffffff0), -ESRCH);
	assert_int_equal(f->process.pid, 0x7ffffff0);
	if (!proc_stat_read(2, &stat) && stat.kernel_thread) {
		assert_int_equal(process_identify(f, 2), -ENOEXEC);
		assert_non_null(strstr(f->process.why, "kernel thread"));
	}
	pid = process_start_sleep();
	kill(pid, SIGKILL);
	while (!proc_stat_read(pid, &stat) && stat.state != 'Z')
		usleep(1000);
	assert_int_equal(process_identify(f, pid), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(process_identify(f, pid), -ESRCH);
}

/* Identified repeatedly, from before its exec until it is gone. */
static void *go_on(void *pipe)
{
	char byte;

	while (read(*(int *)pipe, &byte, 1) < 0)
		;
	_exit(0);
}

/* Its first thread has ended, another one goes on until the pipe is closed. */
static void a_process_without_its_first_thread_is_there(void **state)
{
	static int
		fds[2]; /* not on the stack: the child's first thread ends before the other reads it */
	struct proc_stat first, stat;
	char text[64];
	int dir;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		pthread_t thread;

		close(fds[1]);
		if (pthread_create(&thread, NULL, go_on, &fds[0]))
			_exit(1);
		pthread_exit(NULL);
	}
	close(fds[0]);
	do {
		usleep(1000);
		assert_int_equal(proc_stat_read(pid, &first), 0);
	} while (first.state != 'Z');
	dir = proc_open_stat(pid, &stat);
	assert_true(dir >= 0);
	/* It may not sleep yet. */
	assert_true(stat.state == 'S' || stat.state == 'R');
	assert_int_equal(stat.start_ticks, first.start_ticks);
	assert_int_equal(stat.parent, getpid());
	assert_true(stat.start_stack); /* the first thread's is 0 */
	assert_true(proc_read(dir, "maps", text, sizeof(text)) > 0);
	close(dir);
	dir = proc_open_started(pid, first.start_ticks);
	assert_true(dir >= 0);
	assert_int_equal(proc_open_started(pid, first.start_ticks + 1), -ESRCH);
	close(fds[1]);
	do {
		usleep(1000);
	} while (proc_read(dir, "maps", text, sizeof(text)) > 0);
	close(dir);
	do { /* a thread that ends has no memory before it has ended */
		usleep(1000);
		dir = proc_open_stat(pid, &stat);
		assert_true(dir >= 0);
		close(dir);
	} while (stat.state != 'Z');
	waitpid(pid, NULL, 0);
}

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
			int r = process_identify(f, pid);

			assert_true(r == -ENOEXEC || r == -ESRCH);
			assert_true(*f->process.why);
		} while (waitpid(pid, NULL, WNOHANG) != pid);
		assert_int_equal(process_identify(f, pid), -ESRCH);
	}
}

static void stat_is_parsed_from_the_last_parenthesis(void **state)
{
	static const char text[] = "42 (a) R 1 (b c)) S 1 2 3 4 -1 4194304 0 0 0 0 1 2 3 4 20 0 1 "
				   "0 987654321 0 0 0 94000 95000 96000";
	struct proc_stat stat;

	assert_int_equal(proc_stat_parse(text, sizeof(text) - 1, &stat), 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 1);
	assert_int_equal(stat.start_ticks, 987654321);
	assert_int_equal(stat.start_code, 94000);
	assert_int_equal(stat.start_stack, 96000);
	assert_false(stat.kernel_thread);
	for (size_t len = 0; len < sizeof(text) - 7; len++)
		assert_int_equal(proc_stat_parse(text, len, &stat), -EINVAL);
}

static void times_are_of_all_threads(void **state)
{
	static const char text[] =
		"42 (a) R 1 (b c)) S 1 2 3 4 -1 4194304 0 0 0 0 11 22 3 4 20 0 1 "
		"0 987654321 0 0 0 94000";
	struct proc_times times;

	assert_int_equal(proc_times_parse(text, sizeof(text) - 1, &times), 0);
	assert_int_equal(times.cpu_ticks, 33);
	assert_int_equal(times.start_ticks, 987654321);
	for (size_t len = 0; len < 50; len++)
		assert_int_equal(proc_times_parse(text, len, &times), -EINVAL);
	assert_int_equal(proc_times_read(getpid(), &times), 0);
	assert_true(times.start_ticks > 0);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_python_says_what_was_inspected),
		cmocka_unit_test(a_runtime_mapped_as_data_is_none),
		cmocka_unit_test(no_such_process_and_kernel_threads_and_zombies),
		cmocka_unit_test(a_process_without_its_first_thread_is_there),
		cmocka_unit_test(a_process_that_changes_meanwhile_gets_a_documented_answer),
		cmocka_unit_test(stat_is_parsed_from_the_last_parenthesis),
		cmocka_unit_test(times_are_of_all_threads),
		cmocka_unit_test(every_process_is_visited_once_in_order),
		cmocka_unit_test(our_own_name_and_start_are_read),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, process_setup, process_teardown);
}
