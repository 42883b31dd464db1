/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/cleanup.h"

/* A bit of task_struct.flags, shown as field 9 (include/linux/sched.h). */
#define KERNEL_PF_KTHREAD 0x00200000

static int open_folder(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

/*
 * The folder of a thread of that process that has not ended, with all its files: /proc/TID, which no
 * list shows. Returns a descriptor and the thread's *ret; -ESRCH: there is none.
 */
static int open_other_thread(int leader, pid_t pid, struct proc_stat *ret)
{
	int task = openat(leader, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ESRCH;
	cleanup_closedir DIR *threads = task < 0 ? NULL : fdopendir(task);
	const struct dirent *entry;

	if (!threads) {
		cleanup_close_(&task);
		return -ESRCH;
	}
	while (found < 0 && (entry = readdir(threads))) {
		cleanup_close int dir = -1;
		char name[300];

		if (*entry->d_name < '0' || *entry->d_name > '9' || atoi(entry->d_name) == pid)
			continue;
		dir = open_folder(atoi(entry->d_name));
		/* While it is among the threads its number is nobody else's. */
		snprintf(name, sizeof(name), "task/%.200s", entry->d_name);
		if (dir >= 0 && !proc_stat_at(dir, ret) && !proc_has_ended(ret) &&
		    !faccessat(leader, name, F_OK, 0))
			found = take_fd(&dir);
	}
	return found;
}

int proc_open_stat(pid_t pid, struct proc_stat *ret)
{
	cleanup_close int dir = open_folder(pid);
	int err = dir < 0 ? dir : proc_stat_at(dir, ret), other;
	struct proc_stat leader;

	if (err)
		return err;
	leader = *ret;
	other = proc_has_ended(&leader) ? open_other_thread(dir, pid, ret) : -ESRCH;
	if (other < 0) {
		*ret = leader;
		return take_fd(&dir);
	}
	ret->start_ticks = leader.start_ticks;
	return other;
}

int proc_open(pid_t pid)
{
	struct proc_stat stat;

	return proc_open_stat(pid, &stat);
}

int proc_open_started(pid_t pid, __u64 start_ticks)
{
	struct proc_stat stat;
	cleanup_close int dir = proc_open_stat(pid, &stat);

	if (dir < 0)
		return dir;
	return stat.start_ticks == start_ticks ? take_fd(&dir) : -ESRCH;
}

int proc_open_leader(pid_t pid)
{
	return open_folder(pid);
}

ssize_t proc_read(int dir, const char *name, char *buf, size_t size)
{
	cleanup_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	buf[0] = '\0';
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			break;
	}
	buf[len] = '\0';
	return n < 0 && !len ? -errno : (ssize_t)len;
}

static bool next_number(const char **p, const char *end, __u64 *ret)
{
	const char *s = *p;
	__u64 value = 0;

	while (s < end && *s == ' ')
		s++;
	if (s < end && *s == '-')
		s++; /* the sign of fields that we do not use */
	if (s == end || *s < '0' || *s > '9')
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++)
		value = value * 10 + (__u64)(*s - '0');
	*p = s;
	*ret = value;
	return true;
}

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret)
{
	const char *end = text + len, *p = memrchr(text, ')', len);
	struct proc_stat stat;
	__u64 value;

	/* The name in parentheses can contain anything, including parentheses and blanks. */
	if (!p || end - p < 4 || p[1] != ' ' || p[3] != ' ')
		return -EINVAL;
	stat.state = p[2];
	p += 3;
	for (int field = 4; field <= 28; field++) {
		if (!next_number(&p, end, &value))
			return -EINVAL;
		if (field == 4)
			stat.parent = (pid_t)value;
		else if (field == 9)
			stat.kernel_thread = value & KERNEL_PF_KTHREAD;
		else if (field == 22)
			stat.start_ticks = value;
		else if (field == 26)
			stat.start_code = value;
	}
	stat.start_stack = value;
	*ret = stat;
	return 0;
}

int proc_times_parse(const char *text, size_t len, struct proc_times *ret)
{
	const char *end = text + len, *p = memrchr(text, ')', len);
	__u64 value;

	*ret = (struct proc_times){ 0 };
	if (!p || end - p < 4 || p[1] != ' ' || p[3] != ' ')
		return -EINVAL;
	p += 3;
	for (int field = 4; field <= 22; field++) {
		if (!next_number(&p, end, &value))
			return -EINVAL;
		if (field == 14 || field == 15)
			ret->cpu_ticks += value;
	}
	ret->start_ticks = value;
	return 0;
}

int proc_times_read(pid_t pid, struct proc_times *ret)
{
	cleanup_close int dir = open_folder(pid);
	char buf[1024];
	ssize_t n = dir < 0 ? dir : proc_read(dir, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : n == 0 ? -ESRCH : proc_times_parse(buf, (size_t)n, ret);
}

int proc_stat_at(int dir, struct proc_stat *ret)
{
	char buf[1024];
	ssize_t n = proc_read(dir, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : n == 0 ? -ESRCH : proc_stat_parse(buf, (size_t)n, ret);
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	cleanup_close int dir = open_folder(pid);

	return dir < 0 ? dir : proc_stat_at(dir, ret);
}

int process_start_ticks(pid_t pid, __u64 *ret)
{
	struct proc_stat stat;
	int r = proc_stat_read(pid, &stat);

	if (!r)
		*ret = stat.start_ticks;
	return r;
}

int proc_comm_at(int dir, char ret[static 16])
{
	char buf[64];
	ssize_t n = proc_read(dir, "comm", buf, sizeof(buf));

	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	if (buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	/* The kernel keeps 15 bytes; names of kernel threads can be longer here. */
	snprintf(ret, 16, "%.15s", buf);
	return 0;
}

int process_comm(pid_t pid, char ret[16])
{
	cleanup_close int dir = open_folder(pid);

	return dir < 0 ? dir : proc_comm_at(dir, ret);
}

int process_each(int (*fn)(pid_t pid, void *ctx), void *ctx)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	/* The kernel lists processes in the order of pids, each once. */
	while (!r && (errno = 0, entry = readdir(dir))) {
		const char *p = entry->d_name, *end = p + strlen(p);
		__u64 pid;

		if (*p >= '1' && *p <= '9' && next_number(&p, end, &pid) && p == end)
			r = fn((pid_t)pid, ctx);
	}
	return r ? r : -errno;
}

/* PROC_PID_INIT_INO, include/linux/proc_ns.h: the first of all pid namespaces. */
bool proc_is_init(pid_t pid)
{
	static const char first[] = "pid:[4026531836]";
	char name[32];

	return pid == 1 && readlink("/proc/self/ns/pid", name, sizeof(name)) == sizeof(first) - 1 &&
	       !memcmp(name, first, sizeof(first) - 1);
}
