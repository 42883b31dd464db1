/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_threads.h - all threads of a process as they are now: what the kernel says about each, and
 * the Python stacks of waiting ones. A prober lists them, krait reads the list.
 *
 * No thread is stopped. A stack is valid only if the thread did not run from before the walk until
 * after it: the kernel says that it is off its CPU (/proc/PID/task/TID/syscall, which waits for
 * that: lib/syscall.c, task_current_syscall()) and has not come to one since (run count of
 * /proc/PID/task/TID/schedstat, kernel/sched/stats.h, sched_info_arrive()). The stack of a running
 * thread cannot be read in this way.
 *
 * Its variables can, on request (moving): those of frames that existed both before and after they
 * were read. Nothing says where in its stack these frames are.
 *
 * Only on request (pause) all threads are stopped for the time of one list: then one that was on a
 * CPU has a stack like any other.
 *
 * A process chooses how many threads and frames it has, so a list ends at its limits, or, unless the
 * process is stopped, after a second, and says with which thread to continue.
 *
 * Must hold: the reader follows no index that it has not checked.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_THREADS_H
#define KRAIT_PROCESS_PROBE_PROBE_THREADS_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct bytes;
struct frozen_thread;

/* Most threads of one list. */
#define PROBE_THREADS_MAX 1024U
#define PROBE_THREADS_FRAMES_MAX 65536U
#define PROBE_THREADS_LOCALS_MAX 65536U
#define PROBE_THREADS_TEXT_MAX (8U << 20)
/* Interpreters of a process that are described individually; bytes of threads' names. */
#define PROBE_THREADS_INTERPS_MAX 64U
#define PROBE_THREADS_NAMES_MAX (1U << 20)
/* Bytes of C stacks, and of one of them. */
#define PROBE_THREADS_STACKS_MAX (32U << 20)
#define PROBE_THREADS_STACK_MAX (1U << 20)

/* Which process, and which of its threads. */
struct probe_threads_ask {
	struct py_offsets offsets;
	__u64 runtime_addr; /* 0: not Python, only the kernel's part */
	pid_t first_tid; /* leave out threads with a lower id; 0: none */
	pid_t only_tid; /* 0: all */
	bool locals; /* include variables of the frames */
	bool pause; /* stop all threads meanwhile (frozen.h) */
	bool moving; /* with locals: include threads that do not hold still */
	bool stacks; /* include registers and C stacks: only with pause, or from a core */
};

enum probe_thread_flag {
	/* It did not run while its stack was walked: its data is consistent. */
	PROBE_THREAD_HELD = 1 << 0,
	/* It is running, or waits for a CPU: no stack. */
	PROBE_THREAD_RUNS = 1 << 1,
	PROBE_THREAD_SYSCALL = 1 << 2, /* syscall and args are valid */
	PROBE_THREAD_PYTHON = 1 << 3, /* it has a thread state */
	/* If it stood still: it holds the GIL; it waits for it. */
	PROBE_THREAD_HAS_GIL = 1 << 4,
	PROBE_THREAD_WAITS_GIL = 1 << 5,
	PROBE_THREAD_PAUSED = 1 << 6, /* it was stopped; with RUNS: while it was on a CPU */
	PROBE_THREAD_NAME_CHANGED = 1 << 7, /* while it was read */
	/*
	 * It did not hold still: its frames are not a stack, but those whose variables are included
	 * existed throughout.
	 */
	PROBE_THREAD_MOVING = 1 << 8,
	PROBE_THREAD_REGS = 1 << 9, /* regs are valid */
	/* they are those right after a system call instruction */
	PROBE_THREAD_BEHIND_CALL = 1 << 10,
	PROBE_THREAD_FROZEN = 1 << 11, /* with its control group, or with the machine */
};

enum probe_gil {
	PROBE_GIL_UNKNOWN,
	PROBE_GIL_NONE, /* free-threaded, without a GIL */
	PROBE_GIL_FREE,
	PROBE_GIL_HELD,
};

