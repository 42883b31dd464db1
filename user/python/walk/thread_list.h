/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_list.h - all thread states of an interpreter, in memory that can be read from user space.
 *
 * Nothing holds still meanwhile: each step checks the back link, and a list that changes is torn.
 *
 * Must hold: at most KRAIT_MAX_THREADS states and THREAD_LIST_INTERPS_MAX interpreters, whatever
 * the memory contains.
 */
#ifndef KRAIT_PYTHON_WALK_THREAD_LIST_H
#define KRAIT_PYTHON_WALK_THREAD_LIST_H

#include <linux/types.h>

#include "bpf/abi.h"

#define THREAD_LIST_INTERPS_MAX 1024

struct stack_walk;

struct thread_list_entry {
	__u64 tstate_addr, interp_addr;
	__u64 thread_ptr; /* pthread_self(): PyThreadState.thread_id */
	/* The thread id in the process's own pid namespace; 0 unknown. */
	__u64 native_id;
	__s64 interp_id; /* 0 is the main interpreter */
};

/*
 * Reads the states, newest first in each interpreter; *ret_cnt, at most cap, is valid whatever the
 * reason. REASON_PYTHON: all; REASON_NO_RUNTIME; REASON_RUNTIME_FAULT, REASON_THREAD_FAULT,
 * REASON_THREAD_TORN: could not be read to the end; REASON_THREAD_LIMIT: there are more.
 */
enum reason thread_list_read(const struct stack_walk *x, struct thread_list_entry *list, __u32 cap,
			     __u32 *ret_cnt) __attribute__((nonnull));

#endif /* KRAIT_PYTHON_WALK_THREAD_LIST_H */
