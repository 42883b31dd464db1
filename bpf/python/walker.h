/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walker.h - the state of one walk along a thread's frames (walk.h), and how it reads.
 *
 * Must hold: walk_begin() sets every member except the windows, which are filled before use.
 */
#ifndef KRAIT_BPF_PYTHON_WALKER_H
#define KRAIT_BPF_PYTHON_WALKER_H

#include "bpf/abi.h"
#include "bpf/read.h"

#define TAG_BITS 7ULL
#define FRAME_HEAD 8

/* Like ANCHOR_CHECK in anchor.h: a model test shows that each check is needed. */
#ifndef WALK_CHECK
#define WALK_CHECK(name, condition) (condition)
#endif

/* _PyInterpreterFrame.owner, enum _frameowner */
#define OWNER_THREAD 0
#define OWNER_GENERATOR 1
#define OWNER_FRAME_OBJECT 2 /* in a walk: a compiled frame */
#define OWNER_INTERPRETER 3
#define OWNER_CSTACK 4
#define OWNER_NONE 255

/* Which walk this is: see greenlet_switching.h. */
enum exposed {
	EXPOSED_NOT_ASKED,
	EXPOSED_SO_FAR, /* second walk: greenlet has kept something for each frame so far */
	EXPOSED_NOT, /* third walk, like the first: nobody has unlinked entry frames */
};

/*
 * How far into its frame object a compiled frame begins, at most (104 bytes on 3.11, 128 on 3.14).
 * A generator's frame is part of the generator: 88 bytes of it (with the collector's header) come
 * before the frame. So its frame object, of 120 bytes and more, begins at least 208 bytes before
 * it.
 */
#define COMPILED_FRAME_BYTES 192

/* Loop state and windows of one walk; in per-CPU memory, as the BPF stack is too small. */
struct walker {
	__u64 chain[KRAIT_ANCHOR_FRAMES]; /* the mark, its caller ... to the first entry frame */
	READ_MEMBER
	__u64 next_addr; /* frame to visit next, 0 at the end of the chain */
	__u64 last_addr; /* frame visited last */
	__u64 base_addr; /* where a complete chain ends (3.15), or 0 */
	__u64 cycle_addr; /* a frame visited earlier: meeting it again means a cycle */
	__u32 cycle_at; /* node count at which cycle_addr is renewed */
	__u32 frame_cnt; /* frames written */
	__u32 fingerprints; /* take a fingerprint of each code object; the kernel does that later */
	__u32 last_owner;
	/* the next node is the last frame's entry frame (PY_FRAME_IS_ENTRY, greenlet_switching.h) */
	__u32 entry_due;
	__u32 exposed; /* enum exposed */
	__u64 entry_addr; /* address of the entry frame that is due (greenlet_switching.h) */
	__u64 cframe_addr, cframe_previous_addr; /* the activation being walked; 0 none */
	/* valid with cframe_addr: this state contains the outermost activation */
	__u64 tstate_addr;
	__u32 reason; /* enum reason, valid when walk_step() returned 1 */
	__u64 mark_addr; /* a frame to look for (the anchor); 0 none */
	__u32 stop_at_mark; /* end the walk at the mark */
	__u32 mark_met; /* 1 once the mark was visited, as a Python frame */
	__u32 mark_index; /* its index in the frames */
	__u32 chain_open; /* chain still collects the mark's callers */
	__u32 chain_cnt;
	__u32 opcodes; /* read each frame's opcode; in the kernel a knob of the program decides */
	__u8 frame_head
		[FRAME_HEAD]; /* what precedes a frame that is part of its generator: asyncio_tasks.h */
	__u8 frame_window[WINDOW_SIZE(FRAME_WINDOW_MASK + 1)];
	__u8 cframe_window[WINDOW_SIZE(CFRAME_WINDOW_MASK + 1)];
};

/*
 * Goes back to the first frame but keeps what the walk has learned, because greenlet_switching.h walks a chain
 * again.
 */
static __always_inline void walk_rewind(struct walker *w, __u64 current_frame_addr,
					enum exposed exposed)
{
	w->next_addr = current_frame_addr;
	w->last_addr = 0;
	w->cycle_addr = 0;
	w->cycle_at = 1;
	w->frame_cnt = 0;
	w->last_owner = OWNER_INTERPRETER;
	w->entry_due = 0;
	w->exposed = exposed;
	w->cframe_addr = 0;
	w->mark_addr = 0;
	w->mark_met = 0;
}

static __always_inline void walk_begin(struct walker *w, __u64 current_frame_addr,
				       __u64 base_frame_addr, __u32 fingerprints)
{
	walk_rewind(w, current_frame_addr, EXPOSED_NOT_ASKED);
	w->base_addr = base_frame_addr;
	w->fingerprints = fingerprints;
	w->entry_addr = 0;
	w->cframe_previous_addr = 0;
	w->tstate_addr = 0;
	w->reason = REASON_PYTHON;
	w->stop_at_mark = 0;
	w->mark_index = 0;
	w->chain_open = 0;
	w->chain_cnt = 0;
	w->opcodes = 0;
}

/* PYOFF_CFRAME: the activations to follow along with the frames. Call after walk_begin(). */
static __always_inline void walk_begin_cframe(struct walker *w, __u64 tstate_addr,
					      __u64 cframe_addr, __u64 cframe_previous_addr)
{
	w->tstate_addr = tstate_addr;
	w->cframe_addr = cframe_addr;
	w->cframe_previous_addr = cframe_previous_addr;
}

/* Reads frames and activations; in the kernel, where the thread is interrupted, by pages (loops.h). */
#ifdef __bpf__
static int walk_read(struct walker *w, __u8 *window, __u32 size, __u64 addr, bool activation);
#else
static inline int walk_read(struct walker *w, __u8 *window, __u32 size, __u64 addr, bool activation)
{
	return read_from(w, window, size, addr);
}
#endif

/* If opcodes are not wanted, the verifier removes the code that reads them. Fingerprints come later, in describe.h. */
#ifdef __bpf__
static bool walk_wants_opcodes(const struct walker *w);

static inline bool walk_wants_fingerprints(const struct walker *w)
{
	return false;
}
#else
static inline bool walk_wants_fingerprints(const struct walker *w)
{
	return w->fingerprints;
}

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

/* A part of a chain that is not a Python frame: a task or a greenlet, followed by its frames. */
static __always_inline void walk_part(struct frame *out, __u64 addr)
{
	out->code_addr = 0;
	out->frame_addr = addr;
	out->instr_off = 0;
	out->opcode = 0;
	out->fingerprint = 0;
}

static __always_inline void walk_entry_frame(struct frame *out, __u64 addr)
{
	walk_part(out, addr);
	out->instr_off = FRAME_INSTR_UNKNOWN;
}

#endif /* KRAIT_BPF_PYTHON_WALKER_H */
