/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_anchor_inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------------------------- */

int model_read(const struct model *m, void *dst, __u32 size, __u64 addr)
{
	if (addr < MODEL_ADDR || addr - MODEL_ADDR > MODEL_BYTES - size)
		return -1;
	memcpy(dst, m->bytes + (addr - MODEL_ADDR), size);
	return 0;
}

__u64 model_word(const struct model *m, __u64 addr)
{
	__u64 value = 0;

	if (model_read(m, &value, sizeof(value), addr))
		abort();
	return value;
}

void model_put(struct model *m, __u64 addr, __u64 value)
{
	if (addr < MODEL_ADDR || addr - MODEL_ADDR > MODEL_BYTES - sizeof(value))
		abort();
	memcpy(m->bytes + (addr - MODEL_ADDR), &value, sizeof(value));
}

/* A store after which an interrupt can come. */
void model_store(struct model *m, struct model_thread *t, __u64 addr, __u64 value)
{
	model_put(m, addr, value);
	m->steps++;
	m->between(m->context, t);
}

__u64 model_take(struct model_pool *p)
{
	return p->cnt ? p->addrs[--p->cnt] : 0;
}

void model_give(struct model_pool *p, __u64 addr)
{
	p->addrs[p->cnt++] = addr;
}

__u64 model_field(const struct model_state *s, __s32 offset)
{
	return s->addr + (__u64)offset;
}

/* ---- what there is ---------------------------------------------------------------------------- */

struct model_state *model_active(struct model_thread *t)
{
	return &t->states[t->active];
}

struct model_greenlet *model_running(struct model_thread *t)
{
	return &model_active(t)->greenlets[model_active(t)->running];
}

struct model_chain *model_truth(struct model_thread *t)
{
	return &model_running(t)->chain;
}

struct frame *model_leaf(struct model_thread *t)
{
	return &model_truth(t)->nodes[model_truth(t)->cnt - 1];
}

static __u32 c_slot_of(struct model_thread *t)
{
	return model_truth(t)->c_slot[model_truth(t)->cnt - 1];
}

/* ---- frames ----------------------------------------------------------------------------------- */

void model_write_frame(struct model *m, __u64 addr, __u64 previous_addr, __u64 code_addr,
		       __u32 instr_off, int owner)
{
	const struct py_offsets *off = &m->offsets;

	model_put(m, addr + (__u64)off->frame.previous, previous_addr);
	model_put(m, addr + (__u64)off->frame.executable, code_addr);
	model_put(m, addr + (__u64)off->frame.instr_ptr, code_addr + CODE_START + instr_off);
	model_put(m, addr + (__u64)off->frame.owner, (__u64)owner);
}

static void add_node(struct model_thread *t, __u64 addr, __u64 code_addr, __u32 instr_off,
		     int generator, __u32 c_slot)
{
	struct model_chain *c = model_truth(t);

	c->nodes[c->cnt] = (struct frame){
		.code_addr = code_addr,
		.frame_addr = addr,
		.instr_off = code_addr ? (__s32)instr_off : FRAME_INSTR_UNKNOWN,
	};
	c->generator[c->cnt] = generator;
	c->c_slot[c->cnt++] = c_slot;
}

static __u64 data_push(struct model *m, struct model_greenlet *g, __u32 size)
{
	__u64 addr, *top = &g->tops[g->chunk_cnt ? g->chunk_cnt - 1 : 0];

	if (!g->chunk_cnt || *top + size > g->chunks[g->chunk_cnt - 1] + CHUNK_BYTES) {
		addr = model_take(&m->free_chunks);
		if (!addr)
			return 0;
		top = &g->tops[g->chunk_cnt];
		*top = g->chunks[g->chunk_cnt++] = addr;
	}
	addr = *top;
	*top += size;
	return addr;
}

static void data_pop(struct model *m, struct model_greenlet *g, __u64 addr)
{
	g->tops[g->chunk_cnt - 1] = addr;
	if (addr == g->chunks[g->chunk_cnt - 1])
		model_give(&m->free_chunks, g->chunks[--g->chunk_cnt]);
}

static __u64 some_code(struct model *m)
{
	return CODE_ADDR + 256 * model_below(&m->rng, MODEL_CODES);
}

static __u32 frame_size(__u64 code_addr)
{
	return 80 + 16 * (code_addr / 256 % 3);
}

/* Frames of other functions may follow, such as a new eval loop's entry frame. */
static bool has_room(struct model_thread *t, bool through_c)
{
	return model_truth(t)->cnt + 2 <= MODEL_MAX_NODES &&
	       (!through_c || c_slot_of(t) + 3 < MODEL_C_SLOTS);
}

