/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child_wait.h - the end of a child that may touch memory which never comes, awaited with patience that has an end.
 *
 * Must hold: nothing here waits for ever, also for a child that the kernel cannot kill now. Such a child is left to die,
 * which it does before it runs another instruction of its own.
 */
#ifndef KRAIT_TARGET_CHILD_WAIT_H
#define KRAIT_TARGET_CHILD_WAIT_H

#include <linux/types.h>
#include <sys/types.h>

struct child_wait {
	__u64 limit_ns; /* for all of it */
	__u64 idle_ns; /* and for as long as it gets, or uses, no CPU time at all; 0: as long as that */
	int kill_ms; /* for the end of one that was killed */
	/* Called every now and then meanwhile; NULL nobody. */
	void (*on_wait)(void *ctx);
	void *ctx;
};

/* 0: it has ended by itself; -EIO a signal has ended it, -ETIMEDOUT it was killed or given up, or another -errno. */
int child_await(const struct child_wait *w, pid_t child)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_CHILD_WAIT_H */
