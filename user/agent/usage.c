/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/usage.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "process/identify/py_process.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/resident.h"

/* Differences below this are not worth finding out whose they are. */
#define DOUBTED_NS NS_PER_MS

/*
 * CPU time of its ended children: a helper may start one per job. It counts as the helper's until
 * that ends.
 */
static __u64 cpu_of_ended(pid_t pid)
{
	unsigned long long user = 0, kernel = 0;
	cleanup_fclose FILE *f = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	/* Our helpers have no parentheses in their names. */
	if (!f ||
	    fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu",
		   &user, &kernel) != 2)
		return 0;
	return (user + kernel) * KRAIT_NS_PER_TICK;
}

/* Appends to the list. */
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
		while (f && cnt < USAGE_PROCESSES_MAX && fscanf(f, "%d", &list[cnt]) == 1)
			cnt++;
	}
	return cnt;
}

void usage_tell_apart(struct usage *usage, pid_t pid)
{
	if (usage->apart_pid == pid)
		return;
	usage->apart_past_ns = usage->apart_ns;
	usage->apart_pid = pid;
}

void usage_read(struct usage *usage)
{
	struct usage now = { .pids = { getpid() },
			     .apart_pid = usage->apart_pid,
			     .apart_past_ns = usage->apart_past_ns };
	__u64 apart_ns = 0;
	struct rusage ended;
	unsigned cnt = 1;

	if (!getrusage(RUSAGE_CHILDREN, &ended))
		now.cpu_ns =
			((__u64)ended.ru_utime.tv_sec + (__u64)ended.ru_stime.tv_sec) * NS_PER_SEC +
			((__u64)ended.ru_utime.tv_usec + (__u64)ended.ru_stime.tv_usec) * 1000;
	for (unsigned i = 0; i < cnt; i++) {
		pid_t pid = now.pids[i];

		if (process_start_ticks(pid, &now.pid_start_ticks[i]))
			now.pid_start_ticks[i] = 0;
		now.pid_ns[i] = clock_process_ns(pid);
		now.cpu_ns += now.pid_ns[i] + (i ? cpu_of_ended(pid) : 0);
		if (pid == now.apart_pid)
			apart_ns = now.pid_ns[i];
		now.rss_bytes += resident_bytes(pid);
		cnt = add_children(pid, now.pids, cnt);
	}
	now.processes = cnt;
	/* One that has ended is among the ended children, or will soon be. */
	now.apart_ns = now.apart_past_ns + apart_ns;
	if (now.apart_ns < usage->apart_ns)
		now.apart_ns = usage->apart_ns;
	now.cpu_ns -= now.apart_ns < now.cpu_ns ? now.apart_ns : now.cpu_ns;
	*usage = now;
}

/* A helper may have ended meanwhile, and another process with its pid is not krait's. */
static bool is_still_there(const struct usage *last, unsigned i)
{
	__u64 ticks;

	return !process_start_ticks(last->pids[i], &ticks) && ticks == last->pid_start_ticks[i];
}

__u64 usage_glance(const struct usage *last)
{
	__u64 ns = last->cpu_ns;

	for (unsigned i = 0; i < last->processes; i++) {
		__u64 now_ns = last->pids[i] == last->apart_pid ? 0 :
								  clock_process_ns(last->pids[i]);

		if (now_ns > last->pid_ns[i] &&
		    (now_ns - last->pid_ns[i] < DOUBTED_NS || is_still_there(last, i)))
			ns += now_ns - last->pid_ns[i];
	}
	return ns;
}
