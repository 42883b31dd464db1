/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_remote.c - another process's memory: what may be read, what does not exist, and who may not
 * read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_process.h"
#include "process/memory/remote.h"
#include "base/data/memory.h"

#define PAGE 4096
#define NOBODY 65534

static char *two_pages; /* the second one is not mapped */

static int setup(void **state)
{
	two_pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (two_pages == MAP_FAILED)
		return -1;
	memset(two_pages, 'x', PAGE);
	return munmap(two_pages + PAGE, PAGE);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int read_at(const struct remote *r, const void *addr, void *buf, size_t len)
{
	return memory_read(remote__memory(r), (__u64)(uintptr_t)addr, buf, len);
}

static void what_is_there_is_read_and_no_more(void **state)
{
	pid_t pid = process_fork_waiting(0, 0);
	struct remote *r = process_memory(pid);
	char buf[2 * PAGE];

	assert_non_null(r);
	assert_int_equal(read_at(r, two_pages, buf, PAGE), 0);
	assert_memory_equal(buf, two_pages, PAGE);
	assert_int_equal(read_at(r, two_pages + PAGE - 1, buf, 1), 0);
	assert_int_equal(read_at(r, two_pages + PAGE - 1, buf, 2), -EFAULT);
	assert_int_equal(read_at(r, two_pages, buf, 2 * PAGE), -EFAULT);
	assert_int_equal(read_at(r, NULL, buf, 1), -EFAULT);
	remote__close(r);
	end(pid);
}

static void addresses_that_nobody_has_are_not_there(void **state)
{
	struct remote *r = process_memory(getpid());
	const __u64 addrs[] = { ~0ULL, 1ULL << 63, (1ULL << 63) - 4, 0xffff800000000000ULL };
	char buf[8];

	assert_non_null(r);
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		assert_int_equal(memory_read(remote__memory(r), addrs[i], buf, sizeof(buf)),
				 -EFAULT);
	remote__close(r);
	remote__close(NULL);
}

/*
 * A descriptor opened while the process lived reports its end instead of reading the pid's next
 * process.
 */
static void a_process_that_goes_is_gone(void **state)
{
	pid_t pid = process_fork_waiting(0, 0);
	struct remote *r = process_memory(pid);
	char buf[8];

	assert_non_null(r);
	end(pid);
	assert_int_equal(read_at(r, two_pages, buf, sizeof(buf)), -ESRCH);
	remote__close(r);
	assert_null(process_memory(pid));
	assert_int_equal(errno, ESRCH);
}

static int open_as_nobody(pid_t pid)
{
	struct remote *r;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 2;
	r = process_memory(pid);
	if (r)
		return 1;
	return errno == EACCES ? 0 : 3;
}

static void who_may_not_is_told_so(void **state)
{
	pid_t target, pid;
	int status;

	if (geteuid())
		skip();
	target = process_fork_waiting(0, 0);
	pid = fork();
	if (!pid)
		_exit(open_as_nobody(target));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	end(target);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_read_and_no_more),
		cmocka_unit_test(addresses_that_nobody_has_are_not_there),
		cmocka_unit_test(a_process_that_goes_is_gone),
		cmocka_unit_test(who_may_not_is_told_so),
	};

	return cmocka_run_group_tests_name("user/process/memory/remote.c", tests, setup, NULL);
}
