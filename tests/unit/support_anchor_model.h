/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_model.h - a model of CPython 3.15 as far as a profiler's anchor can tell: threads,
 * thread states, frames at addresses that are reused, and last_profiled_frame, kept by the
 * interpreter's own rule. It executes one store at a time and knows the true stack between any two
 * stores.
 *
 * The rule: "if (lpf == frame) { lpf = frame->previous; seq++; }" on every pop of a Python frame,
 * after current_frame was set; no update when an entry frame is left.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_MODEL_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_MODEL_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

#define MODEL_ADDR 0x7f3300000000ULL
#define MODEL_THREADS 2
/* Nested sub-interpreters per thread, and greenlets per thread state. */
#define MODEL_STATES 2
#define MODEL_GREENLETS 2
#define MODEL_MAX_NODES 96
#define MODEL_CHUNKS 20
#define MODEL_GENERATORS 10
#define MODEL_CODES 3
#define MODEL_POPPED 16
#define MODEL_C_SLOTS 40
#define MODEL_C_BYTES (MODEL_C_SLOTS * 96)
#define MODEL_BYTES (64 << 10)

struct model_rng {
	__u64 state;
};

__u64 model_random(struct model_rng *rng);
/* 0 <= result < limit */
__u32 model_below(struct model_rng *rng, __u32 limit);

/* A stack, root first, as a full walk would find it. */
struct model_chain {
	__u32 cnt;
	struct frame nodes[MODEL_MAX_NODES];
	int generator[MODEL_MAX_NODES]; /* index; -1: on the data stack */
	__u32 c_slot[MODEL_MAX_NODES]; /* first free slot of the C stack above the node */
};

struct model_greenlet {
	struct model_chain chain;
	__u32 chunk_cnt;
	__u64 chunks[MODEL_CHUNKS], tops[MODEL_CHUNKS];
	__u8 c_stack[MODEL_C_BYTES]; /* saved here while another one runs */
};

struct model_state {
	__u64 addr, interp_addr; /* addr 0: does not exist */
	__u64 birth; /* unique among states */
	__u32 running; /* the running greenlet */
	__u64 popped_addr[MODEL_POPPED]; /* frames that were recently here */
	__u32 popped_cnt;
	struct model_greenlet greenlets[MODEL_GREENLETS];
};

struct model_thread {
	__u32 index;
	__u64 thread_id; /* as PyThreadState.thread_id */
	__u64 start_ns; /* changes when another thread takes the place of one that ended */
	__u64 c_addr;
	__u32 active; /* index of the thread state in use */
	__u32 wanted_depth;
	struct model_state states[MODEL_STATES];
};

struct model_generator {
	__u64 addr, code_addr;
	bool is_running;
	__u32 instr_off;
};

/* A stack of free addresses: last freed, first reused. */
struct model_pool {
	__u32 cnt;
	__u64 addrs[32];
};

struct model {
	struct model_rng rng;
	struct py_offsets offsets;
	__u64 steps; /* stores, each followed by between() */
	__u64 births;
	bool restless; /* shallow stacks; thread states come and go */
	__u64 pops, slides; /* pops of Python frames; slides: those that moved the anchor */
	struct model_thread threads[MODEL_THREADS];
	struct model_generator generators[MODEL_GENERATORS];
	__u32 generator_cnt;
	struct model_pool free_states, free_chunks, free_generators;
	void (*between)(void *context, struct model_thread *t);
	void *context;
	__u8 bytes[MODEL_BYTES];
};

struct model *model_new(__u64 seed);
void model_free(struct model *m);

struct model_state *model_active(struct model_thread *t);
/* Returns what a sample of the thread must find. */
struct model_chain *model_truth(struct model_thread *t);

/*
 * Accesses its memory like process_vm_readv() and writev(): returns 0, or -1 for an invalid
 * address.
 */
int model_read(const struct model *m, void *dst, __u32 size, __u64 addr);
__u64 model_word(const struct model *m, __u64 addr);
void model_put(struct model *m, __u64 addr, __u64 value);

/*
 * Actions of a thread. Each returns false, with no effect, if it is impossible now. Stores that a
 * sample could interrupt happen one by one.
 */
bool model_call(struct model *m, struct model_thread *t, bool through_c);
bool model_failed_call(struct model *m, struct model_thread *t);
/* next(), send() and throw(): in the caller's eval loop or in a new one. */
bool model_resume(struct model *m, struct model_thread *t, bool through_c);
/* Return, yield or unwinding of the leaf; leaves the eval loop if that was its last frame. */
bool model_pop(struct model *m, struct model_thread *t);
bool model_advance(struct model *m, struct model_thread *t);
bool model_switch_greenlet(struct model *m, struct model_thread *t);
bool model_enter_state(struct model *m, struct model_thread *t);
bool model_leave_state(struct model *m, struct model_thread *t);
/* Only without Python frames: frees and recreates the thread state, and perhaps the thread. */
bool model_renew_state(struct model *m, struct model_thread *t, bool is_new_thread);

/* Does one of these at random, tending towards a varying depth. In support_anchor_states.c. */
void model_run(struct model *m, struct model_thread *t);

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_MODEL_H */
