/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - every byte that crosses between the kernel programs and user space.
 *
 * This file has limits and the values of maps, offsets.h where things are in an interpreter, record.h what
 * goes through the ring buffer. No other includes: the BPF side gets __u32 and friends from vmlinux.h, the
 * user side from <linux/types.h>, which must come first. Padding is explicit and sizes are asserted, so the
 * two compilers cannot disagree.
 *
 * Must hold: a remote address is a __u64 named *_addr, never a pointer.
 */
#ifndef KRAIT_ABI_H
#define KRAIT_ABI_H

/* Nodes (frames and entry frames) of a stack before it is "truncated: depth". */
#define KRAIT_MAX_FRAMES 2048
/* Native frames of a stack before it is "truncated", and frames of the kernel (its own limit). */
#define KRAIT_MAX_NATIVE 256
#define KRAIT_MAX_KERNEL 127
/*
 * Thread states that one interrupt may look at (27 ns each) while the process has budget left: a burst of this many,
 * refilled by one every 2^KRAIT_SEARCH_SHIFT ns (2.6 % of a CPU). A process without budget is searched in parts, over
 * several interrupts.
 */
#define KRAIT_MAX_THREADS 8192
#define KRAIT_SEARCH_PART 1024
#define KRAIT_SEARCH_BUDGET 65536
#define KRAIT_SEARCH_SHIFT 10
/* Distinct interpreter layouts (builds) known at once. */
#define KRAIT_MAX_LAYOUTS 128
#define KRAIT_MAX_PROCS 16384
#define KRAIT_MAX_BINARIES 256
/* Executables, by user, known not to be Python or to be Python only sometimes. */
#define KRAIT_MAX_PLAIN 4096
/* Functions of libraries where the interpreter begins: six each. */
#define KRAIT_MAX_ENTRIES (6 * KRAIT_MAX_BINARIES)
#define KRAIT_MAX_SLOTS 16384
/* Perf events of one recording. */
#define KRAIT_MAX_EVENTS 16
/* Threads that can have an anchor at once, and frames below an anchor that it may slide over. */
#define KRAIT_MAX_ANCHORS 1024
#define KRAIT_ANCHOR_FRAMES 1024
/* A record with fewer frames is not worth an anchor; younger threads get none. */
#define KRAIT_ANCHOR_WORTH 8
#define KRAIT_ANCHOR_AGE_NS 1000000000ULL

/*
 * Bytes read in one go at the start of a PyThreadState, an interpreter frame and a code object.
 * Every offset that the kernel uses must lie within; user space refuses a layout where it does not.
 */
#define KRAIT_THREAD_WINDOW 256
#define KRAIT_FRAME_WINDOW 80
#define KRAIT_CODE_WINDOW 192
/* The same of a PyFrameObject and its code object, 3.8 to 3.10. */
#define KRAIT_OLD_FRAME_WINDOW 128
#define KRAIT_OLD_CODE_WINDOW 144
/* And of a _PyCFrame, 3.11 and 3.12; their PyThreadState, with the outermost one, is no larger. */
#define KRAIT_CFRAME_WINDOW 24
#define KRAIT_CFRAME_THREAD 384

/*
 * Parts (tasks and frames of their coroutines) of a chain of asyncio tasks before it is cut, and turns that it
 * may take to find them: tasks.h. Of a task so many bytes are read.
 */
#define KRAIT_MAX_TASK_PARTS 256
#define KRAIT_MAX_TASK_STEPS 1024
#define KRAIT_TASK_WINDOW 64

/* The same of the greenlets that wait for the one that a thread runs: greenlets.h. */
#define KRAIT_MAX_GREENLET_PARTS 256
#define KRAIT_MAX_GREENLET_STEPS 512
#define KRAIT_GREENLET_WINDOW 208

/*
 * A process is its pid and its start, ns on the boot clock. /proc has the start only in ticks of 10 ms:
 * a whole number of ticks stands for any start within that tick.
 */
#define KRAIT_NS_PER_TICK 10000000ULL

static inline int same_start(__u64 a, __u64 b)
{
	if (a == b)
		return 1;
	if (a % KRAIT_NS_PER_TICK && b % KRAIT_NS_PER_TICK)
		return 0;
	return a / KRAIT_NS_PER_TICK == b / KRAIT_NS_PER_TICK;
}

