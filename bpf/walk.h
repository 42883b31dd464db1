/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk.h - from a thread state to its frames, leaf first.
 *
 * The thread is interrupted on this very CPU, so the chain cannot change while it is followed; what
 * can go wrong is memory that is not present, an interrupt between two stores of a call or return,
 * and a target that lies. Each ends the walk with its own reason.
 *
 * CPython 3.12 to 3.15, Include/internal/pycore_frame.h and pycore_interpframe_structs.h
 * (PY_FRAME_OWNER):
 *  - owner 0 and 1 (thread, generator) are Python frames; f_executable carries tag bits (3.14+);
 *    f_executable 0 is a frame that is being cleared, emitted as all zeroes;
 *  - owner 3 (and 4 in 3.14) is an entry frame on the C stack, one per activation of the eval loop:
 *    emitted with code_addr 0, its address being the join point with native frames;
 *  - owner 2 (frame object) is never on a live chain, but for programs that are compiled (below);
 *  - on 3.15 the last node is PyThreadState.base_frame, before that an entry frame. greenlet begins with
 *    no current frame (TGreenlet.cpp, 3.x), so what it runs ends in an entry frame on any version.
 * CPython 3.11 (PY_FRAME_IS_ENTRY) has no entry frames, but marks each frame that C called. Behind
 * such a frame one is emitted in their place; its address is that of the activation's _PyCFrame,
 * which is on the C stack, too.
 * CPython 3.8 to 3.10 (PY_FRAME_OBJECT): each frame has an activation of its own, of which there is
 * no trace in the interpreter's memory. The chain ends where f_back is NULL.
 *
 * 3.11 and 3.12 keep the current frame in the _PyCFrame, and make that known before it is filled: an
 * interrupt in these few instructions sees what an earlier activation left in that place. So on
 * the way down the frame that an activation was called from must be the one that is current in the
 * activation before, and the outermost activation must be the thread state's own (greenlet has one
 * more above that); else the sample is lost (REASON_BAD_FRAME): 0.4 % where C calls Python all the
 * time on 3.11, 1 % on 3.12. There is nothing to mend it with: compilers fill current_frame and previous
 * with one store at the end, and until then the activation before is known to a register only.
 *
 * Nuitka (4.3.3, compiled_frame.h) compiles functions to C and links a frame for each into the chain: owner
 * 1, or 2 without the GIL, and a part of its own frame object, which no frame of the interpreter is while
 * it runs. It belongs to no activation, so it has no entry frame and 3.11's mark is not set; it is the
 * last one where C code has begun the thread: complete, where activations are followed only in the
 * thread state's own, as a stale one may hold anything. Its instruction is always the first one, and
 * it is left without a word to last_profiled_frame, so it is no anchor.
 *
 * Must hold: at most KRAIT_MAX_FRAMES steps; the only effect is on struct walker and its output.
 */
#ifndef KRAIT_WALK_H
#define KRAIT_WALK_H

#include "opcode_callers.h"

#define TAG_BITS 7ULL
#define FRAME_HEAD 8

/* As ANCHOR_CHECK in anchor.h: the model test shows what each is good for. */
#ifndef WALK_CHECK
#define WALK_CHECK(name, condition) (condition)
#endif

/* _PyInterpreterFrame.owner, enum _frameowner */
#define OWNER_THREAD 0
#define OWNER_GENERATOR 1
#define OWNER_FRAME_OBJECT 2 /* in a walk: a compiled one */
#define OWNER_INTERPRETER 3
#define OWNER_CSTACK 4
#define OWNER_NONE 255

/*
 * How far into its frame object a compiled frame begins, at most (104 bytes on 3.11, 128 on 3.14). The frame
 * of a generator is a part of the generator: 88 bytes of that (with the collector's header) come before
 * it, so its frame object, of 120 bytes and more, begins at least 208 bytes before it.
 */
#define COMPILED_FRAME_BYTES 192

