/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record.h - the records of the ring buffer. Part of abi.h, which includes it.
 *
 * Each begins with a struct record_header. That of an interrupt, struct record_sample, is followed by
 * sections: arrays of one kind of element each, in the order of enum record_section, and record_sample.cnt says
 * how many elements each has. A new kind of content is a new section: a number and a size here, one
 * section_append() in BPF (section.h), one record__section() in user space (sampler/record.h).
 *
 * Must hold: a reason keeps its number within a release, and its name for ever: outputs print the name.
 */
#ifndef KRAIT_RECORD_H
#define KRAIT_RECORD_H

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
	REASON_FINALIZING, /* the interpreter is ending, and runs no Python code right now */
	REASON_GREENLET, /* a whole stack that C code has begun anew within its thread (3.15) */
	REASON_SWITCHING, /* a whole stack, of a greenlet that is just being switched from: exposed.h */
	REASON_COMPLETE_END,

	/* Deeper than KRAIT_MAX_FRAMES. */
	REASON_DEPTH = REASON(OUTCOME_TRUNCATED, 0),
	REASON_FRAME_FAULT, /* a frame's memory is not present */
	REASON_NO_BASE, /* the chain ended before the thread's base frame */
	REASON_INTERPRETER, /* user space: the callers are in another interpreter */
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
	REASON_NESTED, /* it interrupted one that uses the same memory */
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
 * that was just being cleared has frame_addr 0 too.
 */
struct frame {
	__u64 code_addr; /* PyCodeObject */
	__u64 frame_addr; /* _PyInterpreterFrame */
	/* Bytes from the first code unit; FRAME_INSTR_UNKNOWN if out of range, or beyond FRAME_INSTR_LIMIT. */
	__s32 instr_off : 24;
	__u32 opcode : 8; /* where they are asked for: of the instruction there, as it is now; 0 unknown */
	__u32 fingerprint; /* of the code object where PROC_FINGERPRINT, else 0 */
};
_Static_assert(sizeof(struct frame) == 24, "struct frame is shared with BPF");
#define FRAME_INSTR_UNKNOWN (-1)
#define FRAME_INSTR_LIMIT (1 << 23)
/* Set in the address of an entry frame whose memory holds something else by now. */
#define FRAME_ENTRY_GONE 1
/* Called but not started yet: CPython reports the first line (3.8 to 3.12). */
#define FRAME_INSTR_BEFORE (-2)

/* A frame of native code, leaf first. */
struct native_frame {
	__u64 ip; /* of the leaf; of a caller: where it goes on */
	__u64 frame_addr; /* where on the stack its caller's part begins; 0 unknown */
};
/* Lowest bit of frame_addr: only the frame pointer led here. */
#define NATIVE_BY_FP 1
_Static_assert(sizeof(struct native_frame) == 16, "struct native_frame is shared with BPF");

/* How the native part of a stack ended. */
enum native_reason {
	NATIVE_NONE, /* it was not asked for, or there is none: the task is exiting */
	NATIVE_COMPLETE, /* where the thread began */
	NATIVE_NO_FRAME_POINTER, /* code without rows that keeps none */
	NATIVE_FAULT, /* the stack's memory is not present */
	NATIVE_LIMIT, /* deeper than KRAIT_MAX_NATIVE */
	NATIVE_NO_REGS, /* the user registers could not be found */
	NATIVE_NO_RULE, /* a row says it in a way that krait does not know, or says nonsense */
	NATIVE_CHANGED, /* the tables changed meanwhile */
	NATIVE_NO_ROWS, /* in a file whose rows have not been read yet */
	NATIVE_NOT_JOINED, /* whole, but not all Python frames lie in it: fibres (user space says it) */
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
	RECORD_MMAP, /* code was mapped, or memory has become code */
	RECORD_TYPE_CNT
};

/* Every record begins with its type, its owner and its size. */
struct record_header {
	__u16 type; /* enum record_type */
	__u16 owner;
	__u32 size;
};