/* Compares two processes with one pid: < 0 if a started earlier, 0 if they are the same process. */
static inline int start_order(__u64 a, __u64 b)
{
	return same_start(a, b) ? 0 : a < b ? -1 : 1;
}

#include "offsets.h"
/*
 * Key of the maps binaries and plain: an executable as it was when it was looked at. Those in binaries have the
 * interpreter in themselves; user space keeps them open as long as the key is there, so inode and device are no other's.
 */
struct binary_key {
	__u64 inode;
	__u64 size;
	__u64 ctime_sec; /* when the inode was changed last, which nobody can set */
	__u32 ctime_nsec;
	__u32 dev; /* as the kernel has it: major << 20 | minor */
};
_Static_assert(sizeof(struct binary_key) == 32, "struct binary_key is shared with BPF");

/* Key of the map plain: what processes with this real uid (as the host numbers it) have shown about a file. */
struct plain_key {
	struct binary_key file;
	__u32 uid;
	__u32 pad_;
};
_Static_assert(sizeof(struct plain_key) == 40, "struct plain_key is shared with BPF");

enum plain_verdict {
	PLAIN_NEVER_PYTHON = 1,
	PLAIN_PYTHON, /* at least once */
};

#include "record.h"
#include "unwind_arch.h"

/*
 * Where the asyncio tasks of a process are: value of the map task_layouts, keyed by host tgid. Written by user
 * space only (session/task_layouts.h), of the table that the process publishes. Of a task the offsets count from
 * window_at on.
 */
struct task_layout {
	__u64 start_ns; /* of the process: see same_start() */
	__u32 running_task; /* in the thread state */
	__u32 window_at; /* in a task */
	__u8 name, awaited_by, is_task, awaited_by_is_set, coro;
	__u8 gen_iframe; /* PyGenObject */
	__u8 gen_state; /* of it, counted from FRAME_HEAD bytes before gen_iframe */
	__u8 set_used; /* PySetObject: used, mask, table */
	__u8 frame_stackpointer; /* _PyInterpreterFrame */
	__u8 yield_depth; /* bytes from there down to what is awaited */
	/* gi_frame_state, Include/internal/pycore_frame.h */
	__s8 state_first, state_yield_from, state_locked, state_executing, state_ended, state_last;
};
_Static_assert(sizeof(struct task_layout) == 32, "struct task_layout is shared with BPF");

/*
 * Where the greenlets of a process are: value of the map greenlet_places, keyed by host tgid. Written by user space only
 * (target/greenlet_place.h), once it has seen in one thread that all of it is so.
 */
struct greenlet_place {
	__u64 start_ns; /* of the process: see same_start() */
	/* The thread's variable that leads to its main and its current greenlet: in the block of a module's. */
	__u32 tls_module; /* the dynamic linker's number of it */
	__u32 dtv_entry; /* in the table of those blocks, whose address is in the thread at dtv_at */
	__s32 dtv_count; /* how many entries that has, as seen from there */
	__u32 dtv_at;
	__u32 state_at; /* in the block */
	/* A greenlet leads to its C++ object, which has these. */
	__u8 impl;
	__u8 size; /* read at once: all but the parent, which main greenlets do not have */
	__u8 self, parent, stack_start, stack_stop, top_frame;
	__u8 pad_[5];
};
_Static_assert(sizeof(struct greenlet_place) == 40, "struct greenlet_place is shared with BPF");

enum proc_flag {
	/* Read a fingerprint of every code object: its address alone does not identify it. */
	PROC_FINGERPRINT = 1 << 0,
	/* Sampled. Without it the process is only followed: it may become Python, or start one. */
	PROC_PYTHON = 1 << 1,
};

/*
 * Value of the map procs, keyed by host tgid. User space creates entries; at fork, exec and exit the
 * process event programs, which run in process context, copy, replace and delete them.
 */
struct proc_info {
	__u64 runtime_addr; /* &_PyRuntime in the target */
	__u64 start_ns; /* of the process: see same_start() */
	__u64 dropped; /* interrupts lost because the ring buffer was full; kernel adds */
	__u32 layout; /* index into the map layouts */
	__u32 flags; /* enum proc_flag */
	__u32 seen; /* the kernel sets it once the runtime could be read */
	__u32 owner; /* whose room it takes up: share.h; of the credentials that it began with */
	/* The kernel's: what snapshots of code objects, and searches, may still take, and since when. */
	__u64 code_ns, search_ns;
	__u32 code_bytes;
	__u32 search_states;
	__u32 mmaps; /* mappings that were reported; the kernel counts */
	__u32 unmet; /* a fork of which user space has not been told in a hurry: its first sample is one */
	__u64 since_ns; /* CLOCK_MONOTONIC: when user space entered it, or its parent; 0 it was the kernel */
};
_Static_assert(sizeof(struct proc_info) == 80, "struct proc_info is shared with BPF");

