/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_anchor_inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- greenlets and thread states ------------------------------------------------------------- */

static void set_current(struct model *m, struct model_thread *t)
{
	model_store(m, t, model_field(model_active(t), m->offsets.thread.current_frame),
		    model_leaf(t)->frame_addr);
}

/* Both run on the same part of the C stack, which is copied out and in. */
bool model_switch_greenlet(struct model *m, struct model_thread *t)
{
	struct model_state *s = model_active(t);

	if (t->active)
		return false; /* the caller's frames are also on the C stack */
	memcpy(model_running(t)->c_stack, m->bytes + (t->c_addr - MODEL_ADDR), MODEL_C_BYTES);
	s->running = (s->running + 1) % MODEL_GREENLETS;
	memcpy(m->bytes + (t->c_addr - MODEL_ADDR), model_running(t)->c_stack, MODEL_C_BYTES);
	set_current(m, t);
	return true;
}

static void new_state(struct model *m, struct model_thread *t, struct model_state *s)
{
	const struct py_offsets *off = &m->offsets;
	__u64 addr = model_take(&m->free_states), base_addr = addr + BASE_FRAME;

	memset(m->bytes + (addr - MODEL_ADDR), 0, STATE_BYTES);
	memset(s, 0, sizeof(*s));
	model_put(m, addr + (__u64)off->thread.thread_id, t->thread_id);
	s->interp_addr = s == t->states ? 0x1000 : 0x2000 + t->index;
	model_put(m, addr + (__u64)off->thread.interp, s->interp_addr);
	model_put(m, addr + (__u64)off->thread.base_frame, base_addr);
	model_put(m, addr + (__u64)off->thread.current_frame, base_addr);
	model_write_frame(m, base_addr, 0, 0, 0, OWNED_BY_INTERPRETER);
	for (int i = 0; i < MODEL_GREENLETS; i++) {
		struct model_chain *c = &s->greenlets[i].chain;

		c->cnt = 1;
		c->nodes[0] =
			(struct frame){ .frame_addr = base_addr, .instr_off = FRAME_INSTR_UNKNOWN };
		c->generator[0] = -1;
	}
	s->birth = ++m->births;
	s->addr = addr;
}

static void free_state(struct model *m, struct model_state *s)
{
	model_give(&m->free_states, s->addr);
	s->addr = 0;
}

static bool is_idle(const struct model_state *s)
{
	for (int i = 0; i < MODEL_GREENLETS; i++) {
		if (s->greenlets[i].chain.cnt > 1)
			return false;
	}
	return true;
}

bool model_enter_state(struct model *m, struct model_thread *t)
{
	__u32 c_slot = model_truth(t)->c_slot[model_truth(t)->cnt - 1];

	if (t->active)
		return false;
	if (!t->states[1].addr && !m->free_states.cnt)
		return false;
	if (!t->states[1].addr)
		new_state(m, t, &t->states[1]);
	t->active = 1;
	model_truth(t)->c_slot[0] = c_slot;
	return true;
}

bool model_leave_state(struct model *m, struct model_thread *t)
{
	if (!t->active || !is_idle(model_active(t)))
		return false;
	if (model_below(&m->rng, 2))
		free_state(m, model_active(t));
	t->active = 0;
	return true;
}

bool model_renew_state(struct model *m, struct model_thread *t, bool is_new_thread)
{
	if (t->active || !is_idle(&t->states[0]))
		return false;
	if (t->states[1].addr)
		free_state(m, &t->states[1]);
	free_state(m, &t->states[0]);
	if (is_new_thread) {
		t->start_ns++;
		t->thread_id ^= 64 * model_below(&m->rng, 2);
	}
	m->between(m->context, t);
	new_state(m, t, &t->states[0]);
	return true;
}

/* ---- chance ----------------------------------------------------------------------------------- */

