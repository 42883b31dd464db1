/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/frozen.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/data/vec.h"

/* ---- child wait -------------------------------------------------------------------------------- */

/*
 * Waits, with a limit, for the end of a child that may touch memory which never
 * arrives.
 *
 * Must hold: nothing here waits for ever, even if the kernel cannot kill the child now. Such a
 * child is left behind; it dies before it runs another instruction of its own.
 */

struct child_wait {
	__u64 limit_ns; /* total */
	__u64 idle_ns; /* limit while it gets or uses no CPU time; 0: same as limit_ns */
	int kill_ms; /* wait this long for a killed child to end */
	/* Called from time to time while waiting; NULL: nothing. */
	void (*on_wait)(void *ctx);
	void *ctx;
};

/* How often we tell the waiting process that we are alive. */
#define SLICE_MS 20

/* False: it has not ended in time. */
static bool await_end(const struct child_wait *w, pid_t child, int pidfd)
{
	const __u64 end_ns = clock_monotonic_ns() + w->limit_ns;
	__u64 now_ns = clock_monotonic_ns(), moved_ns = now_ns, used = 0;

	for (; now_ns < end_ns; now_ns = clock_monotonic_ns()) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		const __u64 uses = clock_process_ns(child);

		if (uses != used)
			moved_ns = now_ns;
		used = uses;
		if (w->idle_ns && now_ns - moved_ns > w->idle_ns)
			return false;
		if (poll(&p, 1, SLICE_MS) == 1)
			return true;
		if (w->on_wait)
			w->on_wait(w->ctx);
	}
	return false;
}

/*
 * Returns 0: it ended by itself; -EIO: a signal ended it; -ETIMEDOUT: it was killed or given up; or
 * another -errno.
 */
static int child_await(const struct child_wait *w, pid_t child)
{
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, child, 0);
	int status, r = fd < 0 ? -errno : 0;

	if (!r && !await_end(w, child, fd)) {
		r = -ETIMEDOUT;
		kill(child, SIGKILL);
		/* It dies soon, or whenever the kernel lets it. */
		poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, w->kill_ms);
	} else if (r) {
		kill(child, SIGKILL);
	}
	if (waitpid(child, &status, r ? WNOHANG : 0) == child && !r)
		r = WIFEXITED(status) ? 0 : -EIO;
	return r;
}

/* ---- frozen ------------------------------------------------------------------------------------ */

/* Most threads of a process that are stopped. */
#define THREADS_MAX 65536U
/* How often to list its threads until no new ones appear. */
#define ROUNDS 16
/*
 * Time for a thread to stop: one that is on a CPU stops at once, one that waits for a CPU when it
 * gets one.
 */
#define STOP_NS (500 * 1000000ULL)
/* When to check whether a thread that has not stopped is in uninterruptible sleep. */
#define LOOK_NS (2 * 1000000ULL)
#define PAUSE_USEC 50
/* A reader that gets or uses no CPU time for this long waits for memory that may never come. */
#define IDLE_NS NS_PER_SEC
/* Time for the child to report that its reader was too slow, and to end. */
#define CHILD_NS (2 * NS_PER_SEC)
#define KILL_MS 1000

/* The child's result, in memory shared with it. */
struct run {
	int result;
	bool done; /* fn has returned: its results are complete */
	__u64 begin_ns;
	__u64 shared[];
};

const struct frozen_thread *frozen__find(const struct frozen *f, pid_t tid)
{
	for (__u32 i = 0; i < f->cnt; i++)
		if (f->threads[i].tid == tid)
			return &f->threads[i];
	return NULL;
}

bool frozen__has_stopped(const struct frozen *f, pid_t tid)
{
	const struct frozen_thread *t = frozen__find(f, tid);

	return t && t->stopped;
}

/* The thread's state in /proc; '\0': it has gone. */
static char state_of(int dir, pid_t tid)
{
	char path[64], text[1024];
	const char *close;

	snprintf(path, sizeof(path), "task/%d/stat", (int)tid);
	if (proc_read(dir, path, text, sizeof(text)) <= 0)
		return '\0';
	close = strrchr(text, ')');
	return close && close[1] ? close[2] : '\0';
}

static bool has_ended(char state)
{
	return !state || state == 'Z' || state == 'X' || state == 'x';
}

/* Returns 1: one more thread; 0: it has ended; -errno. */
static int seize(struct frozen *f, int dir, pid_t tid)
{
	if (vec_reserve(f->threads, f->cap, f->cnt + 1))
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int err = errno;

		return err == ESRCH || has_ended(state_of(dir, tid)) ? 0 : -err;
	}
	f->threads[f->cnt++] = (struct frozen_thread){ .tid = tid };
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && errno != ESRCH)
		return -errno;
	return 1;
}

/* Returns the number of new threads, or -errno. */
static int seize_new(struct frozen *f, int dir)
{
	int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), cnt = 0, r = 0;
	cleanup_closedir DIR *task = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!task) {
		r = errno == ENOENT ? -ESRCH : -errno;
		cleanup_close_(&fd);
		return r;
	}
	while (r >= 0 && (e = readdir(task))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || frozen__find(f, tid))
			continue;
		r = f->cnt == THREADS_MAX ? -EBUSY : seize(f, dir, tid);
		cnt += r > 0;
	}
	return r < 0 ? r : cnt;
}