/* What follows the header of a sample, in this order; where it says so, leaf first. */
enum record_section {
	SECTION_FRAMES, /* struct frame: Python's, leaf first */
	SECTION_NATIVE, /* struct native_frame, leaf first */
	SECTION_KERNEL, /* __u64: addresses, leaf first */
	SECTION_WAIT, /* struct wait_facts, of time off the CPU: one */
	SECTION_INTERP, /* struct interp_facts, where states are asked for: one */
	SECTION_TASKS, /* struct frame: tasks and their suspended frames, see tasks.h */
	SECTION_GREENLETS, /* struct frame: parents of the thread's greenlet, and their frames, see greenlets.h */
	SECTION_CNT
};

/* What a task's part of a chain says of it (tasks.h). */
enum task_note {
	TASK_LIVE = 1 << 0, /* its coroutine runs: its frames are the thread's own */
	TASK_NO_COROUTINE =
		1 << 1, /* it runs something that is no coroutine of the interpreter's: no frames */
	TASK_FRAMES = 1 << 2, /* frames of its coroutines are missing: memory that is not present */
	/* The chain ends here, and need not: */
	TASK_TORN = 1 << 3, /* changed at that very moment, or not present */
	TASK_CYCLE = 1 << 4, /* tasks await each other in a circle */
	TASK_LIMIT = 1 << 5, /* KRAIT_MAX_TASK_PARTS */
};
#define TASK_WAITERS_MAX 65535

/*
 * Behind a task's part may be parts of its name: code_addr is TASK_NAME_TEXT with TASK_NAME_PART bytes of ASCII
 * (frame_addr on; NUL ends it), or TASK_NAME_NUMBER with the number in frame_addr: "Task-7" was never asked for.
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

/* What the kernel knows about a wait that ended or still lasts; user space turns it into a state. */
struct wait_facts {
	__u64 length_ns; /* of this wait; the record's period is what it stands for */
	__u64 runnable_ns; /* of these, the thread could have run */
	__u64 args[3]; /* of the system call, as the thread passed them */
	__u64 gil_holder_addr; /* the thread state that had the GIL last, as the thread came back; 0 unknown */
	__s32 syscall; /* its number; -1: none */
	__u16 task_state; /* TASK_* as the thread left; 0: it could have gone on */
	__u16 unsampled; /* the thread's CPU time that no tick found, in units of 1 << UNSAMPLED_SHIFT ns: tick.h */
	__u16 file_mode; /* of the file that args[0] is the descriptor of, if it is one; 0 unknown */
	__u8 flags; /* enum wait_flag */
	__u8 pad_;
	__u32 ticks_ns; /* CPU time that the stack stands for, too: ticks that hit its CPU before it ran */
};
_Static_assert(sizeof(struct wait_facts) == 64, "struct wait_facts is shared with BPF");

enum wait_flag {
	WAIT_IO = 1 << 0, /* the kernel counts it as waiting for a disk */
	WAIT_HAS_SYSCALL = 1 << 1, /* syscall and args are known */
	WAIT_GIL = 1 << 2, /* args[0] lies in the interpreter's GIL */
	WAIT_GIL_LOCKED =
		1 << 3, /* and somebody had it as the thread came back: it will wait again */
	WAIT_WORLD = 1 << 4, /* free-threaded: another thread has stopped all others */
	WAIT_SECTION =
		1 << 5, /* free-threaded: for an object's lock, at the begin of a critical section */
};

/* What the thread's interpreter was at. */
struct interp_facts {
	__u64 gil_addr; /* which GIL it uses; 0 unknown, or none */
	__u64 gc_frame_addr; /* the frame in which garbage is being collected; 0 unknown, or none is */
	__u32 flags; /* enum interp_flag */
	__u32 pad_;
};
_Static_assert(sizeof(struct interp_facts) == 24, "struct interp_facts is shared with BPF");

