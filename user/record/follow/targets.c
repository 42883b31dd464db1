/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/targets.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "process/identify/py_process.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/data/vec.h"

/* How often to check whether debug information has been read. */
#define READING_MS 20
/* How often to look for children: one may start another before it is followed. */
#define CHILDREN_LOOKS 3
/*
 * Time for a process that has just started to become Python; and a little time for one that may
 * just have executed another program, which we cannot see. Starting an interpreter takes 20 ms,
 * more on a busy machine.
 */
#define YOUNG_NS (2 * NS_PER_SEC)
#define PATIENCE_NS (NS_PER_SEC * 3 / 10)
#define BECOMING_MS 50

struct member {
	pid_t pid, parent;
	__u64 start_ticks;
	bool descends; /* descends from a named one */
};

/* All processes of the machine. */
struct family {
	struct member *list;
	size_t cnt, cap;
};

static int explain_target(struct error *err, pid_t pid, int result, const char *why)
{
	if (result == -EACCES || result == -EPERM)
		return error_set(err, -result, EXIT_CODE_PERMISSION,
				 "process %d cannot be read%s: %s%s", pid,
				 geteuid() ? "" : ", not even by root", why, error_sudo());
	if (result == -ESRCH)
		return error_set(err, -result, EXIT_CODE_TARGET, "no process %d", pid);
	return error_set(err, -result, EXIT_CODE_TARGET, "process %d cannot be sampled: %s", pid,
			 why);
}

/*
 * Waits while debug information is read: until then there is nothing to sample in that process, and
 * the user waits to hear whether it can be sampled.
 */
static int await_debug_information(struct processes *processes, pid_t pid, int signal_fd,
				   const char **ret_why)
{
	struct pollfd fd = { .fd = signal_fd, .events = POLLIN };
	int result;

	do {
		if (poll(&fd, 1, READING_MS) > 0)
			return -EINTR;
		result = processes__follow(processes, pid, ret_why);
	} while (result == -EINPROGRESS);
	return result;
}

static int add_member(pid_t pid, void *ctx)
{
	struct family *f = ctx;
	struct proc_stat stat;

	if (proc_stat_read(pid, &stat) || stat.kernel_thread)
		return 0;
	if (vec_reserve(f->list, f->cap, f->cnt + 1))
		return -ENOMEM;
	f->list[f->cnt++] = (struct member){ pid, stat.parent, stat.start_ticks, false };
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static struct member *find(const struct family *f, pid_t pid)
{
	const struct member key = { .pid = pid };

	return f->cnt ? bsearch(&key, f->list, f->cnt, sizeof(key), by_pid) : NULL;
}

/* Parents mostly have lower pids, so few rounds are needed. */
static void mark_descendants(struct family *f, const pid_t pids[], size_t cnt)
{
	bool more = true;

	for (size_t i = 0; i < cnt; i++) {
		struct member *named = find(f, pids[i]);

		if (named)
			named->descends = true;
	}
	while (more) {
		more = false;
		for (size_t i = 0; i < f->cnt; i++) {
			struct member *m = &f->list[i], *parent = find(f, m->parent);

			if (m->descends || !parent || !parent->descends)
				continue;
			m->descends = more = true;
		}
	}
}

/* Excludes krait and its ancestors: they would not end before krait does. */
static void spare_krait(struct family *f)
{
	struct member *m = find(f, getpid());

	for (size_t i = 0; m && i < f->cnt; i++, m = find(f, m->parent))
		m->descends = false;
}

/* Returns 1 if there are any that were not followed before, 0 if not, or -errno. */
static int look_for_children(struct processes *processes, const pid_t pids[], size_t cnt)
{
	unsigned before = processes__followed_cnt(processes);
	struct family f = { 0 };
	int err = process_each(add_member, &f);
	const char *why;

	mark_descendants(&f, pids, cnt);
	spare_krait(&f);
	for (size_t i = 0; i < f.cnt; i++) {
		if (f.list[i].descends)
			processes__follow(processes, f.list[i].pid, &why);
	}
	free(f.list);
	return err ? err : processes__followed_cnt(processes) > before;
}

void targets_follow_children(struct processes *processes, const pid_t pids[], size_t cnt)
{
	int result = cnt ? 1 : 0;

	for (int look = 0; result > 0 && look < CHILDREN_LOOKS; look++)
		result = look_for_children(processes, pids, cnt);
	if (result < 0)
		log_warn("targets", "children that already ran may be missing: %s",
			 strerror(-result));
}

/* What looks at a named process and its children have found. */
struct look_result {
	bool python; /* one is being sampled from now on */
	/* its debug information must be read first, or its look is pending; 0: none */
	pid_t reading;
	unsigned cnt;
	__u64 youngest_ns; /* CLOCK_BOOTTIME */
	/* Over all looks: why a Python process is not sampled; 0: there is none. Reported once. */
	int refused;
	char why[256];
};

static void look_at_family(struct processes *processes, pid_t pid, struct look_result *ret)
{
	struct family f = { 0 };
	const char *why;

	ret->python = false;
	ret->reading = 0;
	ret->cnt = 0;
	ret->youngest_ns = 0;
	(void)process_each(add_member, &f);
	mark_descendants(&f, &pid, 1);
	spare_krait(&f);
	for (size_t i = 0; i < f.cnt; i++) {
		__u64 start_ns = f.list[i].start_ticks * KRAIT_NS_PER_TICK;
		int result;

		if (!f.list[i].descends)
			continue;
		ret->cnt++;
		if (start_ns > ret->youngest_ns)
			ret->youngest_ns = start_ns;
		result = processes__follow(processes, f.list[i].pid, &why);
		if (processes__find(processes, f.list[i].pid)) {
			ret->python = true;
		} else if (result == -EINPROGRESS) {
			ret->reading = f.list[i].pid;
		} else if (result && result != -ENOEXEC && result != -ESRCH && !ret->refused) {
			ret->refused = result;
			snprintf(ret->why, sizeof(ret->why), "%s", why);
		}
	}
	free(f.list);
}

static __u64 now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (__u64)ts.tv_sec * NS_PER_SEC + (__u64)ts.tv_nsec;
}