/* Loop state and windows of one walk; in per-CPU memory, the BPF stack is too small. */
struct walker {
	READ_MEMBER
	__u64 next_addr; /* frame to visit next, 0 at the end of the chain */
	__u64 last_addr; /* frame visited last */
	__u64 base_addr; /* where a complete chain ends (3.15), or 0 */
	__u64 cycle_addr; /* a frame visited earlier: meeting it again is a circle */
	__u32 cycle_at; /* node count at which cycle_addr is renewed */
	__u32 frame_cnt; /* frames written */
	__u32 fingerprints; /* take one of each code object */
	__u32 last_owner;
	__u32 entry_due; /* PY_FRAME_IS_ENTRY: the next node is the last frame's entry frame */
	__u64 cframe_addr, cframe_previous_addr; /* the activation that is walked; 0 none */
	__u64 tstate_addr; /* with it: which has the outermost activation in itself */
	__u32 reason; /* enum reason, valid when walk_step() returned 1 */
	__u64 mark_addr; /* a frame to look out for (the anchor), 0 none */
	__u32 stop_at_mark; /* the walk is over there */
	__u32 mark_met; /* 1 once visited, as a Python frame */
	__u32 mark_index; /* of it in the frames */
	__u32 chain_open; /* callers of the mark still go to chain */
	__u32 chain_cnt;
	__u32 opcodes; /* read that of each frame; in the kernel a knob of the program says it */
	__u64 chain[KRAIT_ANCHOR_FRAMES]; /* the mark, its caller ... to the first entry frame */
	__u8 frame_head
		[FRAME_HEAD]; /* what lies before a frame that is a part of its generator: tasks.h */
	__u8 frame_window[WINDOW_SIZE(FRAME_WINDOW_MASK + 1)];
	__u8 code_window[WINDOW_SIZE(CODE_WINDOW_MASK + 1)];
	__u8 cframe_window[WINDOW_SIZE(CFRAME_WINDOW_MASK + 1)];
};

static __always_inline void walk_begin(struct walker *w, __u64 current_frame_addr,
				       __u64 base_frame_addr, __u32 fingerprints)
{
	w->next_addr = current_frame_addr;
	w->last_addr = 0;
	w->base_addr = base_frame_addr;
	w->cycle_addr = 0;
	w->cycle_at = 1;
	w->frame_cnt = 0;
	w->fingerprints = fingerprints;
	w->last_owner = OWNER_INTERPRETER;
	w->entry_due = 0;
	w->cframe_addr = 0;
	w->cframe_previous_addr = 0;
	w->tstate_addr = 0;
	w->reason = REASON_PYTHON;
	w->mark_addr = 0;
	w->stop_at_mark = 0;
	w->mark_met = 0;
	w->mark_index = 0;
	w->chain_open = 0;
	w->chain_cnt = 0;
	w->opcodes = 0;
}

/* PYOFF_CFRAME: the activations to follow beside the frames. After walk_begin(). */
static __always_inline void walk_begin_cframe(struct walker *w, __u64 tstate_addr,
					      __u64 cframe_addr, __u64 cframe_previous_addr)
{
	w->tstate_addr = tstate_addr;
	w->cframe_addr = cframe_addr;
	w->cframe_previous_addr = cframe_previous_addr;
}

/* What frames and activations lie in. In the kernel, where the thread is interrupted, by pages (loops.h). */
#ifdef __bpf__
static int walk_read(struct walker *w, __u8 *window, __u32 size, __u64 addr, bool many);
#else
static inline int walk_read(struct walker *w, __u8 *window, __u32 size, __u64 addr, bool many)
{
	return read_from(w, window, size, addr);
}
#endif

/* Where nobody asks for opcodes, the verifier takes away what reads them. */
#ifdef __bpf__
static bool walk_wants_opcodes(const struct walker *w);
#else
static inline bool walk_wants_opcodes(const struct walker *w)
{
	return w->opcodes;
}
#endif

static __always_inline int walk_end(struct walker *w, __u32 reason)
{
	w->reason = reason;
	return 1;
}

/* As walk_finish(), with activations: the outermost one must have been reached, too. */
static __always_inline int walk_finish_cframe(struct walker *w, const struct py_offsets *off)
{
	if (w->last_owner == OWNER_FRAME_OBJECT)
		return walk_end(w, w->cframe_addr - w->tstate_addr < KRAIT_CFRAME_THREAD ?
					   REASON_PYTHON :
					   REASON_BAD_FRAME);
	if (w->last_owner < OWNER_INTERPRETER && off->frame_kind == PY_FRAME_OWNER)
		return walk_end(w, REASON_NO_BASE); /* a generator that is just being left */
	if (w->last_owner >= OWNER_INTERPRETER &&
	    (w->cframe_addr - w->tstate_addr < KRAIT_CFRAME_THREAD ||
	     w->cframe_previous_addr - w->tstate_addr < KRAIT_CFRAME_THREAD))
		return walk_end(w, REASON_PYTHON);
	return walk_end(w, REASON_BAD_FRAME);
}

