/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - every byte that crosses between the kernel programs and user space.
 *
 * No includes: the BPF side gets __u32 and friends from vmlinux.h, the user side from
 * <linux/types.h>, which must come first. Padding is explicit and sizes are asserted, so the two
 * compilers cannot disagree.
 *
 * Must hold:
 *  - a remote address is a __u64 named *_addr, never a pointer;
 *  - an absent offset is PYOFF_ABSENT and never 0, since 0 is a valid offset;
 *  - a reason keeps its number within a release, and its name for ever: outputs print the name.
 */
#ifndef KRAIT_ABI_H
#define KRAIT_ABI_H

/* Nodes (frames and entry frames) of a stack before it is "truncated: depth". */
#define KRAIT_MAX_FRAMES 2048
/* Native frames of a stack before it is "truncated", and frames of the kernel (its own limit). */
#define KRAIT_MAX_NATIVE 128
#define KRAIT_MAX_KERNEL 127
/* Words at the stack pointer: one is the return address where the leaf has no frame (yet). */
#define KRAIT_LEAF_WORDS 2
/*
 * Thread states looked at in one interrupt (27 ns each), if the process has not used up its budget: so
 * many at once, and one for each 2^KRAIT_SEARCH_SHIFT ns (2.6 % of a CPU's time). Without it a search
 * takes several interrupts, in parts.
 */
#define KRAIT_MAX_THREADS 8192
#define KRAIT_SEARCH_PART 1024
#define KRAIT_SEARCH_BUDGET 65536
#define KRAIT_SEARCH_SHIFT 10
/* Distinct interpreter layouts (builds) known at once. */
#define KRAIT_MAX_LAYOUTS 128
#define KRAIT_MAX_PROCS 16384
#define KRAIT_MAX_BINARIES 256
/* Functions of libraries where the interpreter begins: six each. */
#define KRAIT_MAX_ENTRIES (6 * KRAIT_MAX_BINARIES)
#define KRAIT_MAX_SLOTS 16384
/* Perf events of one recording. */
#define KRAIT_MAX_EVENTS 16
/* Threads that can have an anchor at once, and frames below an anchor that it may slide over. */
#define KRAIT_MAX_ANCHORS 1024
#define KRAIT_ANCHOR_FRAMES 1024
/* Fewer frames in a record are not worth an anchor, and to a younger thread none is written. */
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

/* Of two processes of one pid: < 0 when that of a is the earlier one, 0 when they are the same. */
static inline int start_order(__u64 a, __u64 b)
{
	return same_start(a, b) ? 0 : a < b ? -1 : 1;
}

#define PYOFF_ABSENT (-1)

enum py_offsets_flag {
	PYOFF_FREE_THREADED = 1 << 0,
	/* PyThreadState.cframe leads to the current frame (3.11, 3.12). */
	PYOFF_CFRAME = 1 << 1,
	/*
	 * No PyThreadState._status (3.8 to 3.11): _PyRuntime.gilstate.tstate_current tells which
	 * of a thread's states is the active one, while the thread holds the GIL.
	 */
	PYOFF_TSTATE_CURRENT = 1 << 2,
};

/* How frames are linked, and what they say of themselves. */
enum py_frame_kind {
	/* 3.12+: owner tells frames from entry frames; the chain has both. */
	PY_FRAME_OWNER,
	/* 3.11: no entry frames; is_entry is set in a frame that C called. */
	PY_FRAME_IS_ENTRY,
	/* 3.8 to 3.10: PyFrameObject by f_back, each in an eval loop of its own; f_lasti. */
	PY_FRAME_OBJECT,
};

/*
 * Where things are in one interpreter build, in bytes from the start of the named C struct.
 * Filled by user/target from _Py_DebugOffsets (3.13+), from checked tables or from DWARF (3.8 to
 * 3.12), grouped as CPython's own structs are. A member has the name that it has in the newest
 * version; what older ones call it is in user/target/py_builtin_offsets.c.
 */
