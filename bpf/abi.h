/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - every byte that crosses between the kernel programs and user space.
 *
 * This file defines limits and map values, offsets.h where things are in an interpreter, and
 * record.h what goes through the ring buffer. Whoever includes this file has all three. Padding is
 * explicit and sizes are asserted, so the two compilers cannot disagree.
 *
 * Must hold: a remote address is a __u64 named *_addr, never a pointer.
 */
#ifndef KRAIT_BPF_ABI_H
#define KRAIT_BPF_ABI_H

#include "bpf/fault.h"
#include "bpf/offsets.h"
#include "bpf/record.h"
#include "bpf/types.h"
#include "bpf/arch.h"

/* A stack with more nodes (frames and entry frames) than this is "truncated: depth". */
#define KRAIT_MAX_FRAMES 2048
/*
 * A native stack with more frames than this is "truncated: native depth": on 3.8 about 340 Python
 * calls, which take three C frames each; from 3.11 on these take none. The kernel itself limits its
 * own frames.
 */
#define KRAIT_MAX_NATIVE 1024
#define KRAIT_MAX_KERNEL 127
/*
 * Thread states that one interrupt may visit (27 ns each) while the process has budget left: a
 * burst of this many, refilled by one every 2^KRAIT_SEARCH_SHIFT ns (2.6 % of a CPU). Without
 * budget, a search is split over several interrupts.
 */
#define KRAIT_MAX_THREADS 8192
#define KRAIT_SEARCH_PART 1024
#define KRAIT_SEARCH_BUDGET 65536
#define KRAIT_SEARCH_SHIFT 10
/* Distinct interpreter builds (layouts) known at once. */
#define KRAIT_MAX_LAYOUTS 128
#define KRAIT_MAX_PROCS 16384
#define KRAIT_MAX_BINARIES 256
/* Executables, per user, known not to be Python, or to be Python only sometimes. */
#define KRAIT_MAX_PLAIN 4096
/* Library functions in which an interpreter starts: six per library. */
#define KRAIT_MAX_ENTRIES (6 * KRAIT_MAX_BINARIES)
#define KRAIT_MAX_SLOTS 16384
/* Users whose threads alone are sampled. */
#define KRAIT_MAX_USERS 16
/* Perf events of one recording. */
#define KRAIT_MAX_EVENTS 16
/* Timers of one event on one CPU; the lowest bits of a timer's period are its number. */
#define KRAIT_MAX_GRIDS 4
#define KRAIT_GRID_MASK (KRAIT_MAX_GRIDS - 1)
/* Threads that can have an anchor at once, and frames below an anchor that it may slide over. */
#define KRAIT_MAX_ANCHORS 1024
#define KRAIT_ANCHOR_FRAMES 1024
_Static_assert(KRAIT_MAX_FRAMES < 1 << 16 && KRAIT_ANCHOR_FRAMES < 1 << 16, "counted in a __u16");
/* A stack with fewer frames gets no anchor, nor does a thread younger than this. */
#define KRAIT_ANCHOR_WORTH 8
#define KRAIT_ANCHOR_AGE_NS 1000000000ULL

/*
 * Limits for a chain of asyncio tasks (asyncio_tasks.h): parts (tasks and frames of their coroutines)
 * before it is cut off, steps to find them, and bytes read of each task.
 */
#define KRAIT_MAX_TASK_PARTS 256
#define KRAIT_MAX_TASK_STEPS 1024
#define KRAIT_TASK_WINDOW 64

/* The same for the greenlets that wait for the one the thread runs (greenlets.h). */
#define KRAIT_MAX_GREENLET_PARTS 256
#define KRAIT_MAX_GREENLET_STEPS 512
#define KRAIT_GREENLET_WINDOW 208

/*
 * A process is identified by its pid and start time, in ns of the boot clock. /proc gives the start
 * only in ticks of 10 ms, so a whole number of ticks matches any start within that tick.
 */
#define KRAIT_NS_PER_TICK 10000000ULL

static inline int same_start(__u64 a, __u64 b)
{
	__u64 whole = a < b ? a : b, within = a < b ? b - a : a - b;

	return !within || (within < KRAIT_NS_PER_TICK && whole % KRAIT_NS_PER_TICK == 0);
}

