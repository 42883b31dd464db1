/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record.h - the records of the ring buffer. Part of abi.h, which includes it.
 *
 * Each begins with a struct record_header. The record of an interrupt, struct record_sample, is
 * followed by sections: arrays of one kind of element each, in the order of enum record_section.
 * record_sample.cnt has the number of elements of each. A new kind of content is a new section: a
 * number and a size here, one section_append() in BPF (section.h), one record__section() in user
 * space (kernel/sampler/record.h).
 *
 * Must hold: a reason keeps its number within a release, and its name for ever: outputs print the
 * name.
 */
#ifndef KRAIT_BPF_RECORD_H
#define KRAIT_BPF_RECORD_H

#include "bpf/types.h"

/*
 * Key of the maps binaries and plain: an executable in the state in which user space examined it.
 * An executable in binaries contains the interpreter; user space keeps it open while its key is
 * there, so no other file can get its inode and device.
 */
struct binary_key {
	__u64 inode;
	__u64 size;
	__u64 ctime_sec; /* last change of the inode: nobody can set it */
	__u32 ctime_nsec;
	__u32 dev; /* as the kernel numbers it: major << 20 | minor */
};
_Static_assert(sizeof(struct binary_key) == 32, "struct binary_key is shared with BPF");

/* What a sample says about the thread's anchor. */
enum anchor_note {
	ANCHOR_NOTE_NONE, /* full walk, nothing to say */
	ANCHOR_NOTE_DELTA, /* stops at the anchor: anchor_steps below the confirmed frame */
	ANCHOR_NOTE_CONFIRM, /* full walk that met it: frames[anchor_index] */
	/* full walk although a delta was possible; anchor_index and anchor_steps are valid */
	ANCHOR_NOTE_AUDIT,
	ANCHOR_NOTE_SLID, /* the anchor left the stack, or slid to an entry frame */
	ANCHOR_NOTE_FOREIGN, /* somebody else writes last_profiled_frame */
	ANCHOR_NOTE_CNT
};

/* How an interrupt of a tracked process ended: always as exactly one of these three. */
enum outcome {
	OUTCOME_COMPLETE,
	OUTCOME_TRUNCATED, /* the leaf side is present and true, the root side is missing */
	OUTCOME_LOST,
	OUTCOME_CNT
};

/* A reason's number contains its outcome; a new reason goes behind the others of its outcome. */
#define REASON_SHIFT 5
#define REASON(outcome, number) ((outcome) << REASON_SHIFT | (number))

/* Why. Numbers between the reasons of two outcomes are unused: see reason_is_known(). */
enum reason {
	/* A whole Python stack, possibly empty between two calls. */
	REASON_PYTHON = REASON(OUTCOME_COMPLETE, 0),
	REASON_NO_RUNTIME, /* interpreter not initialised yet, or finalised */
	REASON_NATIVE_THREAD, /* the thread has no Python thread state */
	REASON_EXITING, /* the task is exiting and has no memory any more */
	REASON_EXECING, /* the process is in exec, between two images */
	REASON_FINALIZING, /* the interpreter is finalizing, and runs no Python code right now */
	REASON_GREENLET, /* a whole stack that C code started anew within its thread (3.15) */
	REASON_SWITCHING, /* a whole stack, of a greenlet that is being switched from: greenlet_switching.h */
	REASON_COMPLETE_END,

	/* Deeper than KRAIT_MAX_FRAMES. */
	REASON_DEPTH = REASON(OUTCOME_TRUNCATED, 0),
	REASON_FRAME_FAULT, /* a frame's memory is not present */
	REASON_NO_BASE, /* the chain ended before the thread's base frame */
	REASON_INTERPRETER, /* set by user space: the callers are in another interpreter */
	REASON_TRUNCATED_END,

