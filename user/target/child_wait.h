/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child_wait.h - waits, with a limit, for the end of a child that may touch memory which never
 * arrives.
 *
 * Must hold: nothing here waits for ever, even if the kernel cannot kill the child now. Such a
 * child is left behind; it dies before it runs another instruction of its own.
 */
#ifndef KRAIT_TARGET_CHILD_WAIT_H
#define KRAIT_TARGET_CHILD_WAIT_H

#include <linux/types.h>
#include <sys/types.h>

struct child_wait {
	__u64 limit_ns; /* total */
	__u64 idle_ns; /* limit while it gets or uses no CPU time; 0: same as limit_ns */
	int kill_ms; /* wait this long for a killed child to end */
	/* Called from time to time while waiting; NULL: nothing. */
	void (*on_wait)(void *ctx);
	void *ctx;
};

/*
 * Returns 0: it ended by itself; -EIO: a signal ended it; -ETIMEDOUT: it was killed or given up; or
 * another -errno.
 */
int child_await(const struct child_wait *w, pid_t child)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_CHILD_WAIT_H */
