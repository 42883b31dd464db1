/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frozen.h - all threads of a process stopped for a moment, by PTRACE_SEIZE and PTRACE_INTERRUPT: the one
 * exception to "never stop the target", for those who ask for it (dump --pause, exec).
 *
 * A child does it, and the kernel undoes all of it when that child ends, however it ends: what is stopped goes
 * on, and a signal that came meanwhile is delivered. That child touches no memory of the process, which might never come
 * (FUSE, userfaultfd, a dead NFS server): a child of its own does, and is left behind where it hangs. A thread in uninterruptible sleep cannot be stopped; it
 * cannot get to its own code either before it has stopped.
 *
 * Must hold: no thread is stopped when frozen_run() has come back; nothing waits for a thread for ever.
 */
#ifndef KRAIT_TARGET_FROZEN_H
#define KRAIT_TARGET_FROZEN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

struct frozen_thread {
	pid_t tid;
	bool stopped; /* false: it sleeps and cannot be interrupted */
	bool has_regs; /* where they were asked for */
	struct user_regs_struct regs;
};

struct frozen {
	struct frozen_thread *threads;
	__u32 cnt, cap;
};

/* Runs in a child, not the tracer, while the process stands still; shared: in both. The result of the whole. */
typedef int (*frozen_fn)(const void *ctx, const struct frozen *f, void *shared);

struct frozen_call {
	int dir; /* of /proc/PID of that very process */
	frozen_fn fn;
	const void *ctx; /* the child has a copy */
	/* What fn leaves in its copy when it comes back the caller finds there, and nothing else that fn changes. */
	void *shared;
	size_t size;
	__u64 limit_ns; /* for fn; it is given up earlier if it gets no CPU time for a second */
	bool registers; /* those of stopped threads are wanted */
	/* Called every now and then while the child works; NULL nobody. */
	void (*on_wait)(void *ctx);
	void *wait_ctx;
};

/*
 * *ret_ns: for how long the process was stopped, at most. The result of fn, or
 *  -EPERM      not allowed, or somebody else traces it
 *  -ESRCH      it has gone
 *  -EBUSY      it makes threads faster than they can be stopped, or one of them does not stop in time
 *  -ETIMEDOUT  fn did not come back; it was ended, or hangs in the kernel by itself
 */
int frozen_run(const struct frozen_call *call, __u64 *ret_ns)
	__attribute__((warn_unused_result, nonnull));

/* NULL: it is none of them. */
const struct frozen_thread *frozen__find(const struct frozen *f, pid_t tid)
	__attribute__((nonnull));
/* Was that thread stopped? */
bool frozen__has_stopped(const struct frozen *f, pid_t tid) __attribute__((nonnull));

#endif /* KRAIT_TARGET_FROZEN_H */
