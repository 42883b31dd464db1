/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_threads.h - all threads of a process as they are now, as a prober lists them and krait reads the
 * list: what the kernel says of each, and the Python stack of those that wait.
 *
 * A thread is never stopped. Its stack is believed only if it did not run from before the walk until after
 * it: the kernel says that it is off its CPU (/proc/PID/task/TID/syscall, which waits for that:
 * lib/syscall.c, task_current_syscall()) and has not come to one since (run count of
 * /proc/PID/task/TID/schedstat, kernel/sched/stats.h, sched_info_arrive()). The stack of a thread that runs
 * cannot be had this way.
 *
 * Its variables can be had, where that is asked for (moving): those of frames that were there before and after they were
 * read. Which frames that are is told apart from its stack.
 *
 * Only where that is asked for (pause) all threads are stopped for the time of one list: then one that had a
 * CPU has a stack like any other.
 *
 * A process chooses how many threads and frames it has: a list ends where its bounds are met, and says with
 * which thread to go on.
 *
 * Must hold: the reader follows no index that it has not checked.
 */
#ifndef KRAIT_TARGET_PROBE_THREADS_H
#define KRAIT_TARGET_PROBE_THREADS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "abi.h"

/* Of one list. */
#define PROBE_THREADS_MAX 1024U
#define PROBE_THREADS_FRAMES_MAX 65536U
#define PROBE_THREADS_LOCALS_MAX 65536U
#define PROBE_THREADS_TEXT_MAX (8U << 20)
/* Interpreters of a process of which more is said than their number; bytes of threads' names. */
#define PROBE_THREADS_INTERPS_MAX 64U
#define PROBE_THREADS_NAMES_MAX (1U << 20)
/* Bytes of C stacks. */
#define PROBE_THREADS_STACKS_MAX (32U << 20)

/* Whose threads, and which of them. */
struct probe_threads_ask {
	struct py_offsets offsets;
	__u64 runtime_addr; /* 0: no Python, the kernel's part alone */
	pid_t first_tid; /* threads with a lower id are left out; 0 all */
	pid_t only_tid; /* 0 all */
	bool locals; /* variables of the frames, too */
	bool pause; /* all threads stand still meanwhile (frozen.h) */
	bool moving; /* with locals: of threads that do not hold still, too */
	bool stacks; /* registers and C stacks, too: with pause, or of a core */
};

enum probe_thread_flag {
	/* It did not run while its stack was walked: what is here belongs together. */
	PROBE_THREAD_HELD = 1 << 0,
	/* It runs, or waits for a CPU: no stack. */
	PROBE_THREAD_RUNS = 1 << 1,
	PROBE_THREAD_SYSCALL = 1 << 2, /* syscall and args are known */
	PROBE_THREAD_PYTHON = 1 << 3, /* it has a thread state */
	/* While it stood still: it has the GIL; it waits for it. */
	PROBE_THREAD_HAS_GIL = 1 << 4,
	PROBE_THREAD_WAITS_GIL = 1 << 5,
	PROBE_THREAD_PAUSED = 1 << 6, /* it was stopped; with RUNS: at a place where it had a CPU */
	PROBE_THREAD_NAME_CHANGED = 1 << 7, /* while it was read */
	/* It did not hold still: its frames are no stack, but those whose variables are here were there all the time. */
	PROBE_THREAD_MOVING = 1 << 8,
	PROBE_THREAD_REGS = 1 << 9, /* regs are known */
	PROBE_THREAD_BEHIND_CALL =
		1 << 10, /* they are those behind the instruction of a system call */
};

enum probe_gil {
	PROBE_GIL_UNKNOWN,
	PROBE_GIL_NONE, /* free-threaded */
	PROBE_GIL_FREE,
	PROBE_GIL_HELD,
};

/* An interpreter, and its GIL at one moment. */
struct probe_interp {
	__s64 id; /* 0 is the main one */
	__u64 interp_addr;
	__u64 gil_addr; /* of one that several share, the same; 0 unknown */
	__u64 holder; /* a thread id in the process's own pid namespace; 0 unknown, or none */
	__u32 gil; /* enum probe_gil */
	__u32 pad_;
};

struct probe_thread {
	pid_t tid, ns_tid; /* here; in the process's own pid namespace */
	char comm[16]; /* any bytes, NUL-terminated */
	char state; /* as /proc/PID/stat has it */
	__u8 reason; /* enum reason, of the walk; with PROBE_THREAD_HELD and PROBE_THREAD_PYTHON */
	__u16 flags; /* enum probe_thread_flag */
	__s32 syscall; /* -1: not in one (a page fault, say) */
	__u64 args[6];
	__u32 file_mode; /* type of the file that args[0] is the descriptor of, S_IFMT; 0 unknown */
	__u64 stack_ptr, ip; /* of user space; with PROBE_THREAD_SYSCALL */
	__u64 cpu_ns, delay_ns,
		runs; /* on CPUs, waiting for one, how often it got one; 0 unknown */
	__u64 tstate_addr, interp_addr, thread_ptr;
	__s64 interp_id;
	__u32 first_frame, frame_cnt; /* in frames, leaf first */
	__u32 name; /* Thread.name, in texts; 0 unknown: there is an empty text */
	__u32 tries; /* that it took */
	__u64 stack_addr; /* where the copy of its C stack begins */
	__u32 stack_at, stack_len; /* in stacks; 0 bytes: there is none */
	__u64 regs[UNWIND_SAVED_WORDS]; /* of user mode */
};

/* A variable of a frame. */
struct probe_local {
	__u32 frame; /* in frames */
	__u32 name, value; /* in texts: UTF-8, not printable yet */
	__u32 changed; /* while it was read, by another thread */
};

/* In front of the list: threads, frames, interpreters, variables, texts, stacks. */
struct probe_threads_head {
	__u32 thread_cnt, frame_cnt, local_cnt, text_len;
	__u32 locals_cut;
	pid_t next_tid;
	__u32 list_reason;
	__u64 time_ns;
	__u64 pause_ns;
	__u32 interp_cnt, stacks_len;
};

struct probe_threads {
	const struct probe_thread *threads; /* by tid */
	const struct frame *frames;
	const struct probe_interp *interps; /* the newest first */
	const struct probe_local *locals; /* by frame */
	const char *texts, *stacks;
	__u32 thread_cnt, frame_cnt, local_cnt, text_len;
	bool locals_cut; /* there were more */
	pid_t next_tid; /* to go on with; 0 that was all */
	__u32 list_reason; /* enum reason: how reading the thread states went */
	__u64 time_ns; /* CLOCK_MONOTONIC, when the list was begun */
	__u32 interp_cnt;
	__u64 pause_ns; /* for how long they stood still, at most; 0 they did not */
	void *memory;
};

/*
 * In a prober. dir: of /proc/PID; mem: its memory. on_wait: called now and then while the process stands still;
 * NULL nobody. A descriptor of the list, or -ESRCH, -EACCES, -EPERM it may not be stopped, -errno.
 */
int probe_threads_list(int dir, int mem, const struct probe_threads_ask *ask,
		       void (*on_wait)(void *ctx), void *wait_ctx)
	__attribute__((warn_unused_result, nonnull(3)));

/* In krait: the list of that descriptor, which stays the caller's. 0, -EPROTO, -errno. */
int probe_threads_read(int fd, struct probe_threads *ret)
	__attribute__((warn_unused_result, nonnull));
void probe_threads_free(struct probe_threads *l) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PROBE_THREADS_H */
