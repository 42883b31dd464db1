/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_instr.h - which code the frame in the walker's window runs, and where in it the frame
 * stands: fingerprint of the code object, offset of the instruction, opcode.
 *
 * Must hold: what cannot be determined is 0 or FRAME_INSTR_UNKNOWN; it never ends the walk.
 */
#ifndef KRAIT_BPF_PYTHON_WALK_INSTR_H
#define KRAIT_BPF_PYTHON_WALK_INSTR_H

#include "bpf/abi.h"
#include "bpf/python/fingerprint.h"
#include "bpf/python/opcode_callers.h"
#include "bpf/read.h"
#include "bpf/python/walker.h"

/* In the kernel code_snapshot.h does this, after the walk. */
#ifdef __bpf__
static __always_inline __u32 walk_fingerprint(struct walker *w, const struct py_offsets *off,
					      __u64 code_addr)
{
	return 0;
}
#else
static inline __u32 walk_fingerprint(struct walker *w, const struct py_offsets *off,
				     __u64 code_addr)
{
	__u8 window[WINDOW_SIZE(CODE_WINDOW_MASK + 1)] = {};

	if (read_from(w, window, PYOFF_CODE_WINDOW(off), code_addr))
		return 0;
	return code_fingerprint(w->memory, off, window);
}
#endif

/*
 * The start of the bytecode that the frame runs; 0 if unknown. A free-threaded interpreter (3.14+)
 * gives each thread that runs a function its own copy: co_tlbc leads to { Py_ssize_t size; char
 * *entries[size] } (_PyCodeArray, Include/cpython/code.h), and frame.tlbc_index says which entry is
 * in use; 0 is the code object's own bytecode. A thread that enters another thread's generator
 * stores instr_ptr before tlbc_index. Copies do not overlap, so between the two stores the offset
 * matches no instruction.
 */
static __always_inline __u64 walk_bytecode(const struct walker *w, const struct py_offsets *off,
					   __u64 code_addr)
{
	__u64 array_addr = 0, size = 0, addr = 0;
	__u32 index;

	if (off->frame.tlbc_index == PYOFF_ABSENT)
		return code_addr + off->code.code_adaptive;
	index = window_u32(w->frame_window, off->frame.tlbc_index, FRAME_WINDOW_MASK);
	if (!index)
		return code_addr + off->code.code_adaptive;
	if (read_from_u64(w, &array_addr, code_addr + off->code.tlbc) || array_addr & TAG_BITS ||
	    read_from_u64(w, &size, array_addr) || index >= size ||
	    read_from_u64(w, &addr, array_addr + 8 + 8ULL * index))
		return 0;
	return addr;
}

/*
 * instr_ptr is the instruction itself. prev_instr (3.11, 3.12) and f_lasti are the last one begun,
 * or one unit before the first if none was: in both cases FRAME_INSTR_BEFORE.
 */
static __always_inline __s32 walk_instr(const struct walker *w, const struct py_offsets *off,
					__u64 code_addr)
{
	__u64 bytecode_addr, instr_off;

	if (off->frame_kind == PY_FRAME_OBJECT) {
		__s32 lasti =
			(__s32)window_u32(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK);

		if (lasti < 0)
			return lasti == -1 ? FRAME_INSTR_BEFORE : FRAME_INSTR_UNKNOWN;
		return lasti < FRAME_INSTR_LIMIT / 2 ? lasti << (off->lasti_shift & 1) :
						       FRAME_INSTR_UNKNOWN;
	}
	bytecode_addr = walk_bytecode(w, off, code_addr);
	instr_off = window_u64(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK) -
		    bytecode_addr;
	if (bytecode_addr && instr_off < FRAME_INSTR_LIMIT)
		return (__s32)instr_off;
	if (off->flags & PYOFF_CFRAME && instr_off == (__u64)FRAME_INSTR_BEFORE)
		return FRAME_INSTR_BEFORE;
	return FRAME_INSTR_UNKNOWN;
}

/*
 * How far before prev_instr, in units, the instruction that entered a frame can be; and the same in
 * bytes.
 */
#define CALLER_UNITS_MAX 9
#define CALLER_BYTES (2 * CALLER_UNITS_MAX + 2)

/*
 * Does the instruction that many units before the end of bytes enter a frame, with nothing but its
 * caches in between?
 */
