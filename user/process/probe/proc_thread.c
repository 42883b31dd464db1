/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/proc_thread.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/proc/proc.h"

static ssize_t read_of(int dir, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	return proc_read(dir, path, buf, size);
}

void proc_thread_ns_tid(int dir, struct probe_thread *t)
{
	char status[4096];

	if (read_of(dir, t->tid, "status", status, sizeof(status)) > 0)
		t->ns_tid = proc_ns_pid(status);
}

int proc_thread_stat(int dir, struct probe_thread *t)
{
	char text[1024];
	const char *open, *close;
	ssize_t len = read_of(dir, t->tid, "stat", text, sizeof(text));
	size_t name_len;

	if (len < 0)
		return (int)len;
	open = strchr(text, '(');
	close = memrchr(text, ')', (size_t)len);
	if (!open || !close || close < open || close + 2 >= text + len)
		return -EINVAL;
	name_len = (size_t)(close - open - 1);
	if (name_len >= sizeof(t->comm))
		name_len = sizeof(t->comm) - 1;
	memset(t->comm, 0, sizeof(t->comm));
	memcpy(t->comm, open + 1, name_len);
	t->state = close[2];
	return 0;
}

void proc_thread_times(int dir, struct probe_thread *t)
{
	char text[128];

	if (read_of(dir, t->tid, "schedstat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu %llu", &t->cpu_ns, &t->delay_ns, &t->runs) != 3)
		t->cpu_ns = t->delay_ns = t->runs = 0;
}

bool proc_thread_syscall(int dir, struct probe_thread *t)
{
	char text[256];
	__u64 *a = t->args;

	t->flags &= (__u16)~PROBE_THREAD_SYSCALL;
	if (read_of(dir, t->tid, "syscall", text, sizeof(text)) <= 0)
		return false;
	if (sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &t->syscall, &a[0], &a[1],
		   &a[2], &a[3], &a[4], &a[5], &t->stack_ptr, &t->ip) != 9) {
		memset(a, 0, sizeof(t->args));
		if (sscanf(text, "-1 %llx %llx", &t->stack_ptr, &t->ip) != 2)
			return false;
		t->syscall = -1;
	}
	t->flags |= PROBE_THREAD_SYSCALL;
	return true;
}

/*
 * Where the kernel lets a frozen thread sleep: do_freezer_trap() in kernel/signal.c (often inlined into get_signal(),
 * whose other sleepers are stopped and have another state), __refrigerator() in kernel/freezer.c. "0": it does not say.
 */
void proc_thread_frozen(int dir, struct probe_thread *t)
{
	static const char *const places[] = { "get_signal", "do_freezer_trap", "__refrigerator" };
	char text[64];
	ssize_t len = strchr("SDI", t->state) ? read_of(dir, t->tid, "wchan", text, sizeof(text)) :
						0;

	t->flags &= (__u16)~PROBE_THREAD_FROZEN;
	for (size_t i = 0; len > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		if (!strncmp(text, places[i], strlen(places[i])) &&
		    (text[strlen(places[i])] == '\0' || text[strlen(places[i])] == '.'))
			t->flags |= PROBE_THREAD_FROZEN;
	}
}

void proc_thread_file(int dir, struct probe_thread *t)
{
	char path[64], link[64];
	ssize_t len;

	t->file_mode = 0;
	if (t->syscall < 0 || t->args[0] > INT_MAX)
		return;
	snprintf(path, sizeof(path), "fd/%llu", t->args[0]);
	len = readlinkat(dir, path, link, sizeof(link) - 1);
	if (len < 0)
		return;
	link[len] = '\0';
	t->file_mode = !strncmp(link, "socket:", 7) ? S_IFSOCK :
		       !strncmp(link, "pipe:", 5)   ? S_IFIFO :
		       !strncmp(link, "/dev/", 5)   ? S_IFCHR :
						      0;
}
