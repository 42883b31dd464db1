/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_tasks.h - all asyncio tasks of a process as they are now; a prober lists them, krait reads
 * the list. It includes those of threads (_PyThreadStateImpl.asyncio_tasks_head), those of threads
 * that have ended (PyInterpreterState.asyncio_tasks_head), and running ones that are in no list
 * (eager ones).
 *
 * Nothing holds still meanwhile. A list of tasks with inconsistent links is read again; if it keeps
 * changing, the result has what was found, and CHANGED says that it may be incomplete.
 *
 * Must hold: the reader follows no index that it has not checked; each task is in the list once;
 * bounded time and memory, whatever the process contains.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_TASKS_H
#define KRAIT_PROCESS_PROBE_PROBE_TASKS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "python/layout/published.h"

/* Most tasks of one list. */
#define PROBE_TASKS_MAX 65536U
#define PROBE_TASKS_FRAMES_MAX 524288U
#define PROBE_TASKS_WAITERS_MAX 524288U
#define PROBE_TASKS_TEXT_MAX (8U << 20)

struct probe_tasks_ask {
	struct py_offsets offsets;
	__u64 runtime_addr;
	struct published_asyncio asyncio;
	bool names; /* wanted */
};

enum probe_task_flag {
	PROBE_TASK_RUNS = 1 << 0, /* its thread is running it */
	PROBE_TASK_NAMED = 1 << 1, /* the name could be read */
	/* For greenlets only: it has not begun; it is the first one of its thread; it has ended. */
	PROBE_TASK_NEW = 1 << 2,
	PROBE_TASK_MAIN = 1 << 3,
	PROBE_TASK_ENDED = 1 << 4,
};

struct probe_task {
	__u64 addr;
	__u64 stack_addr; /* of a greenlet: an address in its thread's stack; 0 unknown */
	__u64 thread_id; /* the kernel's, in the process's own namespace; 0: its thread has ended */
	__u32 flags; /* enum probe_task_flag */
	__u32 notes; /* enum task_note, about its frames */
	__u32 name; /* offset in texts */
	__u32 first_frame, frame_cnt; /* in frames, the coroutine's first */
	__u32 first_waiter,
		waiter_cnt; /* in waiters, by address: the tasks that await it, its creator (TASK_EAGER), or who runs its loop */
	__u32 pad_;
};

enum probe_tasks_flag {
	PROBE_TASKS_CHANGED = 1 << 0, /* the lists kept changing: tasks may be missing */
	PROBE_TASKS_CUT = 1 << 1, /* there are more than one list can hold */
};

/* Precedes the list: tasks, frames, waiters, texts. */
struct probe_tasks_head {
	__u32 task_cnt, frame_cnt, waiter_cnt, text_len;
	__u32 flags; /* enum probe_tasks_flag */
	__u32 list_reason; /* enum reason: result of reading the thread states */
	__u64 time_ns; /* CLOCK_MONOTONIC, at the start */
};

struct probe_tasks {
	struct probe_tasks_head head;
	const struct probe_task *tasks;
	const struct frame *frames;
	const __u64 *waiters;
	const char *texts;
	void *memory;
};

/* In a prober. mem: the process's memory. Returns a descriptor of the list, or -errno. */
int probe_tasks_list(int mem, const struct probe_tasks_ask *ask)
	__attribute__((warn_unused_result, nonnull));

/*
 * In krait: reads the list from that descriptor, which the caller keeps. Returns 0, -EPROTO,
 * -errno.
 */
int probe_tasks_read(int fd, struct probe_tasks *ret) __attribute__((warn_unused_result, nonnull));
void probe_tasks_free(struct probe_tasks *l) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_TASKS_H */
