/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_anchor_inner.h - shared by the model's two files: the layout of its memory.
 */
#ifndef KRAIT_TESTS_SUPPORT_ANCHOR_INNER_H
#define KRAIT_TESTS_SUPPORT_ANCHOR_INNER_H

#include "support_anchor_model.h"

#define STATE_BYTES 256
#define STATE_CNT 5
#define BASE_FRAME 160 /* within the thread state */
#define FRAME_BYTES 96 /* of generators and entry frames */
#define CHUNK_BYTES 640
#define CODE_ADDR 0x7f4400000000ULL
#define CODE_START 64

#define STATES_AT 0
#define GENERATORS_AT (STATES_AT + STATE_CNT * STATE_BYTES)
#define CHUNKS_AT (GENERATORS_AT + MODEL_GENERATORS * FRAME_BYTES)
#define C_AT (CHUNKS_AT + MODEL_CHUNKS * CHUNK_BYTES)
#define END_AT (C_AT + MODEL_THREADS * MODEL_C_BYTES)
_Static_assert(END_AT + STATE_BYTES <= MODEL_BYTES, "the model's memory holds it all");

enum { OWNED_BY_THREAD, OWNED_BY_GENERATOR, OWNED_BY_INTERPRETER = 3 };

/* A store after which an interrupt can come. */
void model_store(struct model *m, struct model_thread *t, __u64 addr, __u64 value);
__u64 model_take(struct model_pool *p);
void model_give(struct model_pool *p, __u64 addr);

__u64 model_field(const struct model_state *s, __s32 offset);
struct model_greenlet *model_running(struct model_thread *t);
struct frame *model_leaf(struct model_thread *t);
void model_write_frame(struct model *m, __u64 addr, __u64 previous_addr, __u64 code_addr,
		       __u32 instr_off, int owner);

#endif /* KRAIT_TESTS_SUPPORT_ANCHOR_INNER_H */