static bool is_worth_waiting(const struct look_result *look, __u64 waited_ns)
{
	return waited_ns < PATIENCE_NS ||
	       (waited_ns < YOUNG_NS && now_ns(CLOCK_BOOTTIME) - look->youngest_ns < YOUNG_NS);
}

/*
 * The process is not Python, now. A program that runs Python (timeout, sudo, a shell, a bootloader)
 * has a Python child, or will have, and an interpreter that has just been started does not look
 * like one yet.
 */
static int await_python(struct processes *processes, pid_t pid, int signal_fd, struct error *err)
{
	struct pollfd fd = { .fd = signal_fd, .events = POLLIN };
	__u64 begin_ns = clock_monotonic_ns();
	struct look_result look = { 0 };
	const char *why;
	int result;

	for (;;) {
		look_at_family(processes, pid, &look);
		if (look.python)
			return 0;
		result = -ENOEXEC;
		if (look.reading)
			result = await_debug_information(processes, look.reading, signal_fd, &why);
		if (!result)
			return 0;
		/* A slow look may also have found that it is not Python yet. */
		if (result != -ENOEXEC && result != -ESRCH)
			return explain_target(err, look.reading, -ENOTSUP, why);
		if (!is_worth_waiting(&look, clock_monotonic_ns() - begin_ns))
			break;
		if (poll(&fd, 1, BECOMING_MS) > 0)
			return explain_target(err, pid, -EINTR, "interrupted");
	}
	if (look.refused)
		return explain_target(err, pid, look.refused, look.why);
	if (look.cnt > 1)
		return explain_target(err, pid, -ENOEXEC,
				      "neither it nor any of its children is Python");
	result = processes__follow(processes, pid, &why);
	/* Gone, or a kernel thread: those are in no family. */
	return explain_target(err, pid, look.cnt ? -ENOEXEC : result, why);
}

int targets_follow(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
		   struct error *err)
{
	const char *why;

	for (size_t i = 0; i < cnt; i++) {
		int result = processes__follow(processes, pids[i], &why);

		if (result == -EINPROGRESS)
			result = await_debug_information(processes, pids[i], signal_fd, &why);
		if (result == -ENOEXEC && await_python(processes, pids[i], signal_fd, err))
			return -1;
		if (result && result != -ENOEXEC)
			return explain_target(err, pids[i], result, why);
	}
	return 0;
}

int targets_follow_known(struct processes *processes, const pid_t pids[], size_t cnt, int signal_fd,
			 struct error *err)
{
	size_t followed = 0;
	const char *why;

	for (size_t i = 0; i < cnt; i++) {
		int result = processes__follow(processes, pids[i], &why);

		if (result == -EINPROGRESS)
			result = await_debug_information(processes, pids[i], signal_fd, &why);
		if (result)
			explain_target(err, pids[i], result, why);
		else
			followed++;
	}
	return followed || !cnt ? 0 : -1;
}