/*
 * Has it stopped? The stop is only observed, not consumed: if a signal caused it, that signal is
 * delivered afterwards whatever happens to us. True also for a thread that has ended.
 */
static bool has_stopped(struct frozen_thread *t, bool *ret_ended)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)t->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL)) {
		*ret_ended = true;
		return true;
	}
	if (!info.si_pid)
		return false;
	*ret_ended = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		     info.si_code == CLD_DUMPED;
	t->stopped = !*ret_ended;
	return true;
}

/* Waits until each has stopped, has ended, or sleeps uninterruptibly. Returns 0 or -EBUSY. */
static int await_stops(struct frozen *f, int dir)
{
	const __u64 begin_ns = clock_monotonic_ns();

	for (;;) {
		const __u64 waited_ns = clock_monotonic_ns() - begin_ns;
		__u32 awaited = 0;

		for (__u32 i = 0; i < f->cnt; i++) {
			struct frozen_thread *t = &f->threads[i];
			bool ended = false;

			if (t->stopped || has_stopped(t, &ended)) {
				if (ended)
					f->threads[i--] = f->threads[--f->cnt];
			} else if (waited_ns < LOOK_NS || state_of(dir, t->tid) != 'D') {
				awaited++;
			}
		}
		if (!awaited)
			return 0;
		if (waited_ns > STOP_NS)
			return -EBUSY;
		usleep(PAUSE_USEC);
	}
}

static int freeze(struct frozen *f, int dir)
{
	for (int round = 0; round < ROUNDS; round++) {
		int cnt = seize_new(f, dir);

		if (cnt < 0)
			return cnt;
		if (!cnt)
			return f->cnt ? 0 : -ESRCH;
		cnt = await_stops(f, dir);
		if (cnt)
			return cnt;
	}
	return -EBUSY;
}

static bool get_registers(pid_t tid, unsigned type, void *ret, size_t size)
{
	struct iovec part = { ret, size };

	return !ptrace(PTRACE_GETREGSET, tid, type, &part);
}

/* Only a tracer may read registers. */
static void take_registers(struct frozen *f)
{
	for (__u32 i = 0; i < f->cnt; i++) {
		struct frozen_thread *t = &f->threads[i];
		__s32 syscall = -1;

		t->has_regs = t->stopped &&
			      get_registers(t->tid, NT_PRSTATUS, t->regs, sizeof(t->regs));
		/* On arm64 this is a set of its own, elsewhere there is none. */
		get_registers(t->tid, NT_ARM_SYSTEM_CALL, &syscall, sizeof(syscall));
		REGS_PUT_SYSCALL(t->regs, syscall);
	}
}

/* Dies with its parent. */
static void tie_to(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
}

/*
 * Reading the process's memory may block for ever, and then the reader cannot be killed. If the
 * tracer read it, the process would stand still as long; so a child of the tracer reads.
 */
static int run_reader(const struct frozen_call *c, const struct frozen *f, struct run *run)
{
	const struct child_wait wait = { .limit_ns = c->limit_ns, .idle_ns = IDLE_NS };
	const pid_t tracer = getpid();
	pid_t reader = fork();
	int r;

	if (!reader) {
		tie_to(tracer);
		run->result = c->fn(c->ctx, f, run->shared);
		run->done = true;
		_exit(0);
	}
	r = reader < 0 ? -errno : child_await(&wait, reader);
	return r ? r : run->result;
}

static _Noreturn void be_child(const struct frozen_call *c, struct run *run, pid_t parent)
{
	struct frozen f = { 0 };
	int r;

	/* Our children die with us; we die with our parent. */
	tie_to(parent);
	run->begin_ns = clock_monotonic_ns();
	r = freeze(&f, c->dir);
	if (!r && c->registers)
		take_registers(&f);
	if (!r)
		r = run_reader(c, &f, run);
	run->result = r;
	/* Nothing is detached explicitly: when a tracer ends, the kernel does the same for all. */
	_exit(0);
}

int frozen_run(const struct frozen_call *c, __u64 *ret_ns)
{
	size_t total = sizeof(struct run) + c->size;
	struct run *run =
		mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct child_wait wait = { .limit_ns = c->limit_ns + CHILD_NS,
					 .kill_ms = KILL_MS,
					 .on_wait = c->on_wait,
					 .ctx = c->wait_ctx };
	const pid_t ours = getpid();
	pid_t child;
	int r;

	*ret_ns = 0;
	if (run == MAP_FAILED)
		return -ENOMEM;
	memcpy(run->shared, c->shared, c->size);
	run->result = -EIO;
	child = fork();
	if (!child)
		be_child(c, run, ours);
	r = child < 0 ? -errno : child_await(&wait, child);
	*ret_ns = run->begin_ns ? clock_monotonic_ns() - run->begin_ns : 0;
	if (!r)
		r = run->result;
	if (run->done)
		memcpy(c->shared, run->shared, c->size);
	munmap(run, total);
	return r;
}