struct py_offsets {
	__u32 version; /* PY_VERSION_HEX */
	__u32 flags; /* enum py_offsets_flag */
	__u32 frame_kind; /* enum py_frame_kind */
	__u32 lasti_shift; /* PY_FRAME_OBJECT: f_lasti counts 1 << lasti_shift bytes */
	struct {
		__s32 interpreters_head, finalizing, tstate_current;
	} runtime; /* _PyRuntimeState */
	struct {
		__s32 id, next, threads_head, code_object_generation;
	} interp; /* PyInterpreterState */
	struct {
		__s32 prev, next, interp, current_frame, base_frame;
		__s32 last_profiled_frame, last_profiled_frame_seq;
		__s32 thread_id, native_thread_id, status, cframe;
	} thread; /* PyThreadState */
	struct {
		__s32 current_frame, previous;
	} cframe; /* _PyCFrame */
	struct {
		__s32 previous, executable, instr_ptr, owner, tlbc_index, localsplus, is_entry;
	} frame; /* _PyInterpreterFrame, PyFrameObject */
	struct {
		__s32 filename, name, qualname, linetable, firstlineno, code_adaptive, tlbc;
		__s32 version; /* co_version, 3.12+ */
		__s32 bytecode; /* co_code, where nothing else says how long the code is (3.8, 3.9) */
	} code; /* PyCodeObject */
	struct {
		__s32 ob_type, tp_name;
	} object; /* PyObject, PyTypeObject */
	struct {
		__s32 state, length, ascii_size, compact_size;
	} unicode; /* PyASCIIObject, PyCompactUnicodeObject */
	struct {
		__s32 ob_size, ob_sval;
	} bytes; /* PyBytesObject */
};
_Static_assert(sizeof(struct py_offsets) == 192, "struct py_offsets is shared with BPF");

/*
 * PyASCIIObject.state begins with interned: two bits, or a byte in free-threaded builds from 3.14 on.
 * Behind it are kind (3 bits), compact and ascii (1 each).
 */
#define PYOFF_STRING_STATE_SHIFT(off)                                                              \
	((off)->flags & PYOFF_FREE_THREADED && (off)->version >= 0x030e0000 ? 8 : 2)

/* Bytes to read of a code object: the older ones are smaller. */
#define PYOFF_CODE_WINDOW(off)                                                                     \
	((off)->frame_kind == PY_FRAME_OBJECT ? KRAIT_OLD_CODE_WINDOW : KRAIT_CODE_WINDOW)

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
};
_Static_assert(sizeof(struct proc_info) == 64, "struct proc_info is shared with BPF");

/*
 * Key of the map binaries: an executable that has the interpreter in itself, as it was when it was
 * read. User space keeps it open as long as the key is there, so inode and device are no other's.
 */
struct binary_key {
	__u64 inode;
	__u64 size;
	__u64 ctime_sec; /* when the inode was changed last, which nobody can set */
	__u32 ctime_nsec;
	__u32 dev; /* as the kernel has it: major << 20 | minor */
};
_Static_assert(sizeof(struct binary_key) == 32, "struct binary_key is shared with BPF");

/*
 * What is known of an interpreter before it runs: of an executable (map binaries), or of a function
 * of a shared library that begins it (map entries). Written by user space only.
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

/* What the program remembers about one thread. Only that thread's own interrupts write it. */
struct thread_slot {
	__u64 start_ns; /* whom the content belongs to */
	__u64 tstate_addr; /* last thread state found, re-validated at each sample; 0 none */
	__u64 interp_addr; /* of it, or of resume_addr */
	/* A search that was broken off goes on here; 0 none. */
	__u64 resume_addr, resume_prev_addr;
	__u64 candidate_addr, candidate_interp_addr;
	/* The list that was searched: its first state, and the one behind that. */
	__u64 head_addr, head_next_addr;
	__u64 native; /* nothing was found in that list */
};
_Static_assert(sizeof(struct thread_slot) == 80, "struct thread_slot is shared with BPF");

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
	__u32 deltas; /* since the last audit */
	__u32 depth; /* nodes of the last walk that met the anchor and went to the root */
	__u64 addrs[KRAIT_ANCHOR_FRAMES]; /* the anchor, its caller ... to the first entry frame */
};
_Static_assert(sizeof(struct anchor) == 48 + 8 * KRAIT_ANCHOR_FRAMES, "struct anchor is shared");

