/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_probe_pages.c - the list of a process's pages (process/probe/probe_pages.h), of this one: exact sums; what is merely
 * reserved takes no time, and what holds no page is none.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "process/probe/probe_pages.h"

#define GIB (1ULL << 30)
#define CNT 256
/* Pages that the test's own machinery may touch meanwhile: AddressSanitizer keeps a byte of shadow for 8 bytes. */
#define OTHERS (128 + 4 * CNT / 8)
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */

static struct probe_pages_head list_own(void)
{
	cleanup_close int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int fd = probe_pages_list(dir, 4);
	struct probe_pages_head head;
	struct probe_pages pages;

	assert_true(fd >= 0);
	assert_int_equal(probe_pages_read(fd, &pages), 0);
	head = pages.head;
	probe_pages_free(&pages);
	return head;
}

static char *map(__u64 size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void what_is_reserved_takes_no_time(void **state)
{
	const struct probe_pages_head before = list_own();
	const __u64 begin_ns = clock_monotonic_ns();
	char *far[4];
	struct probe_pages_head now;

	if (!before.knows_kinds)
		return;
	for (int i = 0; i < 4; i++) {
		far[i] = map(300 * GIB);
		memset(far[i] + 200 * GIB, 1, CNT * (size_t)getpagesize());
	}
	now = list_own();
	assert_int_equal(now.cut, 0);
	assert_in_range(now.private, before.private + 4 * CNT, before.private + 4 * CNT + OTHERS);
	assert_true(clock_monotonic_ns() - begin_ns < NS_PER_SEC);
	for (int i = 0; i < 4; i++)
		munmap(far[i], 300 * GIB);
}

static void pages_without_access_are_there(void **state)
{
	const size_t size = CNT * (size_t)getpagesize();
	const struct probe_pages_head before = list_own();
	char *p = map(size);

	if (!before.knows_kinds)
		return;
	memset(p, 1, size);
	mprotect(p, size, PROT_NONE);
	assert_in_range(list_own().private, before.private + CNT, before.private + CNT + OTHERS);
	munmap(p, size);
}

static void a_guard_is_no_page(void **state)
{
	const size_t size = CNT * (size_t)getpagesize();
	const struct probe_pages_head before = list_own();
	char *p = map(size);

	/* Until Linux 6.15 nothing tells it from a swapped page. */
	if (!madvise(p, size, GUARD_INSTALL))
		assert_int_equal(list_own().swapped, before.swapped);
	munmap(p, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reserved_takes_no_time),
		cmocka_unit_test(pages_without_access_are_there),
		cmocka_unit_test(a_guard_is_no_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