/* The chain has ended: was that its true end? An idle thread's chain is empty before 3.15. */
static __always_inline int walk_finish(struct walker *w, const struct py_offsets *off)
{
	if (off->frame_kind == PY_FRAME_OBJECT)
		return walk_end(w, REASON_PYTHON);
	if (w->cframe_addr)
		return walk_finish_cframe(w, off);
	if (w->base_addr && w->last_addr == w->base_addr)
		return walk_end(w, REASON_PYTHON);
	if (w->base_addr)
		return walk_end(w, w->frame_cnt > 1 && w->last_owner == OWNER_INTERPRETER ?
					   REASON_GREENLET :
					   REASON_NO_BASE);
	return walk_end(w, w->last_owner >= OWNER_FRAME_OBJECT ? REASON_PYTHON : REASON_NO_BASE);
}

/* Brent: keep one old address and renew it at powers of two. */
static __always_inline int walk_in_circle(struct walker *w, __u64 addr)
{
	if (addr == w->cycle_addr)
		return 1;
	if (w->frame_cnt >= w->cycle_at) {
		w->cycle_addr = addr;
		w->cycle_at *= 2;
	}
	return 0;
}

/* Of the code object whose first PYOFF_CODE_WINDOW() bytes the window holds. */
static __always_inline __u32 window_fingerprint(const __u8 *window, const struct py_offsets *off)
{
	__s32 name = off->code.qualname == PYOFF_ABSENT ? off->code.name : off->code.qualname;
	__u32 fingerprint =
		code_fingerprint(window_u64(window, name, CODE_WINDOW_MASK),
				 window_u64(window, off->code.filename, CODE_WINDOW_MASK),
				 window_u64(window, off->code.linetable, CODE_WINDOW_MASK),
				 window_u32(window, off->code.firstlineno, CODE_WINDOW_MASK));

	if (off->code.version == PYOFF_ABSENT)
		return fingerprint;
	return fingerprint_add(fingerprint,
			       window_u32(window, off->code.version, CODE_WINDOW_MASK));
}

static __always_inline __u32 walk_fingerprint(struct walker *w, const struct py_offsets *off,
					      __u64 code_addr)
{
	if (read_from(w, w->code_window, PYOFF_CODE_WINDOW(off), code_addr))
		return 0;
	return window_fingerprint(w->code_window, off);
}

/*
 * Where the bytecode begins that the frame runs. A free-threaded interpreter (3.14+) gives each thread
 * that runs a function a copy of its own: co_tlbc leads to { Py_ssize_t size; char *entries[size] }
 * (_PyCodeArray, Include/cpython/code.h), of which frame.tlbc_index is the one in use; 0 is the code
 * object's own. 0 where that cannot be told. A thread that enters another's generator stores instr_ptr
 * before tlbc_index: copies do not overlap, so in between the offset is of no instruction.
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
 * instr_ptr is the instruction itself. prev_instr (3.11, 3.12) and f_lasti are the one begun last,
 * which is one unit before the first where none was: there both make FRAME_INSTR_BEFORE.
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

/* Units before prev_instr where an instruction can be that entered a frame, and so many bytes. */
#define CALLER_UNITS_MAX 9
#define CALLER_BYTES (2 * CALLER_UNITS_MAX + 2)

/* Whether the instruction units before the end of those bytes enters frames, and all between are its caches. */
static __always_inline bool walk_is_caller(const __u8 *bytes, const __u8 *callers, __s32 instr_off,
					   __u32 units)
{
	return callers[bytes[2 * (CALLER_UNITS_MAX - units)]] == units + 1 &&
	       instr_off >= 2 * (__s32)units;
}

/*
 * 3.11 and 3.12: prev_instr is the instruction, or where it has entered a frame of the same activation, until the
 * next instruction begins, the last unit of its inline cache. Caches may look like an instruction: so an opcode
 * is known where one reading alone makes sense, which is the right one then. Sets the offset of the instruction.
 */
static __always_inline __u8 walk_prev_opcode(struct walker *w, const struct py_offsets *off,
					     __s32 *instr_off)
{
	const bool is_311 = off->frame_kind == PY_FRAME_IS_ENTRY;
	const __u8 *callers = is_311 ? opcode_callers_11 : opcode_callers_12;
	__u64 addr = window_u64(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK);
	bool entered = w->frame_cnt && w->last_owner <= OWNER_GENERATOR;
	__u8 bytes[CALLER_BYTES] = {};
	__u32 found = 0, units = 0;

	if (read_from(w, bytes, sizeof(bytes), addr + 2 - CALLER_BYTES))
		return 0;
	/* A frame may be current before prev_instr is stored. */
	if (!entered || callers[bytes[2 * CALLER_UNITS_MAX]])
		found = 1;
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
	if (found != 1)
		return 0;
	*instr_off -= 2 * (__s32)units;
	return bytes[2 * (CALLER_UNITS_MAX - units)];
}