/* Compares two processes with one pid: < 0 if a started earlier, 0 if they are the same process. */
static inline int start_order(__u64 a, __u64 b)
{
	return same_start(a, b) ? 0 : a < b ? -1 : 1;
}

/*
 * Key of the map plain: what the processes of one real uid (in host numbers) have shown about a
 * file.
 */
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

/*
 * Where the asyncio tasks of a process are: value of the map task_layouts, keyed by host tgid. Only
 * user space writes it (python/layout/task_layout.h), from the table that the process publishes. Offsets
 * within a task count from window_at.
 */
struct task_layout {
	__u64 start_ns; /* start of the process: see same_start() */
	__u32 running_loop; /* in the thread state; the running task comes next */
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
 * Where the greenlets of a process are: value of the map greenlet_places, keyed by host tgid. Only
 * user space writes it (process/identify/greenlet_place.h), after it has verified every member in one thread.
 */
struct greenlet_place {
	__u64 start_ns; /* start of the process: see same_start() */
	/*
	 * The thread-local variable of greenlet's module that points to the thread's main and
	 * current greenlet.
	 */
	/*
	 * the module's number in the dynamic linker; 0: the variable is at state_at from each thread's
	 * pthread_self(), and what follows up to there says nothing
	 */
	__u32 tls_module;
	/*
	 * offset of the module's entry in the thread's table of TLS blocks (the dtv), which dtv_at
	 * points to
	 */
	__u32 dtv_entry;
	__s32 dtv_count; /* offset of the number of entries, from the dtv */
	__s32 dtv_at; /* from pthread_self() */
	__s32 state_at; /* offset of the variable in the block */
	/* A greenlet points to its C++ object (impl), which has the members below. */
	__u8 impl;
	__u8 size; /* bytes read at once: everything but the parent, which main greenlets lack */
	__u8 self, parent, stack_start, stack_stop, top_frame;
	__u8 pad_[5];
};
_Static_assert(sizeof(struct greenlet_place) == 40, "struct greenlet_place is shared with BPF");

enum proc_flag {
	/*
	 * Sample it. Without this flag krait only follows the process, which may become Python or
	 * start Python.
	 */
	PROC_PYTHON = 1 << 0,
};

enum proc_seen {
	PROC_SEEN_RUNTIME = 1 << 0, /* it could read the runtime */
	PROC_SEEN_POINTER = 1 << 1, /* some thread has the pointer that its state says */
};

/*
 * Value of the map procs, keyed by host tgid. User space creates entries. At fork, exec and exit
 * the lifecycle programs, which run in process context, copy, replace and delete them.
 */
struct proc_info {
	__u64 runtime_addr; /* &_PyRuntime in the target */
	__u64 start_ns; /* start of the process: see same_start() */
	/* interrupts lost because the ring buffer was full; only the kernel adds to it */
	__u64 dropped;
	__u32 layout; /* index into the map layouts */
	__u32 flags; /* enum proc_flag */
	__u32 seen; /* enum proc_seen; set by the kernel */
	/*
	 * the owner that pays for the entry (share.h); from its last sample on, the one that the
	 * task then belonged to
	 */
	__u32 owner;
	/*
	 * Only the kernel uses these: budgets for snapshots of code objects and for searches, and
	 * when they were last refilled.
	 */
	__u64 code_ns, search_ns;
	__u32 code_bytes;
	__u32 search_states;
	__u32 mmaps; /* mappings reported so far; the kernel counts */
	__u32 unmet; /* a fork that user space was not woken for: its first sample wakes it */
	/* CLOCK_MONOTONIC: when user space entered the process or its parent; 0: the kernel did */
	__u64 since_ns;
	/* CLOCK_MONOTONIC: since when its interrupts are samples (PROC_PYTHON); a fork has its parent's */
	__u64 sampled_ns;
	__u32 payer; /* task_payer() of the owner plus one; 0: no sample has said it yet */
	/* what samples at perf events take, in ns: one in eight is measured; only the kernel writes: */
	__u32 walk_recent_ns; /* the mean of the last ones */
	__u64 walks_ns; /* the sum */
	__u64 walk_cnt;
	/* the same clock; only the kernel: when code was last seen to be replaced in place (code_object.h) */
	__u64 replaced_ns;
	struct fault_budget faults; /* only the kernel; a fork begins with its parent's */
};
_Static_assert(sizeof(struct proc_info) == 128, "struct proc_info is shared with BPF");

/*
 * What krait knows about an interpreter before it runs, from its executable (map binaries) or from
 * the library function that starts it (map entries). Only user space writes it.
 */
struct binary_info {
	/*
	 * &_PyRuntime minus mm->start_code, or minus the function's address, modulo 2^64: the same
	 * in every process
	 */
	__u64 runtime_delta;
	__u32 layout;
	__u32 flags; /* enum proc_flag */
	__u32 file; /* user space's number of the file */
	__u32 pad_;
};
_Static_assert(sizeof(struct binary_info) == 24, "struct binary_info is shared with BPF");

/* Value of the map threads, keyed by host tid. Only user space creates and deletes entries. */
struct thread_ref {
	__u64 start_ns; /* task start, boot clock: differs if the tid has been reused */
	__u32 slot; /* index into the map slots */
	__u32 anchor; /* index into the map anchors, or KRAIT_NO_ANCHOR */
};
_Static_assert(sizeof(struct thread_ref) == 16, "struct thread_ref is shared with BPF");

/*
 * Where tasks without a creator run (asyncio_tasks.h). A loop has two ways to a task's step, through
 * different functions of C: TaskStepMethWrapper_call() and task_wakeup() (Modules/_asynciomodule.c).
 */
struct task_calm {
	__u32 entry[2]; /* entry frames of their coroutines, the lower halves of the addresses */
	__u32 caller; /* the frame of their caller, likewise */
};

static inline int task_is_calm(const struct task_calm *c, __u64 entry_addr)
{
	return (__u32)entry_addr == c->entry[0] || (__u32)entry_addr == c->entry[1];
}

/*
 * What the sampling program remembers about one thread. Only a program that interrupted this thread
 * writes it; if two nest, only the outer one does.
 */
struct thread_slot {
	__u64 start_ns; /* the thread that the content belongs to */
	__u64 tstate_addr; /* last thread state found, revalidated at each sample; 0 none */
	__u64 interp_addr; /* interpreter of tstate_addr, or of resume_addr */
	/* Where to resume a search that ran out of budget; 0: nothing to resume. */
	__u64 resume_addr, resume_prev_addr;
	__u64 candidate_addr, candidate_interp_addr;
	/* First two states of the list that was searched. */
	__u64 head_addr, head_next_addr;
	__u32 frame_cnt; /* frames in the previous walk */
	__u16 native; /* that list has no state of this thread */
	__u16 taken; /* a program is using the slot and the anchor */
	/* where its thread states point to the running loop, when tasks_known had that value; 0: nowhere */
	__u32 running_loop, tasks_known;
	struct task_calm calm;
	__u32 idle; /* where no task ran, and none ran the loop (idle_place()); 0: unknown */
	__u64 spared; /* what ticks stand for that were no samples, for the sake of --budget: the next one has it */
};
_Static_assert(sizeof(struct thread_slot) == 112, "struct thread_slot is shared with BPF");

/*
 * A thread's time on and off the CPU. Only switches and ticks write it: one CPU at a time, in the
 * order in which they happen. 64 bytes: one cache line.
 */
struct thread_wait {
	/* start of the thread, which identifies it together with tid; 0: unused */
	__u64 thread_start_ns;
	/*
	 * the part of on_ns, and of the time since since_ns, that clock samples and marks stand for
	 * so far (--wall)
	 */
	__u64 sampled_ns;
	__u64 since_ns; /* when the thread came to the CPU, or left it */
	__u64 on_ns, off_ns;
	/* the kernel's total when the thread left: time spent runnable but waiting */
	__u64 run_delay_ns;
	__u32 tid;
	__u32 left, rest; /* struct switch_point, switch.h */
	__u16 task_state; /* state in which it left, or one of the values below */
	__u8 shift; /* also part of the point */
	__u8 ticks; /* ticks on the way to or from the thread that no sample covers yet */
};
#define TICKS_OWED_MAX 255
/* On a CPU; off it, but nobody saw it leave. The kernel's states use far fewer bits. */
#define TASK_STATE_ON_CPU 0xfffe
#define TASK_STATE_UNKNOWN 0xffff
_Static_assert(sizeof(struct thread_wait) == 64, "struct thread_wait is shared with BPF");

/*
 * A thread of a tracked process as it is now; the kernel produces these on request. If two looks
 * find the thread off the CPU with the same number of switches, it has not run in between.
 */
struct thread_look {
	__u64 thread_start_ns;
	__u64 thread_ptr;
	__u64 switches; /* of the thread so far; the kernel counts when a thread leaves a CPU */
	__u64 runs; /* times it has come to a CPU; 0 if this kernel does not count them */
	__u64 since_ns; /* off the CPU since then, within the recording; 0: it is not off */
	struct wait_facts facts; /* of that wait, without its length and without the GIL */
	__u32 pid;
	__u32 tid;
	__u32 left, rest; /* struct switch_point, switch.h */
	__u16 owner;
	__u8 on_cpu; /* it runs, or is about to leave the CPU */
	__u8 behind_syscall; /* its registers are those right after a system call instruction */
	__u8 shift; /* also part of the point */
	__u8 pad_[7];
	struct task_ids ids; /* of the thread */
	char comm[16];
	__u64 regs[UNWIND_SAVED_WORDS]; /* user-mode registers; valid with WAIT_HAS_SYSCALL */
};
_Static_assert(sizeof(struct thread_look) == 160 + 8 * UNWIND_SAVED_WORDS,
	       "struct thread_look is shared with BPF");

/* Threads whose waits can be tracked at once: 2 MiB. Each thread has two candidate places. */
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
 * sampling program has concluded about it. anchor.h describes the protocol.
 */
struct anchor {
	/* written by user space while epoch is 0 */
	__u64 epoch; /* 0 off or being written; otherwise a number never used in this slot before */
	__u64 tstate_addr; /* the thread state that the anchor is for */
	/* user space's belief until the anchor is confirmed; from then on the program's knowledge */
	__u64 seq; /* the last_profiled_frame_seq that belongs to addrs[0] */
	__u32 addr_cnt; /* number of addrs */
	/* written by the sampling program */
	__u32 state; /* enum anchor_state */
	__u64 state_epoch; /* the epoch that the state belongs to */
	__u32 deltas; /* so far, over all threads that used this slot, modulo 2^32 */
	__u32 delta_frames; /* frames that those deltas carried */
	__u32 audited; /* value of deltas at the last audit */
	__u32 depth; /* nodes in the last walk that met the anchor and reached the root */
	__u64 addrs[KRAIT_ANCHOR_FRAMES]; /* the anchor, its caller ... to the first entry frame */
};
_Static_assert(sizeof(struct anchor) == 56 + 8 * KRAIT_ANCHOR_FRAMES, "struct anchor is shared");

enum anchor_state {
	ANCHOR_WRITTEN, /* no interrupt has met it yet */
	/* an interrupt has met it alive: the interpreter reports every pop from then on */
	ANCHOR_CONFIRMED,
	ANCHOR_OVER, /* no longer usable; user space must write another */
};

/*
 * The kernel gives a clock no shorter period than this, whatever user space requests
 * (kernel/events/core.c).
 */
#define TICK_NS_MIN 10000

/*
 * Where one timer of one CPU is, as its ticks on threads of tracked processes say.
 */
struct tick {
	__u64 grid_ns; /* when the last tick was due (tick.h) */
	__u64 period_ns; /* the timer's period at that time; at least TICK_NS_MIN once grid_ns is set */
};

/* The same for all timers of one event; only the kernel uses it. */
struct ticks {
	__u64 done_ns; /* when the last sample was taken, if samples can crowd each other out */
	/* ticks that were skipped since then, and the thread that they hit */
	__u32 skipped, tid;
	struct tick grids[KRAIT_MAX_GRIDS];
};

/*
 * Per-CPU counts for each perf event. A record says how its interrupt ended, so these count only
 * interrupts that left no record.
 */
struct event_counts {
	__u64 interrupts; /* of tracked processes */
	__u64 ring_full; /* of those, interrupts that found no room in the ring buffer */
	__u64 nested; /* of those, interrupts whose memory was in use */
	__u64 missed; /* ticks of a clock that were due while threads of tracked processes ran, and never came */
	__u64 pad_[4];
};
_Static_assert(sizeof(struct event_counts) == 64, "a line of memory, shared with BPF");

/* Of a member of a group, on one CPU: its count when it was last read, and what no sample of pid has had of it yet. */
struct member_count {
	__u64 read, more;
	__u64 pid; /* 0: a process that is not tracked */
};

/* A sample's interrupt in pid has read it. A CPU that was offline has a new event, which counts from 0. */
static inline void member_count_add(struct member_count *m, __u64 read, __u32 pid)
{
	const __u64 delta = read < m->read ? read : read - m->read;

	if (m->pid != pid)
		m->more = 0;
	m->pid = pid;
	m->read = read;
	m->more = pid ? m->more + delta : 0;
}

/* Contexts in which one sampling program can interrupt another (scratch.h). */
enum sample_context {
	CONTEXT_EVENT, /* perf events */
	CONTEXT_TRACE, /* the end of a scheduler's switch */
	CONTEXT_PROBE, /* a probe in a program's code */
	CONTEXT_CNT
};

/*
 * A filter of a tracepoint (--filter): tests, each with the index of the one that follows if it holds and if not;
 * FILTER_TAKE and FILTER_SKIP end it. Tests lead only to those with a lower index.
 */
#define FILTER_TESTS_MAX 16
#define FILTER_TAKE 254
#define FILTER_SKIP 255
/* Different filters of one recording; 0 is none. */
#define FILTERS_MAX 64
#define FILTER_TEXT_MAX 32
/* Bytes of a field's text that are compared, with the NUL. */
#define FILTER_FIELD_MAX 256

enum filter_field {
	FILTER_NUMBER, /* size bytes at offset */
	FILTER_TEXT, /* NUL-terminated, at offset */
	FILTER_TEXT_AT, /* where the lower half of the 4 bytes at offset says (__data_loc) */
	FILTER_THE_TID,
	FILTER_THE_CPU,
	FILTER_THE_COMM,
};

enum filter_op {
	FILTER_IS,
	FILTER_IS_NOT,
	FILTER_LESS,
	FILTER_LESS_OR_IS,
	FILTER_MORE,
	FILTER_MORE_OR_IS,
	FILTER_HAS, /* numbers: one of them; texts: somewhere */
	FILTER_BEGINS, /* texts only, as what follows */
	FILTER_ENDS,
};

struct filter_test {
	__u16 offset; /* in the tracepoint's record */
	__u8 size; /* 1, 2, 4, 8 */
	__u8 field, op; /* enum filter_field, filter_op */
	__u8 is_signed;
	__u8 yes, no;
	__u64 value;
	__u32 len; /* of text */
	char text[FILTER_TEXT_MAX];
	__u32 pad_;
};

struct filter_program {
	__u32 begin; /* the first test */
	__u32 pad_;
	struct filter_test tests[FILTER_TESTS_MAX];
};

/* Index into the per-CPU map counters. */
enum counter {
	COUNTER_EVENTS_DROPPED, /* process events that found the ring buffer full */
	COUNTER_CODE_SENT, /* snapshots of code objects */
	COUNTER_CODE_DROPPED, /* snapshots that found the ring buffer full */
	COUNTER_CODE_REPLACED, /* code objects whose contents have changed under the same key */
	COUNTER_THREAD_STEPS, /* thread states visited by searches */
	COUNTER_WAITS_REFUSED, /* threads that left a CPU but found no room in the map waits */
	/* wait time, and CPU time with it, whose samples could not be taken or sent */
	COUNTER_WAITS_MISSED_NS,
	COUNTER_NOT_OWN, /* interrupts of threads with other rights than own_uid's */
	COUNTER_OWN_NS, /* run time of the programs, if measure_time is set */
	COUNTER_CNT
};

#endif /* KRAIT_BPF_ABI_H */
