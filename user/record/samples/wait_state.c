/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/wait_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernel/sampler/record.h"

/* Bits of task_struct.__state, include/linux/sched.h: the same from 5.10 to 6.18. */
#define TASK_STOPPED 4
#define TASK_TRACED 8
/* Since 6.1: the older freezer, of cgroup v1 and of suspending. */
#define TASK_FROZEN 0x8000

struct call {
	int number;
	const char *name;
	enum state state;
	bool has_file; /* args[0] is a descriptor */
};

#define CALL(name, state, has_file)                                                                \
	{                                                                                          \
		SYS_##name, #name, STATE_##state, has_file                                         \
	}

/* System calls that wait, and what for. All others are [waiting]. */
static const struct call calls[] = {
	CALL(futex, LOCK, false),
	CALL(nanosleep, SLEEP, false),
	CALL(clock_nanosleep, SLEEP, false),
	CALL(rt_sigsuspend, SLEEP, false),
	CALL(rt_sigtimedwait, SLEEP, false),
	CALL(read, IO, true),
	CALL(write, IO, true),
	CALL(readv, IO, true),
	CALL(writev, IO, true),
	CALL(pread64, IO, true),
	CALL(pwrite64, IO, true),
	CALL(recvfrom, IO, true),
	CALL(recvmsg, IO, true),
	CALL(recvmmsg, IO, true),
	CALL(sendto, IO, true),
	CALL(sendmsg, IO, true),
	CALL(sendmmsg, IO, true),
	CALL(accept, IO, true),
	CALL(accept4, IO, true),
	CALL(connect, IO, true),
	CALL(sendfile, IO, true),
	CALL(splice, IO, true),
	CALL(copy_file_range, IO, true),
	CALL(ioctl, IO, true),
	CALL(fcntl, IO, true),
	CALL(flock, IO, true),
	CALL(fsync, IO, true),
	CALL(fdatasync, IO, true),
	CALL(sync_file_range, IO, true),
	CALL(ftruncate, IO, true),
	CALL(fallocate, IO, true),
	CALL(getdents64, IO, true),
	CALL(close, IO, true),
	CALL(ppoll, IO, false),
	CALL(pselect6, IO, false),
	CALL(epoll_pwait, IO, false),
	CALL(io_getevents, IO, false),
	CALL(openat, IO, false),
	CALL(newfstatat, IO, false),
	CALL(statx, IO, false),
	CALL(unlinkat, IO, false),
	CALL(mkdirat, IO, false),
	CALL(renameat2, IO, false),
	CALL(readlinkat, IO, false),
	CALL(faccessat, IO, false),
	CALL(sync, IO, false),
	CALL(msync, IO, false),
	CALL(wait4, IO, false),
	CALL(waitid, IO, false),
	CALL(execve, IO, false),
	CALL(clone, IO, false),
	CALL(msgrcv, IO, false),
	CALL(msgsnd, IO, false),
	CALL(semtimedop, IO, false),
	CALL(mq_timedreceive, IO, false),
	CALL(mq_timedsend, IO, false),
	CALL(getrandom, IO, false),
	CALL(mmap, FAULT, false),
	CALL(munmap, FAULT, false),
	CALL(mprotect, FAULT, false),
	CALL(mremap, FAULT, false),
	CALL(madvise, FAULT, false),
	CALL(brk, FAULT, false),
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, IO, false),
#endif
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, IO, false),
#endif
#ifdef SYS_clone3
	CALL(clone3, IO, false),
#endif
#ifdef SYS_futex_waitv
	CALL(futex_waitv, LOCK, false),
#endif
/* Only older architectures have them. */
#ifdef SYS_poll
	CALL(poll, IO, false),
	CALL(select, IO, false),
	CALL(epoll_wait, IO, false),
	CALL(pause, SLEEP, false),
	CALL(open, IO, false),
	CALL(stat, IO, false),
	CALL(lstat, IO, false),
	CALL(access, IO, false),
	CALL(readlink, IO, false),
	CALL(unlink, IO, false),
	CALL(mkdir, IO, false),
	CALL(rename, IO, false),
	CALL(vfork, IO, false),
#endif
};

static const struct call *call_of(const struct wait_facts *w)
{
	for (size_t i = 0; w->syscall >= 0 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == w->syscall)
			return &calls[i];
	}
	return NULL;
}

/* It waits for no descriptor: just a way to sleep. */
static bool waits_for_none(const struct wait_facts *w)
{
	switch (w->syscall) {
	case SYS_ppoll:
		return !w->args[1];
	case SYS_pselect6:
		return !w->args[0];
#ifdef SYS_poll
	case SYS_poll:
		return !w->args[1];
	case SYS_select:
		return !w->args[0];
#endif
	default:
		return false;
	}
}

static bool is_seen(const struct wait_facts *w)
{
	return w->task_state != TASK_STATE_UNKNOWN && w->task_state != TASK_STATE_ON_CPU;
}