/*
 * What krait knows about an interpreter before it runs, from its executable (map binaries) or from a library function
 * that starts it (map entries). Only user space writes it.
 */
struct binary_info {
	/* &_PyRuntime - mm->start_code or - the function, modulo 2^64; the same in every process */
	__u64 runtime_delta;
	__u32 layout;
	__u32 flags; /* enum proc_flag */
	__u32 file; /* which one: user space's number */
	__u32 pad_;
};
_Static_assert(sizeof(struct binary_info) == 24, "struct binary_info is shared with BPF");

/* Value of the map threads, keyed by host tid. Created and deleted by user space only. */
struct thread_ref {
	__u64 start_ns; /* task start, boot clock: a reused tid does not match */
	__u32 slot; /* index into the map slots */
	__u32 anchor; /* index into the map anchors, or KRAIT_NO_ANCHOR */
};
_Static_assert(sizeof(struct thread_ref) == 16, "struct thread_ref is shared with BPF");

/*
 * What the program remembers about one thread. Only a program that interrupted this thread writes it; if two nest,
 * the outer one does.
 */
struct thread_slot {
	__u64 start_ns; /* whom the content belongs to */
	__u64 tstate_addr; /* last thread state found, re-validated at each sample; 0 none */
	__u64 interp_addr; /* of it, or of resume_addr */
	/* A search that was broken off goes on here; 0 none. */
	__u64 resume_addr, resume_prev_addr;
	__u64 candidate_addr, candidate_interp_addr;
	/* The list that was searched: its first state, and the one behind that. */
	__u64 head_addr, head_next_addr;
	__u32 frame_cnt; /* of the walk before */
	__u16 native; /* nothing was found in that list */
	__u16 taken; /* a program is at work with it, and with the anchor */
};
_Static_assert(sizeof(struct thread_slot) == 80, "struct thread_slot is shared with BPF");

/*
 * What is known of a thread's time on and off the CPU. Only switches and ticks write it: one CPU at a time, in the
 * order in which they happen. 64 bytes: a line of the cache.
 */
struct thread_wait {
	__u64 thread_start_ns; /* whose, with tid; 0: nobody's */
	__u64 sampled_ns; /* of on_ns, and since since_ns: what samples of a clock and marks stand for so far, with --wall */
	__u64 since_ns; /* when it came to the CPU, or left it */
	__u64 on_ns, off_ns;
	__u64 run_delay_ns; /* the kernel's sum as it left: how long it was ready to run */
	__u32 tid;
	__u32 left, rest; /* struct switch_point, switch.h */
	__u16 task_state; /* as it left, or one of those below */
	__u8 shift; /* of the point, too */
	__u8 ticks; /* that hit the CPU when it was on its way to or from the thread, and have no sample yet */
};
#define TICKS_OWED_MAX 255
/* It is on a CPU; it is off, and nobody has seen it leave. No state of the kernel's has nearly as many bits. */
#define TASK_STATE_ON_CPU 0xfffe
#define TASK_STATE_UNKNOWN 0xffff
_Static_assert(sizeof(struct thread_wait) == 64, "struct thread_wait is shared with BPF");

/*
 * A thread of a tracked process as it is now; the kernel produces these on request. If a second look finds the thread
 * off the CPU with the same number of switches, it has not run in between.
 */
struct thread_look {
	__u64 thread_start_ns;
	__u64 thread_ptr;
	__u64 switches; /* of the thread, so far: it counts them as it leaves a CPU */
	__u64 runs; /* how often it came to one, so far; 0 where the kernel does not count that */
	__u64 since_ns; /* off the CPU, within the recording; 0: it is not */
	struct wait_facts facts; /* of that: without length, and without the GIL */
	__u32 pid;
	__u32 tid;
	__u32 left, rest; /* struct switch_point, switch.h */
	__u16 owner;
	__u8 on_cpu; /* it runs, or is about to leave the CPU */
	__u8 behind_syscall; /* its registers are those behind the instruction of a system call */
	__u8 shift; /* of the point, too */
	__u8 pad_[3];
	char comm[16];
	__u64 regs[UNWIND_SAVED_WORDS]; /* of user mode; with WAIT_HAS_SYSCALL */
};
_Static_assert(sizeof(struct thread_look) == 144 + 8 * UNWIND_SAVED_WORDS,
	       "struct thread_look is shared with BPF");