	/* _PyRuntime or an interpreter state is not readable. */
	REASON_RUNTIME_FAULT = REASON(OUTCOME_LOST, 0),
	REASON_THREAD_FAULT, /* a thread state is not readable */
	REASON_THREAD_TORN, /* the thread list changed while it was searched */
	REASON_THREAD_LIMIT, /* the thread list is long: the search goes on at the next sample */
	REASON_BAD_FRAME, /* impossible frame: misaligned, or of unknown owner */
	REASON_CYCLE, /* the chain of frames is circular */
	REASON_NO_LAYOUT, /* krait's own maps are inconsistent */
	REASON_RING_FULL, /* no room in the ring buffer: user space is too slow */
	REASON_BAD_RECORD, /* user space received a malformed record */
	REASON_NO_CACHE, /* a delta whose base user space does not have */
	REASON_NO_PROCESS, /* user space missed the start of this process */
	REASON_NO_ROOM, /* the profile has no room for the stack */
	REASON_NESTED, /* this interrupt hit a program that uses the same memory */
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
 * One node of the chain, leaf first. An entry frame (C stack, owner >= 3) has code_addr 0; a frame
 * that was just being cleared has frame_addr 0, too.
 */
struct frame {
	__u64 code_addr; /* PyCodeObject */
	__u64 frame_addr; /* _PyInterpreterFrame */
	/* Bytes from the first code unit; FRAME_INSTR_UNKNOWN if out of range, or beyond FRAME_INSTR_LIMIT. */
	__s32 instr_off : 24;
	/* of the instruction there, as it is now, if opcodes are wanted; 0 unknown */
	__u32 opcode : 8;
	__u32 fingerprint; /* of the code object (fingerprint.h); 0: it is not present */
};
_Static_assert(sizeof(struct frame) == 24, "struct frame is shared with BPF");
#define FRAME_INSTR_UNKNOWN (-1)
#define FRAME_INSTR_LIMIT (1 << 23)
/* Set in an entry frame's address if its memory has been reused. */
#define FRAME_ENTRY_GONE 1
/* Called but not started yet: CPython reports the first line (3.8 to 3.12). */
#define FRAME_INSTR_BEFORE (-2)

/* A frame of native code, leaf first. */
struct native_frame {
	__u64 ip; /* at the leaf, the current instruction; in a caller, the return address */
	__u64 frame_addr; /* stack address above which its caller's part begins; 0 unknown */
};
/* Lowest bit of frame_addr: only the frame pointer led here. */
#define NATIVE_BY_FP 1
_Static_assert(sizeof(struct native_frame) == 16, "struct native_frame is shared with BPF");

/* How the native part of a stack ended. */
enum native_reason {
	NATIVE_NONE, /* not wanted, or none: the task is exiting */
	NATIVE_COMPLETE, /* reached where the thread began */
	NATIVE_NO_FRAME_POINTER, /* reached code that has no rows and keeps no frame pointer */
	NATIVE_FAULT, /* the stack's memory is not present */
	NATIVE_LIMIT, /* deeper than KRAIT_MAX_NATIVE */
	NATIVE_NO_REGS, /* the user registers could not be found */
	NATIVE_NO_RULE, /* the row uses a rule that krait does not support, or makes no sense */
	NATIVE_CHANGED, /* the tables changed meanwhile */
	NATIVE_NO_ROWS, /* reached a file whose rows have not been read yet */
	/* whole, but some Python frames lie outside it: fibres (user space finds this) */
	NATIVE_NOT_JOINED,
	NATIVE_REASON_CNT
};

enum record_type {
	RECORD_SAMPLE,
	RECORD_EXEC,
	RECORD_FORK,
	RECORD_EXIT, /* of a process: its last thread ends */
	RECORD_THREAD_EXIT, /* of a thread of a tracked process */
	RECORD_RUNTIME, /* a known library starts an interpreter */
	RECORD_CODE, /* a code object seen for the first time */
	RECORD_MMAP, /* code was mapped, or memory became executable */
	RECORD_CLOCK, /* how long a thread has run so far */
	RECORD_TYPE_CNT
};

/* Every record begins with its type, its owner and its size. */
struct record_header {
	__u16 type; /* enum record_type */
	__u16 owner;
	__u32 size;
};

/* The sections that follow the header of a sample, in this order. */
enum record_section {
	SECTION_FRAMES, /* struct frame: Python's, leaf first */
	SECTION_NATIVE, /* struct native_frame, leaf first */
	SECTION_KERNEL, /* __u64: addresses, leaf first */
	SECTION_WAIT, /* one struct wait_facts, for time off the CPU */
	SECTION_INTERP, /* one struct interp_facts, if states are wanted */
	SECTION_TASKS, /* struct frame: tasks and their suspended frames (asyncio_tasks.h) */
	/* struct frame: parents of the thread's greenlet, and their frames (greenlets.h) */
	SECTION_GREENLETS,
	SECTION_CNT
};

/* What the first part of a task says about it (asyncio_tasks.h). */
enum task_note {
	TASK_LIVE = 1 << 0, /* its coroutine is running: its frames are the thread's own */
	TASK_NO_COROUTINE =
		1 << 1, /* it runs something other than a coroutine of the interpreter: no frames */
	/* frames of its coroutines are missing: their memory is not present */
	TASK_FRAMES = 1 << 2,
	/* The chain ends here, but may really go on: */
	TASK_TORN = 1 << 3, /* it was just being changed, or is not present */
	TASK_CYCLE = 1 << 4, /* tasks await each other in a cycle */
	TASK_LIMIT = 1 << 5, /* KRAIT_MAX_TASK_PARTS */
	/* The next task does not await this one, but creates it and runs its first step. */
	TASK_EAGER = 1 << 6,
	/* The next task does not await this one, but runs the loop that runs this one. */
	TASK_WITHIN = 1 << 7,
};
#define TASK_WAITERS_MAX 65535

/*
 * A task's first part may be followed by parts of its name. Their code_addr is TASK_NAME_TEXT, with
 * TASK_NAME_PART bytes of ASCII (from frame_addr on; NUL ends it), or TASK_NAME_NUMBER, with the
 * number in frame_addr: nobody has asked for the name "Task-7" yet.
 */
#define TASK_NAME_TEXT 1
#define TASK_NAME_NUMBER 2
#define TASK_NAME_PART 16
#define TASK_NAME_PARTS 3
static inline int task_part_is_name(const struct frame *part)
{
	return part->code_addr == TASK_NAME_TEXT || part->code_addr == TASK_NAME_NUMBER;
}

#define UNSAMPLED_SHIFT 16

/*
 * What the kernel knows about a wait that ended or is still going on; user space derives a state
 * from it.
 */
struct wait_facts {
	/* of this wait; the record's period is the time that the sample stands for */
	__u64 length_ns;
	__u64 runnable_ns; /* the part during which the thread was runnable */
	__u64 args[3]; /* arguments of the system call */
	/* the thread state that held the GIL last, when the thread came back; 0 unknown */
	__u64 gil_holder_addr;
	__s32 syscall; /* number of the system call; -1: none */
	__u16 task_state; /* TASK_* when the thread left; 0: it was runnable */
	/* CPU time of the thread that no tick found, in units of 1 << UNSAMPLED_SHIFT ns (tick.h) */
	__u16 unsampled;
	__u16 file_mode; /* mode of the file behind descriptor args[0], if it is one; 0 unknown */
	__u8 flags; /* enum wait_flag */
	__u8 pad_;
	/* CPU time that the stack also stands for: ticks that hit the CPU before the thread ran */
	__u32 ticks_ns;
};
_Static_assert(sizeof(struct wait_facts) == 64, "struct wait_facts is shared with BPF");

enum wait_flag {
	WAIT_IO = 1 << 0, /* the kernel counts the wait as I/O wait */
	WAIT_HAS_SYSCALL = 1 << 1, /* syscall and args are valid */
	WAIT_GIL = 1 << 2, /* args[0] lies in the interpreter's GIL */
	WAIT_GIL_LOCKED =
		1 << 3, /* and somebody held it when the thread came back, so it will wait again */
	WAIT_WORLD = 1 << 4, /* free-threaded: another thread has stopped the world */
	/* free-threaded: waits for an object's lock at the start of a critical section */
	WAIT_SECTION = 1 << 5,
	/* its control group was frozen, or it was stopped: the kernel counts both as frozen */
	WAIT_FROZEN = 1 << 6,
};

/* What the thread's interpreter was doing. */
struct interp_facts {
	__u64 gil_addr; /* which GIL it uses; 0: unknown or none */
	__u64 gc_frame_addr; /* the frame that is collecting garbage; 0: unknown or none */
	__u32 flags; /* enum interp_flag */
	__u32 pad_;
};
_Static_assert(sizeof(struct interp_facts) == 24, "struct interp_facts is shared with BPF");

enum interp_flag {
	INTERP_EXCEPTION = 1 << 0, /* the thread handles or raises an exception */
};

/* Size of one element. */
static inline __u32 section_unit(enum record_section section)
{
	switch (section) {
	case SECTION_FRAMES:
		return sizeof(struct frame);
	case SECTION_NATIVE:
		return sizeof(struct native_frame);
	case SECTION_KERNEL:
		return sizeof(__u64);
	case SECTION_WAIT:
		return sizeof(struct wait_facts);
	case SECTION_INTERP:
		return sizeof(struct interp_facts);
	case SECTION_TASKS:
	case SECTION_GREENLETS:
		return sizeof(struct frame);
	case SECTION_CNT:
		break;
	}
	return 0;
}

/*
 * With whose rights a thread opened files at some moment: its file system ids, which are the
 * effective ones unless it asked for others, in host numbers. All 0: nobody has said.
 */
struct task_ids {
	__u32 uid;
	__u32 gid;
	/* task_groups() of its supplementary groups; TASK_GROUPS_MANY; 0: the ids are unknown */
	__u32 groups;
};
/* More supplementary groups than this are not compared. A power of two. */
#define TASK_GROUPS_MAX 32
#define TASK_GROUPS_MANY 1

/* A digest of them, in the kernel's order, which is that of /proc. cnt: below TASK_GROUPS_MAX. */
static inline __u32 task_groups(const __u32 *gids, __u32 cnt)
{
	__u32 digest = 2166136261U ^ cnt;

	for (__u32 i = 0; i < TASK_GROUPS_MAX - 1; i++) {
		if (i >= cnt)
			break;
		digest = (digest ^ gids[i]) * 16777619U;
		digest ^= digest >> 15;
	}
	return digest > TASK_GROUPS_MANY ? digest : ~0U;
}

/* The record of one interrupt. */
struct record_sample {
	__u16 type; /* RECORD_SAMPLE */
	__u16 owner; /* as in struct proc_info (share.h) */
	__u32 size; /* of the record with its sections, in bytes */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 thread_start_ns; /* task start, boot clock */
	__u64 period; /* what the sample stands for, in units of the event: ns for cpu-clock */
	__u64 tstate_addr;
	__u64 interp_addr;
	__u64 code_generation; /* PyInterpreterState.code_object_generation; 0 before 3.14 */
	__u64 thread_ptr; /* thread pointer, which is the PyThreadState's thread_id */
	__u64 anchor_epoch; /* valid unless anchor is ANCHOR_NOTE_NONE */
	__u32 pid; /* host tgid */
	__u32 tid; /* host tid */
	__u16 cpu;
	/* ticks right before it that never came and that it does not stand for; 65535: or more */
	__u16 missed;
	__u16 anchor_index; /* index of the anchor's frame */
	__u16 anchor_steps; /* frames it has slid towards the root since it was confirmed */
	__u8 reason; /* enum reason, which includes the outcome */
	__u8 event; /* index of the perf event, in the order of -e */
	__u8 flags; /* enum sample_flag */
	__u8 anchor; /* enum anchor_note */
	__u8 native_reason; /* enum native_reason */
	__u8 no_anchors; /* its interpreter has no last_profiled_frame (before 3.15) */
	__u16 cnt[SECTION_CNT]; /* elements of each section */
	struct task_ids ids; /* of the thread at that moment */
	char comm[16]; /* of the thread */
};
_Static_assert(sizeof(struct record_sample) == 136, "struct record_sample is shared with BPF");

enum sample_flag {
	SAMPLE_HAS_SLOT = 1 << 0, /* the thread has a slot; if not, user space gives it one */
	SAMPLE_KERNEL = 1 << 1, /* the interrupt hit kernel mode */
	/* the task's own user may trace it; set only if an anchor may pay off */
	SAMPLE_DUMPABLE = 1 << 2,
	/* native code is in a mapping that user space does not know, or has no rows yet */
	SAMPLE_UNMAPPED = 1 << 3,
	/* If states are wanted (gil.h): */
	SAMPLE_GIL_KNOWN = 1 << 4, /* the interpreter's GIL could be read */
	SAMPLE_GIL = 1 << 5, /* the thread holds the GIL */
	SAMPLE_GC = 1 << 6, /* and is collecting garbage */
	SAMPLE_IN_FRAME =
		1
		<< 7, /* the registers hold the thread state and the leaf's frame: native_section.h */
};

/*
 * Regions of a snapshot: the object, its type's name pointer and name, two strings, the line table,
 * and the header of the bytecode (3.8, 3.9).
 */
#define CODE_REGIONS 7
/* The largest region: user space reads longer names and line tables itself. Powers of two. */
#define CODE_REGION_MAX 8192
#define CODE_DATA_SIZE 16384
/*
 * Budget for the snapshots of one process: this much at once, then one byte every 2^CODE_RATE_SHIFT
 * ns (3.7 MiB a second). The largest imports need less; user space reads what is left out.
 */
#define CODE_BYTES_MAX (4U << 20)
#define CODE_RATE_SHIFT 8

/*
 * Snapshot of a code object: regions of the target's memory, all read in one interrupt. It precedes
 * the sample that refers to it.
 */
struct record_code {
	__u16 type; /* RECORD_CODE */
	__u16 owner;
	__u32 size; /* of the record: this header plus data_size bytes */
	__u64 code_addr;
	__u32 pid; /* host tgid */
	__u32 fingerprint;
	__u32 region_cnt;
	__u32 data_size;
	__u32 has_lines; /* the line table is one of the regions */
	__u32 pad_;
	struct {
		__u64 addr;
		__u32 size;
		__u32 pos; /* position in data */
	} regions[CODE_REGIONS];
	__u8 data[CODE_DATA_SIZE + CODE_REGION_MAX];
};
#define CODE_RECORD_HEADER 152
_Static_assert(__builtin_offsetof(struct record_code, data) == CODE_RECORD_HEADER, "record_code");

/* A process or thread started, changed or ended. */
struct record_task {
	__u16 type;
	__u16 owner;
	__u32 size;
	__u64 time_ns;
	/* of the process (for a fork, the child); for a thread's exit, of the thread */
	__u64 start_ns;
	__u32 pid; /* of the task (the child for a fork) */
	__u32 tid;
	__u32 parent_pid;
	__u32 layout; /* exec of a known binary, or runtime: its layout; else KRAIT_NO_LAYOUT */
	char comm[16];
	__u64 runtime_addr; /* valid with a layout */
	union {
		__u64 dropped; /* exit: as in struct proc_info */
		__u64 parent_start_ns; /* fork: the child is a copy of parent_pid; 0 unknown */
	};
	__u32 uid; /* real uid of the task, in host numbers */
	/* with a layout: binary_info.file; for an exec without one: RECORD_FILE_PLAIN or 0 */
	__u32 file;
};
_Static_assert(sizeof(struct record_task) == 80, "struct record_task is shared with BPF");

/* For an exec: the file is in the map plain, so examining the process is not urgent. */
#define RECORD_FILE_PLAIN ~0U

/*
 * An exec of a file whose interpreter the kernel side does not know. Larger than the other
 * RECORD_EXEC records.
 */
struct record_exec {
	struct record_task task;
	struct binary_key file;
};
_Static_assert(sizeof(struct record_exec) == 112, "struct record_exec is shared with BPF");

/*
 * Most mappings reported for one image of a process. A process with a thousand libraries makes two
 * thousand. One that makes more maps code all the time; user space examines it periodically
 * instead.
 */
#define MMAPS_MAX 4096

/* A tracked process mapped code. */
struct record_mmap {
	__u16 type; /* RECORD_MMAP */
	__u16 owner;
	__u32 size;
	__u64 start_ns; /* of the process */
	__u64 start, end, offset; /* [start, end) in memory; offset in the file */
	struct binary_key file; /* inode 0: no file */
	__u32 pid;
	__u32 last; /* no more mappings of this image will be reported */
};
_Static_assert(sizeof(struct record_mmap) == 80, "struct record_mmap is shared with BPF");

enum clock_flag {
	CLOCK_WHOLE = 1 << 0, /* all ticks of its life became samples, or were missed or lost */
	CLOCK_RUNNING = 1 << 1, /* it is on a CPU, so cpu_ns may be behind */
	CLOCK_LAST = 1 << 2, /* it is ending */
};

/* The kernel's own account of a thread (clock.h). */
struct record_clock {
	__u16 type; /* RECORD_CLOCK */
	__u16 owner;
	__u32 size;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 late_ns; /* by how much that is after the end, since which there are no samples */
	__u64 thread_start_ns; /* task start, boot clock */
	__u64 start_ns; /* of the process */
	__u64 cpu_ns; /* CPU time since it began */
	__u64 switches; /* how often it has left a CPU */
	__u64 dropped; /* of its process, as in struct proc_info */
	__u32 pid;
	__u32 tid;
	__u32 flags; /* enum clock_flag */
	__u32 pad_;
	char comm[16];
};
_Static_assert(sizeof(struct record_clock) == 96, "struct record_clock is shared with BPF");

#endif /* KRAIT_BPF_RECORD_H */