/* The new leaf is at addr; if it gets an eval loop of its own, an entry frame comes between. */
static void push(struct model *m, struct model_thread *t, bool through_c, __u64 addr,
		 __u64 code_addr, __u32 instr_off, int generator)
{
	__u64 previous_addr = model_leaf(t)->frame_addr, entry_addr;
	__u32 c_slot = c_slot_of(t);

	if (through_c) {
		c_slot += model_below(&m->rng, 3);
		entry_addr = t->c_addr + FRAME_BYTES * c_slot++;
		model_write_frame(m, entry_addr, previous_addr, 0, 0, OWNED_BY_INTERPRETER);
		add_node(t, entry_addr, 0, 0, -1, c_slot);
		previous_addr = entry_addr;
	}
	model_write_frame(m, addr, previous_addr, code_addr, instr_off,
			  generator < 0 ? OWNED_BY_THREAD : OWNED_BY_GENERATOR);
	add_node(t, addr, code_addr, instr_off, generator, c_slot);
	model_store(m, t, model_field(model_active(t), m->offsets.thread.current_frame), addr);
}

bool model_call(struct model *m, struct model_thread *t, bool through_c)
{
	__u64 code_addr = some_code(m), addr;

	through_c |= !model_leaf(t)->code_addr;
	if (!has_room(t, through_c))
		return false;
	addr = data_push(m, model_running(t), frame_size(code_addr));
	if (!addr)
		return false;
	push(m, t, through_c, addr, code_addr, 0, -1);
	return true;
}

/* Updates the anchor as the interpreter does on each pop. */
static void update_anchor(struct model *m, struct model_thread *t, __u64 frame_addr,
			  __u64 previous_addr)
{
	struct model_state *s = model_active(t);
	__u64 lpf = model_field(s, m->offsets.thread.last_profiled_frame);
	__u64 seq = model_field(s, m->offsets.thread.last_profiled_frame_seq);

	m->pops++;
	s->popped_addr[s->popped_cnt++ % MODEL_POPPED] = frame_addr;
	if (model_word(m, lpf) != frame_addr)
		return;
	m->slides++;
	model_store(m, t, lpf, previous_addr);
	model_store(m, t, seq, model_word(m, seq) + 1);
}

bool model_advance(struct model *m, struct model_thread *t)
{
	struct frame *leaf = model_leaf(t);

	if (!leaf->code_addr)
		return false;
	leaf->instr_off = (__s32)(2 * model_below(&m->rng, 100));
	model_store(m, t, leaf->frame_addr + (__u64)m->offsets.frame.instr_ptr,
		    leaf->code_addr + CODE_START + (__u64)leaf->instr_off);
	return true;
}

bool model_failed_call(struct model *m, struct model_thread *t)
{
	struct model_greenlet *g = model_running(t);
	__u64 code_addr = some_code(m), addr = data_push(m, g, frame_size(code_addr));

	if (!addr)
		return false;
	model_write_frame(m, addr, model_leaf(t)->frame_addr, code_addr, 0, OWNED_BY_THREAD);
	update_anchor(m, t, addr, model_leaf(t)->frame_addr);
	data_pop(m, g, addr);
	return true;
}

bool model_resume(struct model *m, struct model_thread *t, bool through_c)
{
	struct model_generator *g = &m->generators[model_below(&m->rng, MODEL_GENERATORS)];

	through_c |= !model_leaf(t)->code_addr;
	if (g->is_running || !has_room(t, through_c))
		return false;
	if (!g->addr) {
		g->addr = model_take(&m->free_generators);
		g->code_addr = some_code(m);
		g->instr_off = 2;
	}
	g->is_running = true;
	push(m, t, through_c, g->addr, g->code_addr, g->instr_off, (int)(g - m->generators));
	return true;
}

static void suspend_or_end(struct model *m, struct model_thread *t, struct model_generator *g,
			   __u32 instr_off)
{
	model_store(m, t, g->addr + (__u64)m->offsets.frame.previous, 0);
	g->is_running = false;
	g->instr_off = instr_off;
	if (model_below(&m->rng, 3))
		return;
	model_give(&m->free_generators, g->addr);
	g->addr = 0;
}

static void drop_leaf(struct model *m, struct model_thread *t)
{
	struct model_chain *c = model_truth(t);

	c->cnt--;
	model_store(m, t, model_field(model_active(t), m->offsets.thread.current_frame),
		    model_leaf(t)->frame_addr);
}

bool model_pop(struct model *m, struct model_thread *t)
{
	struct model_chain *c = model_truth(t);
	struct frame dying = c->nodes[c->cnt - 1];
	int generator = c->generator[c->cnt - 1];

	if (!dying.code_addr)
		return false;
	drop_leaf(m, t);
	update_anchor(m, t, dying.frame_addr, model_leaf(t)->frame_addr);
	if (generator >= 0) {
		suspend_or_end(m, t, &m->generators[generator], (__u32)dying.instr_off);
	} else {
		model_store(m, t, dying.frame_addr + (__u64)m->offsets.frame.executable, 0);
		data_pop(m, model_running(t), dying.frame_addr);
	}
	if (!model_leaf(t)->code_addr && c->cnt > 1)
		drop_leaf(m, t); /* leaving the eval loop updates nothing */
	return true;
}
