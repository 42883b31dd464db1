/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target/process.h"
#include "util/cleanup.h"

/* Of task_struct.flags, shown as field 9 (include/linux/sched.h). */
#define KERNEL_PF_KTHREAD 0x00200000

/* Reads /proc/PID/name whole, as a string. The length, -ESRCH, or -errno. */
static ssize_t read_file(pid_t pid, const char *name, char *buf, size_t size)
{
	cleanup_close int fd = -1;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, buf, size - 1);
	if (n <= 0)
		return n == 0 ? -ESRCH : -errno;
	buf[n] = '\0';
	return n;
}

static bool next_number(const char **p, const char *end, __u64 *ret)
{
	const char *s = *p;
	__u64 value = 0;

	while (s < end && *s == ' ')
		s++;
	if (s < end && *s == '-')
		s++; /* the sign of fields that nobody asks for */
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

	/* The name in parentheses can hold anything, parentheses and blanks included. */
	if (!p || end - p < 4 || p[1] != ' ' || p[3] != ' ')
		return -EINVAL;
	stat.state = p[2];
	p += 3;
	for (int field = 4; field <= 26; field++) {
		if (!next_number(&p, end, &value))
			return -EINVAL;
		if (field == 4)
			stat.parent = (pid_t)value;
		else if (field == 9)
			stat.kernel_thread = value & KERNEL_PF_KTHREAD;
		else if (field == 22)
			stat.start_ticks = value;
	}
	stat.start_code = value;
	*ret = stat;
	return 0;
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	char buf[1024];
	ssize_t n = read_file(pid, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : proc_stat_parse(buf, (size_t)n, ret);
}

int process_start_ticks(pid_t pid, __u64 *ret)
{
	struct proc_stat stat;
	int r = proc_stat_read(pid, &stat);

	if (!r)
		*ret = stat.start_ticks;
	return r;
}

int process_comm(pid_t pid, char ret[16])
{
	char buf[64];
	ssize_t n = read_file(pid, "comm", buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	if (buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	/* The kernel keeps 15 bytes; names of kernel threads can be longer here. */
	snprintf(ret, 16, "%.15s", buf);
	return 0;
}

int process_each(int (*fn)(pid_t pid, void *ctx), void *ctx)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	/* The kernel lists processes in the order of pids, each one once. */
	while (!r && (errno = 0, entry = readdir(dir))) {
		const char *p = entry->d_name, *end = p + strlen(p);
		__u64 pid;

		if (*p >= '1' && *p <= '9' && next_number(&p, end, &pid) && p == end)
			r = fn((pid_t)pid, ctx);
	}
	return r ? r : -errno;
}
