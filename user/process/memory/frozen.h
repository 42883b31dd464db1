/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frozen.h - stops all threads of a process for a moment, with PTRACE_SEIZE and PTRACE_INTERRUPT:
 * the one exception to "never stop the target", for users who ask for it (dump --pause, exec).
 *
 * A child does it, and the kernel undoes all of it when that child ends, however it ends: stopped
 * threads go on, and signals that came meanwhile are delivered. That child does not touch the
 * process's memory, which might never arrive (FUSE, userfaultfd, a dead NFS server): a child of its
 * own does, and is left behind if it hangs. A thread in uninterruptible sleep cannot be stopped,
 * but it cannot reach its own code before it stops either.
 *
 * Must hold: no thread is stopped once frozen_run() has returned; nothing waits for a thread for
 * ever.
 */
#ifndef KRAIT_PROCESS_MEMORY_FROZEN_H
#define KRAIT_PROCESS_MEMORY_FROZEN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/arch.h"

struct frozen_thread {
	pid_t tid;
	bool stopped; /* false: it is in uninterruptible sleep */
	bool has_regs; /* if requested */
	__u64 regs[UNWIND_SAVED_WORDS]; /* of user mode, as the kernel saves them (bpf/arch.h) */
};

struct frozen {
	struct frozen_thread *threads;
	__u32 cnt, cap;
};

/*
 * Runs in a child, not in the tracer, while the process stands still. shared: visible to both.
 * Returns the overall result.
 */
typedef int (*frozen_fn)(const void *ctx, const struct frozen *f, void *shared);

struct frozen_call {
	int dir; /* of /proc/PID of that process */
	frozen_fn fn;
	const void *ctx; /* the child has a copy */
	/* The caller gets what fn leaves here when it returns, and no other changes of fn. */
	void *shared;
	size_t size;
	__u64 limit_ns; /* for fn; given up earlier if it gets no CPU time for a second */
	bool registers; /* read those of stopped threads */
	/* Called from time to time while the child works; NULL: nothing. */
	void (*on_wait)(void *ctx);
	void *wait_ctx;
};

/*
 * *ret_ns: an upper bound of how long the process was stopped. Returns the result of fn, or
 *  -EPERM      not allowed, or somebody else traces it
 *  -ESRCH      it has gone
 *  -EBUSY      it creates threads faster than they can be stopped, or one of them does not stop in
 *  time
 *  -ETIMEDOUT  fn did not return; it was killed, or hangs in the kernel
 */
int frozen_run(const struct frozen_call *call, __u64 *ret_ns)
	__attribute__((warn_unused_result, nonnull));

/* NULL: it is not one of them. */
const struct frozen_thread *frozen__find(const struct frozen *f, pid_t tid)
	__attribute__((nonnull));
/* Was that thread stopped? */
bool frozen__has_stopped(const struct frozen *f, pid_t tid) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_MEMORY_FROZEN_H */
