/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mailbox.h - where a CPython thread takes a debugger's request, and the few writes that make or
 * withdraw one (Python/remote_debugging.c, send_exec_to_proc_handle(); Python/ceval_gil.c,
 * _PyRunRemoteDebugger()).
 *
 * Must hold: writes go only into private writable memory of a stopped process that still runs the
 * identified program image with the same credentials. A refusal writes nothing.
 */
#ifndef KRAIT_LOOK_EXEC_MAILBOX_H
#define KRAIT_LOOK_EXEC_MAILBOX_H

#include "look/exec/inject.h"
#include "look/exec/refusal.h"
#include "base/data/memory.h"

/* The process. */
struct mailbox {
	const struct inject_request *request;
	int dir, mem; /* borrowed */
	struct memory memory;
	struct debugger_support support;
};

/* A thread that can be asked. */
struct mailbox_thread {
	__u64 tstate_addr, interp_addr;
	pid_t tid; /* in our pid namespace; 0: unknown */
};

/*
 * Checks what can be checked while the process runs. Returns 0 or the reason for refusal. Borrows
 * the request and the descriptors.
 */
int mailbox_open(struct mailbox *m, const struct inject_request *request, int dir, int mem,
		 struct refusal *why) __attribute__((warn_unused_result, nonnull));
/* Finds the requested thread. Returns 0 or the reason for refusal. */
int mailbox_find(const struct mailbox *m, struct mailbox_thread *ret, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));

/*
 * Stops the process, checks again, and writes the request. Returns 0, or the reason for refusal:
 * then nothing was written.
 */
int mailbox_ask(const struct mailbox *m, struct mailbox_thread *t, const char *path,
		__u64 *ret_stopped_ns, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));
/*
 * Likewise, but withdraws the request. Returns 0, -EALREADY (already taken), or the reason for
 * refusal.
 */
int mailbox_withdraw(const struct mailbox *m, const struct mailbox_thread *t, const char *path,
		     __u64 *ret_stopped_ns, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_EXEC_MAILBOX_H */