/* Of the frame in the window: the opcode at the instruction, as it is now, in the thread's own copy; 0 unknown. */
static __always_inline __u8 walk_opcode(struct walker *w, const struct py_offsets *off,
					__u64 code_addr, __s32 *instr_off)
{
	__u64 addr = window_u64(w->frame_window, off->frame.instr_ptr, FRAME_WINDOW_MASK);
	__u8 byte = 0;

	if (*instr_off < 0)
		return 0;
	if (off->flags & PYOFF_CFRAME)
		return walk_prev_opcode(w, off, instr_off);
	if (off->frame_kind == PY_FRAME_OBJECT) {
		if (off->code.bytecode == PYOFF_ABSENT ||
		    read_from_u64(w, &addr, code_addr + off->code.bytecode))
			return 0;
		addr += off->bytes.ob_sval + *instr_off;
	}
	return read_from(w, &byte, sizeof(byte), addr) ? 0 : byte;
}

static __always_inline void walk_python_frame(struct walker *w, const struct py_offsets *off,
					      __u32 owner, __u64 addr, __u64 code_addr,
					      struct frame *out)
{
	__s32 instr_off = walk_instr(w, off, code_addr);
	__u8 opcode = 0;

	if (walk_wants_opcodes(w) && owner != OWNER_FRAME_OBJECT)
		opcode = walk_opcode(w, off, code_addr, &instr_off);
	out->code_addr = code_addr;
	out->frame_addr = code_addr ? addr : 0;
	out->instr_off = owner == OWNER_FRAME_OBJECT ? FRAME_INSTR_UNKNOWN : instr_off;
	out->opcode = opcode;
	out->fingerprint = w->fingerprints ? walk_fingerprint(w, off, code_addr) : 0;
}

/*
 * Looks out for the mark and collects the addresses from there on. An entry frame ends the chain and
 * is never the mark: its address on the C stack comes back in later, different calls. 1 to stop.
 */
static __always_inline int walk_mark(struct walker *w, const struct frame *node, __u32 index)
{
	if (!WALK_CHECK(ENTRY_FRAME, node->code_addr != 0)) {
		w->chain_open = 0;
		return 0;
	}
	if (node->frame_addr == w->mark_addr && !w->mark_met) {
		w->mark_met = 1;
		w->mark_index = index;
		w->chain_open = 1;
	}
	if (!w->chain_open)
		return 0;
	if (w->chain_cnt < KRAIT_ANCHOR_FRAMES)
		w->chain[masked(w->chain_cnt++, KRAIT_ANCHOR_FRAMES - 1)] = node->frame_addr;
	return w->stop_at_mark;
}

/*
 * Leaves an activation by its entry frame. What it was called from, w->next_addr, must be current in
 * the activation before. 0, or 1 when the walk is over.
 */
static __always_inline int walk_leave_cframe(struct walker *w, const struct py_offsets *off)
{
	__u64 addr = w->cframe_previous_addr;

	if (!addr || addr & TAG_BITS)
		return walk_end(w, REASON_BAD_FRAME);
	if (walk_read(w, w->cframe_window, KRAIT_CFRAME_WINDOW, addr, true))
		return walk_end(w, REASON_FRAME_FAULT);
	if (window_u64(w->cframe_window, off->cframe.current_frame, CFRAME_WINDOW_MASK) !=
	    w->next_addr)
		return walk_end(w, REASON_BAD_FRAME);
	w->cframe_addr = addr;
	w->cframe_previous_addr =
		window_u64(w->cframe_window, off->cframe.previous, CFRAME_WINDOW_MASK);
	return 0;
}

static __always_inline void walk_entry_frame(struct frame *out, __u64 addr)
{
	out->code_addr = 0;
	out->frame_addr = addr;
	out->instr_off = FRAME_INSTR_UNKNOWN;
	out->opcode = 0;
	out->fingerprint = 0;
}

/* The entry frame that 3.11 does not have. */
static __always_inline int walk_implied_entry(struct walker *w, const struct py_offsets *off,
					      struct frame *frames)
{
	struct frame *out = &frames[masked(w->frame_cnt, KRAIT_MAX_FRAMES - 1)];

	if (w->frame_cnt >= KRAIT_MAX_FRAMES)
		return walk_end(w, REASON_DEPTH);
	walk_entry_frame(out, w->cframe_addr);
	w->frame_cnt++;
	w->entry_due = 0;
	w->last_owner = OWNER_INTERPRETER;
	return walk_leave_cframe(w, off);
}

