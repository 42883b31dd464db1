/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/resident.h"

/* Probers, parser, exporter, server: krait has some ten at most. */
#define PROCESSES_MAX 64U

static __u64 ns_of(struct timespec ts)
{
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

static __u64 cpu_of(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return ns_of(ts);
}

/* Behind those that are in the list already. */
static unsigned add_children(pid_t pid, pid_t *list, unsigned cnt)
{
	cleanup_closedir DIR *d = NULL;
	char path[320];
	struct dirent *thread;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (thread = readdir(d))) {
		cleanup_fclose FILE *f = NULL;

		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, thread->d_name);
		f = fopen(path, "re");
		while (f && cnt < PROCESSES_MAX && fscanf(f, "%d", &list[cnt]) == 1)
			cnt++;
	}
	return cnt;
}

void usage_read(struct usage *ret)
{
	pid_t list[PROCESSES_MAX] = { getpid() };
	struct rusage ended;
	unsigned cnt = 1;

	*ret = (struct usage){ 0 };
	if (!getrusage(RUSAGE_CHILDREN, &ended))
		ret->cpu_ns =
			((__u64)ended.ru_utime.tv_sec + (__u64)ended.ru_stime.tv_sec) * NS_PER_SEC +
			((__u64)ended.ru_utime.tv_usec + (__u64)ended.ru_stime.tv_usec) * 1000;
	for (unsigned i = 0; i < cnt; i++) {
		ret->cpu_ns += cpu_of(list[i]);
		ret->rss_bytes += resident_bytes(list[i]);
		cnt = add_children(list[i], list, cnt);
	}
	ret->processes = cnt;
}
