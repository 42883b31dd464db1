/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mmap_events.c - perf's records of mappings while CPUs go offline and online.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "kernel/sampler/cpus.h"
#include "kernel/sampler/mmap_events.h"

/* What the kernel says to events of that CPU; 0: what it likes. */
static int refused_cpu, refusal;

/* Instead of glibc's. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open && refusal && (int)args[2] == refused_cpu) {
		errno = refusal;
		return -1;
	}
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

struct seen {
	unsigned own, lost;
};

static void note(void *ctx, pid_t pid)
{
	struct seen *seen = ctx;

	seen->own += pid == getpid();
	seen->lost += !pid;
}

static struct seen read_all(struct mmap_events *e)
{
	struct seen seen = { 0 };

	mmap_events__read(e, note, &seen);
	return seen;
}

/* Maps code on that CPU. */
static void map_on(int cpu)
{
	cpu_set_t set, before;
	void *at;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(at != MAP_FAILED);
	munmap(at, 4096);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Others map code, too, and fill a ring while we have no CPU. Then krait says that it has lost some, and we try again. */
#define TRIES 100

static bool is_heard(struct mmap_events *e, int cpu)
{
	for (int i = 0; i < TRIES; i++) {
		struct seen seen;

		map_on(cpu);
		seen = read_all(e);
		if (seen.own || !seen.lost)
			return seen.own > 0;
	}
	return false;
}

/* Tells whether nothing is lost any more. */
static bool is_whole(struct mmap_events *e)
{
	for (int i = 0; i < TRIES; i++) {
		if (!read_all(e).lost)
			return true;
	}
	return false;
}

/* What is mapped on that CPU is seen, and a look at an unchanged list changes nothing. */
static void assert_heard(struct mmap_events *e, int cpu)
{
	assert_true(is_heard(e, cpu));
	assert_true(is_whole(e));
	mmap_events__follow_cpus(e);
	assert_true(is_whole(e));
}

static void cpus_that_come_and_go_are_followed(void **state)
{
	struct mmap_events *e = mmap_events__new();
	int cpus[CPUS_MAX], cnt;
	char text[CPU_LIST_MAX];

	cnt = cpus_online(text, cpus, CPUS_MAX);
	if (!e && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip();
	assert_non_null(e);
	if (cnt < 2) {
		mmap_events__free(e);
		skip();
	}
	read_all(e);
	assert_true(is_heard(e, cpus[1]));
	/* The CPU goes offline: events there are missed, and none are reported. */
	mmap_events__set_cpus(e, cpus, 1);
	assert_true(read_all(e).lost > 0);
	map_on(cpus[1]);
	assert_int_equal(read_all(e).own, 0);
	assert_true(is_whole(e));
	assert_true(is_heard(e, cpus[0]));
	/* It is back: anything may have been mapped meanwhile, and later events are seen. */
	mmap_events__set_cpus(e, cpus, cnt);
	assert_true(read_all(e).lost > 0);
	assert_heard(e, cpus[1]);
	mmap_events__free(e);
}

/* The kernel says so only with the next record. */
static void a_full_ring_may_have_lost_some(void **state)
{
	struct mmap_events *e = mmap_events__new();
	int cpus[CPUS_MAX];
	char text[CPU_LIST_MAX];

	if (!e && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip();
	assert_non_null(e);
	assert_true(cpus_online(text, cpus, CPUS_MAX) > 0);
	read_all(e);
	for (int i = 0; i < 1000; i++)
		map_on(cpus[0]);
	assert_true(read_all(e).lost > 0);
	mmap_events__free(e);
}

/* As long as one CPU's records cannot be had, any process may have mapped something. */
static void a_cpu_without_records_is_no_silence(void **state)
{
	struct mmap_events *e = mmap_events__new();
	int cpus[CPUS_MAX + 1], cnt;
	char text[CPU_LIST_MAX];

	if (!e && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip();
	assert_non_null(e);
	cnt = cpus_online(text, cpus, CPUS_MAX);
	assert_true(cnt > 0);
	read_all(e);
	cpus[cnt] = 1 << 20;
	mmap_events__set_cpus(e, cpus, cnt + 1);
	for (int i = 0; i < 3; i++)
		assert_true(read_all(e).lost > 0);
	mmap_events__set_cpus(e, cpus, cnt);
	assert_true(is_whole(e));
	mmap_events__free(e);
}

/*
 * A CPU that is just coming online is in the list before it can have its event; later, nothing else changes there.
 */
static void a_cpu_that_cannot_have_its_event_yet_gets_it_later(void **state)
{
	static const int errors[] = { ENODEV, EMFILE };
	struct mmap_events *e = mmap_events__new();
	int cpus[CPUS_MAX], cnt;
	char text[CPU_LIST_MAX];

	if (!e && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip();
	assert_non_null(e);
	cnt = cpus_online(text, cpus, CPUS_MAX);
	if (cnt < 2) {
		mmap_events__free(e);
		skip();
	}
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		mmap_events__set_cpus(e, cpus, 1);
		refused_cpu = cpus[1];
		refusal = errors[i];
		mmap_events__set_cpus(e, cpus, cnt);
		/* As long as it has none, what it maps may be lost. */
		for (int look = 0; look < 3; look++) {
			assert_true(read_all(e).lost > 0);
			map_on(cpus[1]);
			assert_int_equal(read_all(e).own, 0);
			mmap_events__follow_cpus(e);
		}
		refusal = 0;
		mmap_events__follow_cpus(e);
		assert_true(read_all(e).lost > 0);
		assert_heard(e, cpus[1]);
	}
	mmap_events__free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_that_come_and_go_are_followed),
		cmocka_unit_test(a_full_ring_may_have_lost_some),
		cmocka_unit_test(a_cpu_without_records_is_no_silence),
		cmocka_unit_test(a_cpu_that_cannot_have_its_event_yet_gets_it_later),
	};

	return cmocka_run_group_tests_name("kernel/sampler/mmap_events", tests, NULL, NULL);
}