static __always_inline int walk_read_frame(struct walker *w, const struct py_offsets *off,
					   __u64 addr)
{
	if (off->frame_kind == PY_FRAME_OBJECT)
		return read_from(w, w->frame_window, KRAIT_OLD_FRAME_WINDOW, addr);
	return walk_read(w, w->frame_window, KRAIT_FRAME_WINDOW, addr, false);
}

/* Whether the frame in the window, which is at addr, is a part of its own frame object: the member frame_obj is
 * the one before the instruction, in 3.11 before previous. */
static __always_inline int walk_is_compiled(const struct walker *w, const struct py_offsets *off,
					    __u64 addr)
{
	__s32 after = off->frame_kind == PY_FRAME_IS_ENTRY ? off->frame.previous :
							     off->frame.instr_ptr;

	return addr - window_u64(w->frame_window, after - 8, FRAME_WINDOW_MASK) - 1 <
	       COMPILED_FRAME_BYTES;
}

/* What the frame in the window is, which is at addr. */
static __always_inline __u32 walk_owner(struct walker *w, const struct py_offsets *off, __u64 addr)
{
	__u32 owner;

	if (off->frame_kind == PY_FRAME_OBJECT)
		return OWNER_THREAD;
	owner = window_u8(w->frame_window, off->frame.owner, FRAME_WINDOW_MASK);
	if (owner == OWNER_GENERATOR || owner == OWNER_FRAME_OBJECT) {
		if (walk_is_compiled(w, off, addr))
			return OWNER_FRAME_OBJECT;
		if (owner == OWNER_FRAME_OBJECT)
			return OWNER_NONE;
	}
	if (off->frame_kind == PY_FRAME_IS_ENTRY) {
		w->entry_due = window_u8(w->frame_window, off->frame.is_entry, FRAME_WINDOW_MASK) &
			       1;
		return owner <= OWNER_GENERATOR ? owner : OWNER_NONE;
	}
	return owner;
}

/*
 * Visits one frame and writes at most one struct frame at frames[frame_cnt]. 0 to go on, 1 when the
 * walk is over and w->reason says how.
 */
static __always_inline int walk_step(struct walker *w, const struct py_offsets *off,
				     struct frame *frames)
{
	__u64 addr = w->next_addr, code_addr;
	__u32 owner, index = w->frame_cnt;
	struct frame *out;

	if (w->entry_due)
		return walk_implied_entry(w, off, frames);
	if (!addr)
		return walk_finish(w, off);
	if (index >= KRAIT_MAX_FRAMES)
		return walk_end(w, REASON_DEPTH);
	if (addr & TAG_BITS)
		return walk_end(w, REASON_BAD_FRAME);
	if (walk_in_circle(w, addr))
		return walk_end(w, REASON_CYCLE);
	if (walk_read_frame(w, off, addr))
		return walk_end(w, REASON_FRAME_FAULT);

	owner = walk_owner(w, off, addr);
	code_addr = window_u64(w->frame_window, off->frame.executable, FRAME_WINDOW_MASK) &
		    ~TAG_BITS;
	out = &frames[masked(index, KRAIT_MAX_FRAMES - 1)];
	if (owner <= OWNER_FRAME_OBJECT) {
		walk_python_frame(w, off, owner, addr, code_addr, out);
	} else if (owner == OWNER_INTERPRETER || owner == OWNER_CSTACK) {
		walk_entry_frame(out, addr);
	} else {
		return walk_end(w, REASON_BAD_FRAME);
	}
	w->frame_cnt = index + 1;
	w->last_owner = owner;
	w->last_addr = addr;
	w->next_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	if (owner == OWNER_FRAME_OBJECT)
		w->chain_open = 0;
	else if (w->mark_addr && walk_mark(w, out, index))
		return walk_end(w, REASON_PYTHON);
	if (w->cframe_addr && owner >= OWNER_INTERPRETER)
		return walk_leave_cframe(w, off);
	return 0;
}

/*
 * A whole stack without Python frames while the interpreter ends (Py_FinalizeEx(), Python/pylifecycle.c): what
 * it does then, to free everything, takes time, and has a name of its own.
 */
static __always_inline bool walk_is_finalizing(const struct walker *w, const struct py_offsets *off,
					       __u64 runtime_addr, const struct frame *frames)
{
	__u64 addr = 0;

	if (w->frame_cnt > 2 || off->runtime.finalizing == PYOFF_ABSENT)
		return false;
	if ((w->frame_cnt > 0 && frames[0].code_addr) || (w->frame_cnt > 1 && frames[1].code_addr))
		return false;
	return !read_from_u64(w, &addr, runtime_addr + off->runtime.finalizing) && addr;
}

#endif /* KRAIT_WALK_H */
