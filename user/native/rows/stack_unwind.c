/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/stack_unwind.h"

#include <stdlib.h>

#include "bpf/read.h"
#include "bpf/native/rows.h"

#include "bpf/native/walk_state.h"
#include "native/rows/tables.h"

/* ---- what bpf/native/unwind_find.h wants of its environment ----------------------------------------------- */

static const struct unwind_slab *unwind_slab(const struct native_walk *w, __u32 number)
{
	return unwind_tables__slab(w->tables, number);
}

static struct unwind_file *unwind_file_at(const struct native_walk *w, __u32 number)
{
	return number < UNWIND_FILES_MAX ? &unwind_tables__memory(w->tables)->files[number] : NULL;
}

static const struct unwind_space *unwind_space_at(const struct native_walk *w, __u32 number)
{
	return number < UNWIND_SPACES_MAX ? &unwind_tables__memory(w->tables)->spaces[number] :
					    NULL;
}

/* Too few lookups here to be worth a cache. */
static struct unwind_cached *unwind_cached_at(const struct native_walk *w, __u32 number)
{
	(void)w;
	(void)number;
	return NULL;
}

#include "bpf/native/unwind.h"

/* ---- the walk ------------------------------------------------------------------------------------- */

struct stack_unwind {
	const struct unwind_tables *tables;
	struct native_walk walk;
};

struct stack_unwind *stack_unwind__new(const struct unwind_tables *tables)
{
	struct stack_unwind *u = calloc(1, sizeof(*u));

	if (u)
		u->tables = tables;
	return u;
}

void stack_unwind__free(struct stack_unwind *u)
{
	free(u);
}

__u64 stack_unwind_sp(const __u64 regs[UNWIND_SAVED_WORDS])
{
	static const __u8 words[UNWIND_REGS] = UNWIND_REG_WORDS;

	return regs[words[UNWIND_REG_SP]];
}

static __u64 epoch_of(const struct stack_unwind *u)
{
	return __atomic_load_n(&unwind_tables__memory(u->tables)->control->epoch, __ATOMIC_SEQ_CST);
}

static void begin(struct stack_unwind *u, const struct stack_unwind_of *of)
{
	static const __u8 words[UNWIND_REGS] = UNWIND_REG_WORDS;
	struct native_walk *w = &u->walk;

	w->memory = w->stack.memory = of->memory;
	w->tables = u->tables;
	pages_begin(&w->stack);
	w->trail.cnt = 0;
	unwind_begin(w, &(struct native_regs){ of->regs[UNWIND_WORD_IP],
					       of->regs[words[UNWIND_REG_SP]],
					       of->regs[words[UNWIND_REG_FP]] });
	for (int i = 0; i < UNWIND_REGS; i++)
		w->regs[i] = of->regs[words[i]];
	if (of->behind_call)
		w->flags &= ~(__u32)UNWIND_EXACT;
	w->now = (__u32)(of->now_ns >> UNWIND_NOW_SHIFT);
	w->epoch = epoch_of(u);
	unwind_enter(w, of->space);
	/* No trail exists, and none is left. */
	w->leaves = w->follows = w->trail_at = w->apart = 0;
}

void stack_unwind__walk(struct stack_unwind *u, const struct stack_unwind_of *of,
			struct stack_unwind_result *ret)
{
	struct native_walk *w = &u->walk;

	begin(u, of);
	while (!unwind_step(w, &ret->frames[w->cnt]))
		;
	ret->reason = (enum native_reason)w->reason;
	ret->unmapped = w->flags & UNWIND_UNMAPPED;
	ret->cnt = w->cnt;
	if (epoch_of(u) == w->epoch)
		return;
	ret->reason = NATIVE_CHANGED;
	ret->cnt = 0;
}