static bool is_halted(const struct wait_facts *w)
{
	return is_seen(w) && w->task_state & (TASK_STOPPED | TASK_TRACED);
}

/* Frozen where it wanted to return to user space, whatever it had been doing. */
static bool is_frozen(const struct wait_facts *w)
{
	return w->flags & WAIT_FROZEN || (is_seen(w) && w->task_state & TASK_FROZEN);
}

enum state wait_state(const struct wait_facts *w)
{
	const struct call *call = call_of(w);
	bool seen = w->task_state != TASK_STATE_UNKNOWN;

	if (!w->task_state)
		return STATE_RUNNABLE;
	if (is_halted(w) || is_frozen(w))
		return STATE_STOPPED;
	if (w->flags & WAIT_GIL)
		return STATE_GIL;
	/* It waits for nothing else: in both cases the thread is parked on a futex of its own. */
	if (call && call->state == STATE_LOCK && w->flags & WAIT_WORLD)
		return STATE_WORLD;
	if (call && call->state == STATE_LOCK && w->flags & WAIT_SECTION)
		return STATE_SECTION;
	if (call)
		return waits_for_none(w) ? STATE_SLEEP : call->state;
	/* Outside a system call it cannot have gone to sleep by itself. */
	return seen && w->flags & WAIT_HAS_SYSCALL && w->syscall < 0 ? STATE_FAULT : STATE_WAITING;
}

static const char *file_kind(__u16 mode)
{
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		return " socket";
	case S_IFIFO:
		return " pipe";
	case S_IFREG:
		return " file";
	case S_IFDIR:
		return " folder";
	case S_IFCHR:
		return " device";
	case S_IFBLK:
		return " disk";
	default:
		return "";
	}
}

void wait_text(char text[WAIT_TEXT_SIZE], const struct wait_facts *w)
{
	enum state state = wait_state(w);
	const struct call *call = call_of(w);
	const char *name = state_name(state);

	/* The kernel counts a thread that a signal stopped as frozen, too. */
	if (state == STATE_STOPPED && is_seen(w) && !is_halted(w))
		snprintf(text, WAIT_TEXT_SIZE, "[%s: frozen]", name);
	else if (call && (state == STATE_IO || state == STATE_FAULT))
		snprintf(text, WAIT_TEXT_SIZE, "[%s: %s%s]", name, call->name,
			 call->has_file ? file_kind(w->file_mode) : "");
	else if (state == STATE_WAITING && w->syscall >= 0)
		snprintf(text, WAIT_TEXT_SIZE, "[%s: system call %d]", name, w->syscall);
	else
		snprintf(text, WAIT_TEXT_SIZE, "[%s]", name);
}

/* A part smaller than 1/PART_MIN of a sample's time is not worth a sample of its own. */
#define PART_MIN 16

struct wait_parts wait_split(const struct wait_facts *w, __u64 period_ns, __u32 random)
{
	__u64 runnable_ns = w->runnable_ns < w->length_ns ? w->runnable_ns : w->length_ns;
	__u64 least_ns = period_ns / PART_MIN + 1, small_ns;
	struct wait_parts ret;

	if (!w->task_state)
		return (struct wait_parts){ .runnable_ns = period_ns };
	ret.runnable_ns =
		w->length_ns ?
			(__u64)((double)period_ns * (double)runnable_ns / (double)w->length_ns) :
			0;
	if (ret.runnable_ns > period_ns)
		ret.runnable_ns = period_ns;
	ret.waited_ns = period_ns - ret.runnable_ns;
	small_ns = ret.runnable_ns < ret.waited_ns ? ret.runnable_ns : ret.waited_ns;
	if (!small_ns || small_ns >= least_ns)
		return ret;
	/* Round to least with probability small / least, else to nothing. */
	small_ns = (double)random / 4294967296.0 < (double)small_ns / (double)least_ns ? least_ns :
											 0;
	if (ret.runnable_ns < ret.waited_ns)
		ret.runnable_ns = small_ns;
	else
		ret.runnable_ns = period_ns - small_ns;
	ret.waited_ns = period_ns - ret.runnable_ns;
	return ret;
}

__u32 state_flags(const struct record_sample *record)
{
	const struct interp_facts *interp;
	__u32 cnt, flags = 0;

	interp = record__section(record, SECTION_INTERP, &cnt);
	if (cnt && interp->flags & INTERP_EXCEPTION)
		flags |= STATE_EXCEPTION;
	return flags | (record->flags & SAMPLE_GIL ? STATE_HOLDS_GIL : 0);
}

enum state cpu_state(const struct record_sample *record)
{
	if (!(record->flags & SAMPLE_GIL_KNOWN))
		return STATE_CPU;
	return record->flags & SAMPLE_GIL ? STATE_PYTHON : STATE_NATIVE;
}
