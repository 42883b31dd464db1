/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code_object.h - identifies the code object of a frame, and records it so that the name stays true.
 *
 * Code objects are freed and their addresses reused, and a process may be gone before user space
 * can read a name. So the interrupt takes a fingerprint of each frame's code object, and describes
 * a code object at once when it first meets it: the bytes of the object, of its two names and of
 * its line table leave as a snapshot, which user space parses with the same code that parses live
 * memory.
 *
 * A direct-mapped table by (process, interpreter, address) makes this cheap: it remembers the
 * fingerprint for what proves that the object is still the same.
 *  - 3.14+: code_object_generation. As long as no code object has died, nothing is read at all.
 *  - 3.12+: the object's key, since no two objects of an interpreter have the same co_version. Each
 *    sample reads the key of each code object.
 *  - Before 3.12 nothing in the object proves it: the key is the same after pymalloc has handed out
 *    the same blocks. So each sample reads the contents of the code that runs (the leaf's), and
 *    those of the callers after CODE_AGAIN_NS at the latest. If the contents have then changed under
 *    the same key, the process makes and drops code in place: for CODE_REPLACED_NS all contents are
 *    read in each sample.
 * There is no lock: each word of the table is read and written whole and says by itself to what it
 * belongs, a collision only costs a repeat, and a superfluous snapshot does no harm.
 *
 * Must hold: at most max_definitions snapshots and CODE_CONTENTS_BYTES of contents per sample, and
 * CODE_BYTES_MAX bytes of snapshots per process and second, each of bounded size and with bounded
 * reads. An object that does not fit is left out whole; user space then reads it from the target.
 */
#ifndef KRAIT_BPF_PYTHON_CODE_OBJECT_H
#define KRAIT_BPF_PYTHON_CODE_OBJECT_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/python/fingerprint.h"
#include "bpf/read.h"

/* The longest PyUnicode header that we know (free-threaded PyCompactUnicodeObject: 72 bytes). */
#define STRING_HEADER_MAX 128
/* Bytes before a PyBytes' first byte: 32, free-threaded 48. All older versions agree up to ob_size. */
#define BYTES_HEADER_MAX 64
#define OLD_BYTES_HEADER 32
#define TYPE_NAME_SIZE 8

/* Before 3.12: how long the contents of a caller's code object are believed (2^26 ns: 67 ms). */
#define CODE_AGAIN_SHIFT 26
/* ... and how long not at all after contents have changed under the same key. */
#define CODE_REPLACED_NS (1LL << 33)
/*
 * Contents that one sample may read: as many bytes, where each object counts as CODE_CONTENTS_LEAST
 * at least, since it takes three reads.
 */
#define CODE_CONTENTS_BYTES (128 << 10)
#define CODE_CONTENTS_LEAST 256
/* An interpreter state that far behind _PyRuntime is not the main one, which is part of it (3.11+). */
#define CODE_RUNTIME_BYTES (1 << 20)

/*
 * Appends a region of the target's memory to the snapshot. Returns 0, or 1 if the region is not
 * available whole. A global function, which the verifier follows once (code_snapshot.h).
 */
static __always_inline int snapshot_add(struct record_code *record, __u64 addr, __u32 size);

/* Appends a PyUnicode, whose header tells its length. */
static __always_inline int snapshot_string(struct record_code *record, const struct py_offsets *off,
					   __u64 addr)
{
	__u32 header = off->unicode.compact_size, state = 0, kind;
	__u64 length = 0;

	if (!addr || read_user_u64(&length, addr + off->unicode.length) ||
	    read_user(&state, sizeof(state), addr + off->unicode.state))
		return 1;
	kind = state >> PYOFF_STRING_STATE_SHIFT(off) & 7;
	if (length > CODE_REGION_MAX || kind > 4 || header > STRING_HEADER_MAX)
		return 1;
	return snapshot_add(record, addr, header + (__u32)length * kind);
}

/*
 * Appends the line table, a PyBytes. Of one that is too long only the part that counts for the
 * fingerprint: the names are useful by themselves.
 */
static __always_inline void snapshot_bytes(struct record_code *record, const struct py_offsets *off,
					   __u64 addr)
{
	__u32 header = off->bytes.ob_sval;
	__u64 size = 0;

	if (!addr || header > BYTES_HEADER_MAX || read_user_u64(&size, addr + off->bytes.ob_size))
		return;
	if (size > CODE_REGION_MAX - BYTES_HEADER_MAX)
		snapshot_add(record, addr, header + CODE_CONTENTS_MAX);
	else if (!snapshot_add(record, addr, header + (__u32)size))
		record->has_lines = 1;
}

/*
 * Appends what shows that the object's type is PyCode_Type: the pointer to its name, and the name.
 * The name is in read-only data of a file, which a forked child may not have in its page tables
 * yet. Then it is left out: user space knows the type from the parent.
 */
static __always_inline void snapshot_type(struct record_code *record, const struct py_offsets *off,
					  __u64 type_addr)
{
	__u64 name_addr = 0;

	if (!type_addr || read_user_u64(&name_addr, type_addr + off->object.tp_name))
		return;
	if (!snapshot_add(record, type_addr + off->object.tp_name, sizeof(name_addr)))
		snapshot_add(record, name_addr, TYPE_NAME_SIZE);
}

/* d->window holds the code object, just read. Returns 0, or 1 if no snapshot of it is possible. */
static __always_inline int snapshot_code(struct record_code *record, const struct py_offsets *off,
					 const __u8 *window, __u64 code_addr)
{
	record->region_cnt = 0;
	record->data_size = 0;
	record->has_lines = 0;
	if (snapshot_add(record, code_addr, PYOFF_CODE_WINDOW(off)))
		return 1;
	snapshot_type(record, off, window_u64(window, off->object.ob_type, CODE_WINDOW_MASK));
	if (snapshot_string(record, off, code_name_addr(window, off)) ||
	    snapshot_string(record, off, CODE_FIELD(window, off, filename)))
		return 1;
	/*
	 * In 3.8 and 3.9 the line table ends where the code does: the code's length is in its
	 * object's header.
	 */
	if (off->frame_kind == PY_FRAME_OBJECT && !off->lasti_shift &&
	    off->code.bytecode != PYOFF_ABSENT &&
	    snapshot_add(record, CODE_FIELD(window, off, bytecode), OLD_BYTES_HEADER))
		return 0;
	snapshot_bytes(record, off, CODE_FIELD(window, off, linetable));
	return 0;
}

/* The upper half of a word says what it belongs to, the lower half is a fingerprint. */
#define CODE_UPPER (~0ULL << 32)
/* In code_entry.known: the object has been described. The bit is 1 in each fingerprint. */
#define CODE_DESCRIBED 1ULL

/* What is known about the code object at one place of the table. */
struct code_entry {
	__u64 known; /* by code_tag() of its key; without CODE_DESCRIBED until it is described */
	__u64 proved; /* in the generation of that code_tag() (3.14+), or at that code_time() (before 3.12) */
};

/* A power of two. */
#define CODE_MET 8

/* State while one sample's frames are described; in per-CPU memory. */
struct describer {
	__u64 process; /* identifies the interpreter for good: a hash of pid, start and id */
	__u64 generation; /* 0 if the layout has none */
	__u64 time_ns; /* of the sample */
	__u32 index; /* of the frame that is next */
	__u32 frame_cnt;
	__u32 left; /* snapshots that this sample may still send */
	__u32 bytes; /* bytes that they may take */
	__u32 contents_left; /* bytes of contents that this section of the sample may still read */
	__u8 exact; /* read all contents: the process has replaced code objects a moment ago */
	__u8 leaf; /* the next code object is the one that runs */
	__u8 pad_[2];
	/* For describe_anew(): the place, code_tag() of the key, and what the place had under that key, or 0. */
	struct {
		__u64 place, tag;
		__u32 known, pad_;
	} anew;
	/*
	 * The fingerprints of code objects that this sample has met (describe_met()): functions
	 * that call themselves, wrappers. In the interrupt an object stays the same.
	 */
	struct code_met {
		__u64 code_addr; /* 0: none */
		__u32 fingerprint, pad_;
	} met[CODE_MET];
	__u8 window[WINDOW_SIZE(CODE_WINDOW_MASK + 1)];
	struct code_contents contents;
};

/* Where a code object would be among those met: in memory they are apart by a multiple of 16 bytes. */
static __always_inline struct code_met *describe_met(struct describer *d, __u64 code_addr)
{
	return &d->met[masked(code_addr >> 4 ^ code_addr >> 8, CODE_MET - 1)];
}

/* Identifies what lies at that address of the process. */
static __always_inline __u64 describer_place(const struct describer *d, __u64 code_addr)
{
	return fingerprint_mix(d->process, code_addr);
}

/* Identifies what lies at the place under a key, in a generation, or at a time. */
static __always_inline __u64 code_tag(__u64 place, __u64 what)
{
	return fingerprint_mix(place, what) & CODE_UPPER;
}

/* Bytes of snapshots that the process may send by now. */
static __always_inline __u32 describe_budget(const struct proc_info *proc, __u64 now_ns)
{
	__u64 bytes = proc->code_bytes + ((now_ns - proc->code_ns) >> CODE_RATE_SHIFT);

	return bytes < CODE_BYTES_MAX ? bytes : CODE_BYTES_MAX;
}

/* Reads the object into d->window. Returns 0, or 1 if it is not present. */
static __always_inline int describe_read(struct describer *d, const struct py_offsets *off,
					 __u64 code_addr)
{
	return read_user(d->window, PYOFF_CODE_WINDOW(off), code_addr);
}

/* The same for the part of it that has the key: fewer lines of memory, which are rarely cached. */
static __always_inline int describe_read_key(struct describer *d, const struct py_offsets *off,
					     __u64 code_addr)
{
	__u32 at = masked(PYOFF_CODE_KEY_AT(off), CODE_WINDOW_MASK / 2);

	return read_user(&d->window[at], KRAIT_CODE_KEY, code_addr + at);
}

/*
 * When the contents at the place must be read again, as the upper half of a word: not for all places
 * at the same time.
 */
static __always_inline __u64 code_time(const struct describer *d, __u64 place)
{
	__u64 ns = d->time_ns;

	if (!d->exact)
		ns = (ns + (place & ((1ULL << CODE_AGAIN_SHIFT) - 1))) >> CODE_AGAIN_SHIFT;
	return ns << 32;
}

/* Fills the snapshot. Returns 0, or 1 if user space has to read the object itself. */
static __always_inline int describe_snapshot(struct describer *d, const struct py_offsets *off,
					     __u64 code_addr, __u32 fingerprint,
					     struct record_code *record)
{
	if (describe_read(d, off, code_addr) || snapshot_code(record, off, d->window, code_addr))
		return 1;
	record->type = RECORD_CODE;
	record->size = CODE_RECORD_HEADER + record->data_size;
	record->code_addr = code_addr;
	record->fingerprint = fingerprint;
	record->pad_ = 0;
	return 0;
}

#endif /* KRAIT_BPF_PYTHON_CODE_OBJECT_H */