static __always_inline bool walk_is_caller(const __u8 *bytes, const __u8 *callers, __s32 instr_off,
					   __u32 units)
{
	return callers[bytes[2 * (CALLER_UNITS_MAX - units)]] == units + 1 &&
	       instr_off >= 2 * (__s32)units;
}

/* What is known about a frame's prev_instr. */
enum prev_instr {
	/* the thread runs this frame: at the instruction, or after a call that has just returned */
	PREV_RUNS,
	PREV_RUNS_CALLEE, /* the thread runs a frame that this one entered in the same activation */
	PREV_AT, /* suspended at the instruction, which called C code that has not returned */
	PREV_CALLEE, /* suspended after the instruction that entered the frame above */
	PREV_UNKNOWN,
};

/* Can prev_instr be the instruction itself, given its opcode? */
static __always_inline bool walk_is_at(enum prev_instr prev, const __u8 *callers, __u8 own)
{
	/* Opcode 0 is never executed. It is data: often the last unit of a cache. */
	if (!own)
		return false;
	/*
	 * A frame may become current before prev_instr is stored, and stays at its call for a
	 * moment after the call has returned.
	 */
	if (prev == PREV_RUNS_CALLEE)
		return callers[own];
	return prev != PREV_CALLEE || callers[own] == 1;
}

/*
 * 3.11 and 3.12: prev_instr points to the instruction. After that instruction has entered a frame
 * of the same activation, it points to the last unit of its inline cache, until the next
 * instruction begins. Caches may look like instructions, so the opcode is known only if just one
 * reading makes sense, which is then the right one. Also sets the offset of the instruction.
 */
static __always_inline __u8 walk_prev_opcode(struct walker *w, const struct py_offsets *off,
					     __s32 *instr_off, enum prev_instr prev)
{
	const bool is_311 = off->frame_kind == PY_FRAME_IS_ENTRY;
	const __u8 *callers = is_311 ? opcode_callers_11 : opcode_callers_12;
	__u64 addr = window_u64(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK);
	__u8 own, bytes[CALLER_BYTES] = {};
	__u32 found = 0, units = 0;

	if (prev == PREV_UNKNOWN || read_from(w, bytes, sizeof(bytes), addr + 2 - CALLER_BYTES))
		return 0;
	own = bytes[2 * CALLER_UNITS_MAX];
	if (walk_is_caller(bytes, callers, *instr_off, 1)) {
		units = 1;
		found++;
	}
	if (walk_is_caller(bytes, callers, *instr_off, is_311 ? 4 : 3)) {
		units = is_311 ? 4 : 3;
		found++;
	}
	if (walk_is_caller(bytes, callers, *instr_off, CALLER_UNITS_MAX)) {
		units = CALLER_UNITS_MAX;
		found++;
	}
	if (walk_is_at(prev, callers, own)) {
		/*
		 * C code that the interpreter runs while it unwinds finds prev_instr after a call,
		 * on data, which may look like any other opcode.
		 */
		if (prev == PREV_AT && callers[own])
			found = units = 0;
		found++;
	}
	if (found != 1)
		return 0;
	*instr_off -= 2 * (__s32)units;
	/* On arm64 clang forgets the bound. */
	return bytes[at_most(2 * (CALLER_UNITS_MAX - units), 2 * CALLER_UNITS_MAX)];
}

/*
 * The opcode of the frame in the window: that of its instruction, as it is now, in the thread's own
 * copy; 0 unknown. prev: for 3.11 and 3.12.
 */
static __always_inline __u8 walk_opcode(struct walker *w, const struct py_offsets *off,
					__u64 code_addr, __s32 *instr_off, enum prev_instr prev)
{
	__u64 addr = window_u64(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK);
	__u8 byte = 0;

	if (*instr_off < 0)
		return 0;
	if (off->flags & PYOFF_CFRAME)
		return walk_prev_opcode(w, off, instr_off, prev);
	if (off->frame_kind == PY_FRAME_OBJECT) {
		if (off->code.bytecode == PYOFF_ABSENT ||
		    read_from_u64(w, &addr, code_addr + off->code.bytecode))
			return 0;
		addr += off->bytes.ob_sval + *instr_off;
	}
	return read_from(w, &byte, sizeof(byte), addr) ? 0 : byte;
}

#endif /* KRAIT_BPF_PYTHON_WALK_INSTR_H */