enum interp_flag {
	INTERP_EXCEPTION = 1 << 0, /* the thread handles an exception, or one is on its way */
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

/* The record of one interrupt. */
struct record_sample {
	__u16 type; /* RECORD_SAMPLE */
	__u16 owner; /* share.h; as in struct proc_info */
	__u32 size; /* of the record with its sections, bytes */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 thread_start_ns; /* task start, boot clock */
	__u64 period; /* events that it stands for: ns for cpu-clock */
	__u64 tstate_addr;
	__u64 interp_addr;
	__u64 code_generation; /* PyInterpreterState.code_object_generation; 0 before 3.14 */
	__u64 thread_ptr; /* thread pointer, which is the PyThreadState's thread_id */
	__u64 anchor_epoch; /* with a note other than none */
	__u32 pid; /* host tgid */
	__u32 tid; /* host tid */
	__u32 cpu;
	__u16 anchor_index; /* of the anchor in the frames */
	__u16 anchor_steps; /* frames that it has slid towards the root since it was confirmed */
	__u8 reason; /* enum reason: the outcome, too */
	__u8 event; /* index of the perf event, in the order of -e */
	__u8 flags; /* enum sample_flag */
	__u8 anchor; /* enum anchor_note */
	__u8 native_reason; /* enum native_reason */
	__u8 no_anchors; /* its interpreter has no last_profiled_frame (before 3.15) */
	__u8 pad_[4];
	__u16 cnt[SECTION_CNT]; /* elements of each section */
	char comm[16]; /* of the thread */
};
_Static_assert(sizeof(struct record_sample) == 128, "struct record_sample is shared with BPF");
_Static_assert(KRAIT_MAX_FRAMES < 1 << 16 && KRAIT_ANCHOR_FRAMES < 1 << 16, "counted in a __u16");

enum sample_flag {
	SAMPLE_HAS_SLOT = 1 << 0, /* the thread has a slot; otherwise user space gives it one */
	SAMPLE_KERNEL = 1 << 1, /* the interrupt hit kernel mode */
	SAMPLE_DUMPABLE = 1 << 2, /* its user may trace the process; told where an anchor may pay */
	SAMPLE_UNMAPPED =
		1 << 3, /* native code in no mapping that user space has told, or no rows yet */
	/* Where states are asked for: gil.h. */
	SAMPLE_GIL_KNOWN = 1 << 4, /* the interpreter's GIL could be read */
	SAMPLE_GIL = 1 << 5, /* the thread holds it */
	SAMPLE_GC = 1 << 6, /* and garbage is being collected */
	SAMPLE_IN_FRAME =
		1
		<< 7, /* the registers have the thread state and the leaf's frame: native_stack.h */
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
	union {
		__u64 dropped; /* exit: as in struct proc_info */
		__u64 parent_start_ns; /* fork: with parent_pid, whose copy the child is; 0 unknown */
	};
	__u32 uid; /* of the task's real credentials, as the host has it */
	__u32 file; /* with a layout: binary_info.file; exec without: RECORD_FILE_PLAIN, or 0 */
};
_Static_assert(sizeof(struct record_task) == 80, "struct record_task is shared with BPF");

/* Of an exec: the file is in the map plain, so looking at the process is not urgent. */
#define RECORD_FILE_PLAIN ~0U

/* An exec of a file of which the kernel side knows no interpreter: RECORD_EXEC, larger than others. */
struct record_exec {
	struct record_task task;
	struct binary_key file;
};
_Static_assert(sizeof(struct record_exec) == 112, "struct record_exec is shared with BPF");

/*
 * The limit of mapping reports for one image of a process. A process with a thousand libraries makes two thousand;
 * one that makes more maps code all the time, and is looked at from time to time instead.
 */
#define MMAPS_MAX 4096

/* A mapping of code of a tracked process. */
struct record_mmap {
	__u16 type; /* RECORD_MMAP */
	__u16 owner;
	__u32 size;
	__u64 start_ns; /* of the process */
	__u64 start, end, offset; /* [start, end); in the file */
	struct binary_key file; /* inode 0: none */
	__u32 pid;
	__u32 last; /* no more are reported of this image */
};
_Static_assert(sizeof(struct record_mmap) == 80, "struct record_mmap is shared with BPF");

#endif /* KRAIT_RECORD_H */