enum anchor_state {
	ANCHOR_WRITTEN, /* nobody has met it yet */
	ANCHOR_CONFIRMED, /* met alive: every pop of it is seen from then on */
	ANCHOR_OVER, /* no good any more, until user space writes another */
};

/* What a sample says of the thread's anchor. */
enum anchor_note {
	ANCHOR_NOTE_NONE, /* full walk, nothing to say */
	ANCHOR_NOTE_DELTA, /* stops at the anchor: anchor_steps below the confirmed one */
	ANCHOR_NOTE_CONFIRM, /* full walk that met it: frames[anchor_index] */
	ANCHOR_NOTE_AUDIT, /* full walk although a delta was possible; index and steps valid */
	ANCHOR_NOTE_SLID, /* it has left the stack, or slid to an entry frame */
	ANCHOR_NOTE_FOREIGN, /* somebody else writes last_profiled_frame */
	ANCHOR_NOTE_CNT
};

/* How an interrupt of a tracked process ended. Every one ends as exactly one of the three. */
enum outcome {
	OUTCOME_COMPLETE,
	OUTCOME_TRUNCATED, /* the leaf side is there and true, the root is missing */
	OUTCOME_LOST,
	OUTCOME_CNT
};

/* The number of a reason has its outcome in it; a new reason goes behind the others of its outcome. */
#define REASON_SHIFT 5
#define REASON(outcome, number) ((outcome) << REASON_SHIFT | (number))

/* Why. Numbers between those of two outcomes belong to no reason: see reason_is_known(). */
enum reason {
	/* A whole Python stack, possibly empty between two calls. */
	REASON_PYTHON = REASON(OUTCOME_COMPLETE, 0),
	REASON_NO_RUNTIME, /* interpreter not initialised yet, or finalised */
	REASON_NATIVE_THREAD, /* the thread has no Python thread state */
	REASON_EXITING, /* the task is exiting: its memory, and Python with it, is gone */
	REASON_EXECING, /* the process is just getting a new image */
	REASON_COMPLETE_END,

	/* Deeper than KRAIT_MAX_FRAMES. */
	REASON_DEPTH = REASON(OUTCOME_TRUNCATED, 0),
	REASON_FRAME_FAULT, /* a frame's memory is not present */
	REASON_NO_BASE, /* the chain ended before the thread's base frame */
	REASON_TRUNCATED_END,

	/* _PyRuntime or an interpreter state is not readable. */
	REASON_RUNTIME_FAULT = REASON(OUTCOME_LOST, 0),
	REASON_THREAD_FAULT, /* a thread state is not readable */
	REASON_THREAD_TORN, /* the thread list changed while it was searched */
	REASON_THREAD_LIMIT, /* the thread list is long: the search goes on at the next sample */
	REASON_BAD_FRAME, /* a frame that cannot be one: misaligned, or of no known owner */
	REASON_CYCLE, /* the chain of frames runs in a circle */
	REASON_NO_LAYOUT, /* krait's own maps are inconsistent */
	REASON_RING_FULL, /* no room in the ring buffer: user space is too slow */
	REASON_BAD_RECORD, /* user space got a record that makes no sense */
	REASON_NO_CACHE, /* a delta whose base user space does not have */
	REASON_NO_PROCESS, /* user space has missed that this process began */
	REASON_NO_ROOM, /* the profile has no room for its stack */
	REASON_CNT
};
_Static_assert(REASON_COMPLETE_END <= REASON_DEPTH &&
		       REASON_TRUNCATED_END <= REASON_RUNTIME_FAULT &&
		       REASON_CNT <= REASON(OUTCOME_CNT, 0) && REASON_CNT <= 256,
	       "reasons of an outcome have numbers of their own, and a __u8 holds them");

static inline enum outcome reason_outcome(__u32 reason)
{
	return (enum outcome)(reason >> REASON_SHIFT);
}

static inline int reason_is_known(__u32 reason)
{
	return reason < REASON_COMPLETE_END ||
	       (reason >= REASON_DEPTH && reason < REASON_TRUNCATED_END) ||
	       (reason >= REASON_RUNTIME_FAULT && reason < REASON_CNT);
}