__u64 model_random(struct model_rng *rng)
{
	__u64 x = rng->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

__u32 model_below(struct model_rng *rng, __u32 limit)
{
	return (__u32)((model_random(rng) >> 32) * limit >> 32);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void fill(struct model_pool *p, __u64 addr, __u32 size, __u32 cnt)
{
	while (cnt--)
		model_give(p, addr + size * cnt);
}

struct model *model_new(__u64 seed)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->rng.state = seed;
	m->offsets.thread.interp = 0;
	m->offsets.thread.thread_id = 8;
	m->offsets.thread.current_frame = 16;
	m->offsets.thread.base_frame = 24;
	m->offsets.thread.last_profiled_frame = 32;
	m->offsets.thread.last_profiled_frame_seq = 40;
	m->offsets.frame.executable = 8;
	m->offsets.frame.instr_ptr = 16;
	m->offsets.frame.owner = 24;
	m->offsets.frame.tlbc_index = PYOFF_ABSENT;
	m->offsets.code.code_adaptive = CODE_START;
	fill(&m->free_states, MODEL_ADDR + STATES_AT, STATE_BYTES, STATE_CNT);
	fill(&m->free_generators, MODEL_ADDR + GENERATORS_AT, FRAME_BYTES, MODEL_GENERATORS);
	fill(&m->free_chunks, MODEL_ADDR + CHUNKS_AT, CHUNK_BYTES, MODEL_CHUNKS);
	for (__u32 i = 0; i < MODEL_THREADS; i++) {
		struct model_thread *t = &m->threads[i];

		t->index = i;
		t->thread_id = 0x7f5500000000ULL + (i << 20);
		t->start_ns = 1;
		t->c_addr = MODEL_ADDR + C_AT + i * MODEL_C_BYTES;
		t->wanted_depth = 10;
		new_state(m, t, &t->states[0]);
	}
	return m;
}

void model_free(struct model *m)
{
	free(m);
}

/* ---- a program -------------------------------------------------------------------------------- */

static void unwind(struct model *m, struct model_thread *t, __u32 cnt)
{
	while (cnt-- && model_pop(m, t))
		;
}

static void grow(struct model *m, struct model_thread *t)
{
	bool through_c = model_below(&m->rng, 8) == 0;

	model_advance(m, t);
	switch (model_below(&m->rng, 8)) {
	case 0:
		model_failed_call(m, t);
		break;
	case 1:
	case 2:
		model_resume(m, t, through_c);
		break;
	default:
		model_call(m, t, through_c);
	}
}

static __u32 some_depth(struct model *m)
{
	if (m->restless)
		return 12;
	return model_below(&m->rng, 6) ? 35 : 85;
}

static void rarer(struct model *m, struct model_thread *t)
{
	switch (model_below(&m->rng, 16)) {
	case 0:
	case 1:
		model_switch_greenlet(m, t);
		break;
	case 2:
	case 3:
		model_enter_state(m, t);
		break;
	case 4:
		model_leave_state(m, t);
		break;
	case 5:
		unwind(m, t, model_below(&m->rng, 25));
		break;
	case 6:
		unwind(m, t, MODEL_MAX_NODES);
		if (!model_leave_state(m, t))
			model_renew_state(m, t, model_below(&m->rng, 3) == 0);
		break;
	case 7:
	case 8:
		t->wanted_depth = 1 + model_below(&m->rng, some_depth(m));
		break;
	default:
		model_advance(m, t);
	}
}

void model_run(struct model *m, struct model_thread *t)
{
	__u32 depth = model_truth(t)->cnt, chance = depth < t->wanted_depth ? 62 : 38;

	if (model_below(&m->rng, m->restless ? 8 : 40) == 0)
		rarer(m, t);
	else if (model_below(&m->rng, 3) == 0)
		model_advance(m, t);
	else if (model_below(&m->rng, 100) < chance)
		grow(m, t);
	else
		model_pop(m, t);
}