/* An interpreter, and its GIL at one moment. */
struct probe_interp {
	__s64 id; /* 0: the main one */
	__u64 interp_addr;
	__u64 gil_addr; /* equal for interpreters that share one; 0 unknown */
	__u64 holder; /* a thread id in the process's own pid namespace; 0: unknown or none */
	__u32 gil; /* enum probe_gil */
	__u32 pad_;
};

struct probe_thread {
	pid_t tid, ns_tid; /* in our and in the process's own pid namespace */
	char comm[16]; /* any bytes, NUL-terminated */
	char state; /* as /proc/PID/stat has it */
	__u8 reason; /* enum reason of the walk; with PROBE_THREAD_HELD and PROBE_THREAD_PYTHON */
	__u16 flags; /* enum probe_thread_flag */
	__s32 syscall; /* -1: not in one (a page fault, say) */
	__u64 args[6];
	__u32 file_mode; /* S_IFMT of the file behind descriptor args[0]; 0 unknown */
	__u64 stack_ptr, ip; /* in user space; with PROBE_THREAD_SYSCALL */
	__u64 cpu_ns, delay_ns,
		runs; /* on CPUs, waiting for one, and how often it got one; 0 unknown */
	__u64 tstate_addr, interp_addr, thread_ptr;
	__s64 interp_id;
	__u32 first_frame, frame_cnt; /* in frames, leaf first */
	__u32 name; /* Thread.name, in texts; 0: unknown, an empty text */
	__u32 tries; /* how many looks it took */
	__u64 stack_addr; /* where the copy of its C stack begins */
	__u32 stack_at, stack_len; /* in stacks; 0 bytes: none */
	__u64 regs[UNWIND_SAVED_WORDS]; /* user-mode registers */
};

/* A variable of a frame. */
struct probe_local {
	__u32 frame; /* in frames */
	__u32 name, value; /* in texts: UTF-8, not printable yet */
	__u32 changed; /* another thread changed it while it was read */
};

/* Precedes the list: threads, frames, interpreters, variables, texts, stacks. */
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
	const struct probe_interp *interps; /* newest first */
	const struct probe_local *locals; /* by frame */
	const char *texts, *stacks;
	__u32 thread_cnt, frame_cnt, local_cnt, text_len;
	bool locals_cut; /* there were more */
	pid_t next_tid; /* continue with this one; 0: the list is complete */
	__u32 list_reason; /* enum reason: result of reading the thread states */
	__u64 time_ns; /* CLOCK_MONOTONIC, at the start of the list */
	__u32 interp_cnt;
	__u64 pause_ns; /* upper bound of how long they were stopped; 0: they were not */
	void *memory;
};

/*
 * In a prober. dir: of /proc/PID; mem: its memory. on_wait: called from time to time while the
 * process stands still; may be NULL. Returns a descriptor of the list, or -ESRCH, -EACCES, -EPERM:
 * it may not be stopped, -errno.
 */
int probe_threads_list(int dir, int mem, const struct probe_threads_ask *ask,
		       void (*on_wait)(void *ctx), void *wait_ctx)
	__attribute__((warn_unused_result, nonnull(3)));

/*
 * Of a thread that stands still (frozen.h), whose memory is mem: takes its registers, and appends its C stack to the copies,
 * so that its native frames can be walked long after it has gone on. A longer stack is cut at its root.
 */
void probe_threads_copy(struct bytes *copies, int mem, const struct frozen_thread *f,
			struct probe_thread *t) __attribute__((nonnull));

/*
 * In krait: reads the list from that descriptor, which the caller keeps. Returns 0, -EPROTO,
 * -errno.
 */
int probe_threads_read(int fd, struct probe_threads *ret)
	__attribute__((warn_unused_result, nonnull));
void probe_threads_free(struct probe_threads *l) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PROBE_PROBE_THREADS_H */