/*
 * What a CPU counts for each perf event: how every interrupt ends is in its record, so what remains are
 * those without one.
 */
struct event_counts {
	__u64 interrupts; /* of tracked processes */
	__u64 ring_full; /* of them those that found no room in the ring buffer */
};
_Static_assert(sizeof(struct event_counts) == 16, "struct event_counts is shared with BPF");

/* Index into the per-CPU map counters. */
enum counter {
	COUNTER_EVENTS_DROPPED, /* process events that found the ring buffer full */
	COUNTER_CODE_SENT, /* snapshots of code objects */
	COUNTER_CODE_DROPPED, /* those that found the ring buffer full */
	COUNTER_THREAD_STEPS, /* thread states looked at in searches */
	COUNTER_CNT
};

/* The shortest period that a clock has, whatever it was asked for (kernel/events/core.c). */
#define TICK_NS_MIN 10000

/* What the timers of one CPU have done for one perf event; the kernel writes it. */
struct tick {
	__u64 grid_ns; /* when the last one was due: tick.h */
	__u64 delivered; /* whatever ran there */
	__u64 missed;
	__u64 missed_here; /* of them those right before one that hit a process in procs */
};
_Static_assert(sizeof(struct tick) == 32, "struct tick is shared with BPF");

/*
 * One node of the chain, leaf first. An entry frame (C stack, owner >= 3) has code_addr 0; a frame
 * that was just being cleared has frame_addr 0 too.
 */
struct frame {
	__u64 code_addr; /* PyCodeObject */
	__u64 frame_addr; /* _PyInterpreterFrame */
	__s32 instr_off; /* bytes from the first code unit; FRAME_INSTR_UNKNOWN if out of range */
	__u32 fingerprint; /* of the code object where PROC_FINGERPRINT, else 0 */
};
_Static_assert(sizeof(struct frame) == 24, "struct frame is shared with BPF");
#define FRAME_INSTR_UNKNOWN (-1)
/* Called but not begun: CPython gives it the first line (3.8 to 3.12). */
#define FRAME_INSTR_BEFORE (-2)

/* A frame of native code, leaf first. */
struct native_frame {
	__u64 ip; /* of the leaf; of a caller: where it goes on */
	__u64 frame_addr; /* its frame pointer: where on the stack it lies; 0 unknown */
};
_Static_assert(sizeof(struct native_frame) == 16, "struct native_frame is shared with BPF");
_Static_assert(KRAIT_MAX_NATIVE < 256 && KRAIT_MAX_KERNEL < 256, "counted in a __u8");

/* How the native part of a stack ended. */
enum native_reason {
	NATIVE_NONE, /* it was not asked for, or there is none: the task is exiting */
	NATIVE_COMPLETE, /* at a frame pointer of 0, as threads start with; may be one by chance */
	NATIVE_NO_FRAME_POINTER, /* code that keeps none */
	NATIVE_FAULT, /* the stack's memory is not present */
	NATIVE_LIMIT, /* deeper than KRAIT_MAX_NATIVE */
	NATIVE_NO_REGS, /* the user registers could not be found */
	NATIVE_REASON_CNT
};

enum record_type {
	RECORD_SAMPLE,
	RECORD_EXEC,
	RECORD_FORK,
	RECORD_EXIT, /* of a process (its last thread) */
	RECORD_THREAD_EXIT, /* of a thread of a tracked process */
	RECORD_RUNTIME, /* an interpreter in a known library begins */
	RECORD_CODE, /* a code object seen for the first time */
	RECORD_TYPE_CNT
};

/* Every record begins with its type, its owner and its size. */
struct record_header {
	__u16 type; /* enum record_type */
	__u16 owner;
	__u32 size;
};

/*
 * The record of one interrupt: this header, frame_cnt times struct frame, native_cnt times struct
 * native_frame, and kernel_cnt addresses (__u64), each leaf first.
 */
