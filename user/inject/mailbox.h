/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mailbox.h - where one thread of CPython takes a debugger's request, and the few writes that make or withdraw
 * one (Python/remote_debugging.c, send_exec_to_proc_handle(); Python/ceval_gil.c, _PyRunRemoteDebugger()).
 *
 * Must hold: nothing is written but into private writable memory of a process that is stopped, in the program
 * image that was identified, with the credentials that it had then; a case that is refused writes nothing.
 */
#ifndef KRAIT_INJECT_MAILBOX_H
#define KRAIT_INJECT_MAILBOX_H

#include "inject/inject.h"
#include "inject/refusal.h"
#include "util/memory.h"

/* The process. */
struct mailbox {
	const struct inject_request *request;
	int dir, mem; /* borrowed */
	struct memory memory;
	struct debugger_support support;
};

/* A thread of it that may be asked. */
struct mailbox_thread {
	__u64 tstate_addr, interp_addr;
	pid_t tid; /* ours; 0 unknown */
};

/* Checks all that can be checked of a process that runs. 0, or why not. The request and descriptors are borrowed. */
int mailbox_open(struct mailbox *m, const struct inject_request *request, int dir, int mem,
		 struct refusal *why) __attribute__((warn_unused_result, nonnull));
/* The thread that is meant. 0, or why not. */
int mailbox_find(const struct mailbox *m, struct mailbox_thread *ret, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));

/* Stops the process, looks again, asks. 0, or why not: then nothing was written. */
int mailbox_ask(const struct mailbox *m, struct mailbox_thread *t, const char *path,
		__u64 *ret_stopped_ns, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));
/* The same, takes the request back. 0; -EALREADY: it has been taken up; or why not. */
int mailbox_withdraw(const struct mailbox *m, const struct mailbox_thread *t, const char *path,
		     __u64 *ret_stopped_ns, struct refusal *why)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_INJECT_MAILBOX_H */