/* Threads whose waits can be known at once: 2 MiB. A thread has two places where it may be. */
#define KRAIT_MAX_WAITS 32768

static inline __u32 wait_place(__u32 tid, int second)
{
	return (second ? (tid * 2654435761U) >> 11 : tid) % KRAIT_MAX_WAITS;
}

#define KRAIT_NO_SLOT (~0U)
#define KRAIT_NO_ANCHOR (~0U)
#define KRAIT_NO_LAYOUT (~0U)

/*
 * One thread's anchor: what user space wrote into PyThreadState.last_profiled_frame, and what the
 * program has made of it. The protocol is in anchor.h.
 */
struct anchor {
	/* user space, while epoch is 0 */
	__u64 epoch; /* 0 off or being written; otherwise a number never used in this slot before */
	__u64 tstate_addr; /* the thread state that is meant */
	/* user space's belief until it is confirmed, the program's knowledge from then on */
	__u64 seq; /* last_profiled_frame_seq that belongs to addrs[0] */
	__u32 addr_cnt; /* of addrs */
	/* the program */
	__u32 state; /* enum anchor_state */
	__u64 state_epoch; /* the epoch that the state belongs to */
	__u32 deltas; /* so far, of whatever thread, modulo 2^32 */
	__u32 delta_frames; /* that they have carried */
	__u32 audited; /* deltas when the last audit was */
	__u32 depth; /* nodes of the last walk that met the anchor and went to the root */
	__u64 addrs[KRAIT_ANCHOR_FRAMES]; /* the anchor, its caller ... to the first entry frame */
};
_Static_assert(sizeof(struct anchor) == 56 + 8 * KRAIT_ANCHOR_FRAMES, "struct anchor is shared");

enum anchor_state {
	ANCHOR_WRITTEN, /* nobody has met it yet */
	ANCHOR_CONFIRMED, /* met alive: every pop of it is seen from then on */
	ANCHOR_OVER, /* no good any more, until user space writes another */
};

/* The kernel gives a clock no shorter period than this, whatever was requested (kernel/events/core.c). */
#define TICK_NS_MIN 10000

/* What the timers of one CPU have done for one perf event; the kernel writes it. */
struct tick {
	__u64 grid_ns; /* when the last one was due: tick.h */
	__u64 period_ns; /* of the timer, then */
	__u64 delivered; /* whatever ran there */
	__u64 missed;
	__u64 missed_here; /* of them those right before one that hit a process in procs */
};
_Static_assert(sizeof(struct tick) == 40, "struct tick is shared with BPF");

/*
 * Per-CPU counts for each perf event. A record says how its interrupt ended, so only interrupts without a record are
 * counted here.
 */
struct event_counts {
	__u64 interrupts; /* of tracked processes */
	__u64 ring_full; /* of them those that found no room in the ring buffer */
	__u64 nested; /* of them those whose memory was in use */
	struct tick tick;
};
_Static_assert(sizeof(struct event_counts) == 64, "a line of memory, shared with BPF");

/* Contexts in which one sampling program can interrupt another: scratch.h. */
enum sample_context {
	CONTEXT_EVENT, /* perf events */
	CONTEXT_TRACE, /* a tracepoint */
	CONTEXT_CNT
};

/* Index into the per-CPU map counters. */
enum counter {
	COUNTER_EVENTS_DROPPED, /* process events that found the ring buffer full */
	COUNTER_CODE_SENT, /* snapshots of code objects */
	COUNTER_CODE_DROPPED, /* those that found the ring buffer full */
	COUNTER_THREAD_STEPS, /* thread states looked at in searches */
	COUNTER_WAITS_REFUSED, /* threads that left a CPU and found no room in the map waits */
	COUNTER_WAITS_MISSED_NS, /* of waits, by samples that could not be taken or sent, and CPU time with them */
	COUNTER_OWN_NS, /* that the programs have run, where measure_time is set */
	COUNTER_CNT
};

#endif /* KRAIT_ABI_H */
