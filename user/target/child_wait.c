/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/child_wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"

/* How often we tell the waiting process that we are alive. */
#define SLICE_MS 20

/* CPU time that it has used; 0 unknown. */
static __u64 used_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (__u64)t.tv_sec * NS_PER_SEC + (__u64)t.tv_nsec;
}

/* False: it has not ended in time. */
static bool await_end(const struct child_wait *w, pid_t child, int pidfd)
{
	const __u64 end_ns = clock_monotonic_ns() + w->limit_ns;
	__u64 now_ns = clock_monotonic_ns(), moved_ns = now_ns, used = 0;

	for (; now_ns < end_ns; now_ns = clock_monotonic_ns()) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		const __u64 uses = used_ns(child);

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

int child_await(const struct child_wait *w, pid_t child)
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
