/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - the current time on the clock that krait's kernel programs use for records.
 */
#ifndef KRAIT_BASE_SYSTEM_CLOCK_H
#define KRAIT_BASE_SYSTEM_CLOCK_H

#include <linux/types.h>
#include <sys/types.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS 1000000ULL

/* CLOCK_MONOTONIC, like bpf_ktime_get_ns(). */
static inline __u64 clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

/* CPU time of a process's threads so far; 0: unknown. */
static inline __u64 clock_process_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

/* Returns what to add to clock_monotonic_ns() at present to get nanoseconds since 1970. */
static inline __s64 clock_wall_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (__s64)ts.tv_sec * (__s64)NS_PER_SEC + ts.tv_nsec - (__s64)clock_monotonic_ns();
}

#endif /* KRAIT_BASE_SYSTEM_CLOCK_H */