struct record_sample {
	__u16 type; /* RECORD_SAMPLE */
	__u16 owner; /* share.h; as in struct proc_info */
	__u32 size; /* of the record, bytes */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 thread_start_ns; /* task start, boot clock */
	__u64 period; /* events that it stands for: ns for cpu-clock */
	__u64 tstate_addr;
	__u64 interp_addr;
	__u64 code_generation; /* PyInterpreterState.code_object_generation; 0 before 3.14 */
	__u32 pid; /* host tgid */
	__u32 tid; /* host tid */
	__u32 cpu;
	__u32 frame_cnt;
	__u8 pad_;
	__u8 reason; /* enum reason: the outcome, too */
	__u8 event; /* index of the perf event, in the order of -e */
	__u8 flags; /* enum sample_flag */
	__u8 anchor; /* enum anchor_note */
	__u8 native_reason; /* enum native_reason */
	__u8 native_cnt;
	__u8 kernel_cnt;
	__u64 thread_ptr; /* thread pointer, which is the PyThreadState's thread_id */
	__u64 anchor_epoch; /* with a note other than none */
	__u32 anchor_index; /* of the anchor in frames[] */
	__u32 anchor_steps; /* frames that it has slid towards the root since it was confirmed */
	__u64 leaf[KRAIT_LEAF_WORDS]; /* with native frames: what is at the stack pointer */
	char comm[16]; /* of the thread */
};
_Static_assert(sizeof(struct record_sample) == 136, "struct record_sample is shared with BPF");

enum sample_flag {
	SAMPLE_HAS_SLOT = 1 << 0, /* the thread has a slot; otherwise user space gives it one */
	SAMPLE_KERNEL = 1 << 1, /* the interrupt hit kernel mode */
	SAMPLE_DUMPABLE = 1 << 2, /* its user may trace the process; told where an anchor may pay */
};

/*
 * Parts of a snapshot: the object, its type's name pointer and name, two strings, line table, and the
 * header of the bytecode (3.8, 3.9).
 */
#define CODE_REGIONS 7
/* The largest part: longer names and line tables are read by user space. Powers of two. */
#define CODE_REGION_MAX 8192
#define CODE_DATA_SIZE 16384
/*
 * What the snapshots of one process may take: so much at once, and 2^CODE_RATE_SHIFT ns for each byte
 * from then on (3.7 MiB a second). The largest imports have less; user space reads what is left out.
 */
#define CODE_BYTES_MAX (4U << 20)
#define CODE_RATE_SHIFT 8

/*
 * Snapshot of a code object: regions of the target's memory as they were in one interrupt, which
 * comes before the sample that refers to it.
 */
struct record_code {
	__u16 type; /* RECORD_CODE */
	__u16 owner;
	__u32 size; /* of the record: this header and data_size bytes */
	__u64 code_addr;
	__u32 pid; /* host tgid */
	__u32 fingerprint;
	__u32 region_cnt;
	__u32 data_size;
	__u32 has_lines; /* the line table is among the regions */
	__u32 pad_;
	struct {
		__u64 addr;
		__u32 size;
		__u32 pos; /* in data */
	} regions[CODE_REGIONS];
	__u8 data[CODE_DATA_SIZE + CODE_REGION_MAX];
};
#define CODE_RECORD_HEADER 152
_Static_assert(__builtin_offsetof(struct record_code, data) == CODE_RECORD_HEADER, "record_code");

/* A process or thread came, changed or went. */
struct record_task {
	__u16 type;
	__u16 owner;
	__u32 size;
	__u64 time_ns;
	__u64 start_ns; /* of the process (the child for a fork), of the thread for its exit */
	__u32 pid; /* of the task (the child for a fork) */
	__u32 tid;
	__u32 parent_pid;
	__u32 layout; /* exec of a known binary, runtime: its layout, else KRAIT_NO_LAYOUT */
	char comm[16];
	__u64 runtime_addr; /* with a layout */
	__u64 dropped; /* exit: as in struct proc_info */
	__u32 uid; /* of the task's real credentials, as the host has it */
	__u32 file; /* with a layout: binary_info.file */
};
_Static_assert(sizeof(struct record_task) == 80, "struct record_task is shared with BPF");

#endif /* KRAIT_ABI_H */
