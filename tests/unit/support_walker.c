/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_walker.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A result, and a guard behind it. */
struct guarded {
	struct stack_walk_result result;
	struct frame canary;
};

static struct stack_walk walk_of(struct fake *f)
{
	return (struct stack_walk){
		.memory = &f->memory,
		.offsets = &f->offsets,
		.runtime_addr = f->runtime_addr,
		.search_part = f->search_part,
		.number = f->number,
		.garbage = 0x77,
	};
}

static void guard(struct guarded *g)
{
	memset(g, 0xee, sizeof(*g));
}

static void check(const struct guarded *g, struct stack_walk_result *ret)
{
	struct frame canary;

	memset(&canary, 0xee, sizeof(canary));
	if (memcmp(&canary, &g->canary, sizeof(canary)) || g->result.frame_cnt > KRAIT_MAX_FRAMES ||
	    !reason_is_known(g->result.reason))
		abort();
	*ret = g->result;
}

void host_walk(struct fake *f, __u64 tstate_addr, bool fingerprints, struct stack_walk_result *ret)
{
	struct stack_walk x = walk_of(f);
	struct guarded g;

	x.fingerprints = fingerprints;
	f->free_reads = 1; /* of the state itself: the walk begins after it */
	guard(&g);
	stack_walk_state(&x, tstate_addr, &g.result);
	check(&g, ret);
}

void host_search(struct fake *f, __u64 thread_ptr, struct stack_walk_result *ret)
{
	const struct stack_walk x = walk_of(f);
	struct guarded g;

	guard(&g);
	stack_walk_search(&x, thread_ptr, &g.result);
	check(&g, ret);
}

bool host_still_valid(struct fake *f, __u64 thread_ptr, __u64 tstate_addr, __u64 interp_addr)
{
	const struct stack_walk x = walk_of(f);

	return stack_walk_still_valid(&x, thread_ptr, tstate_addr, interp_addr);
}

void host_sample(struct fake *f, __u64 thread_ptr, struct thread_slot *slot,
		 struct stack_walk_result *ret)
{
	const struct stack_walk x = walk_of(f);
	struct guarded g;

	guard(&g);
	stack_walk_thread(&x, thread_ptr, slot, &g.result);
	check(&g, ret);
}

void assert_walk(struct stack_walk_result *result, struct fake_stack *s, __u32 reason,
		 __u32 frame_cnt)
{
	assert_int_equal(result->reason, reason);
	assert_int_equal(result->frame_cnt, frame_cnt);
	for (__u32 i = 0; i < frame_cnt; i++)
		assert_memory_equal(&result->frames[i], fake_expected(s, i), sizeof(struct frame));
}

int walk_fixture_new(void **state)
{
	*state = calloc(1, sizeof(struct walk_fixture));
	return *state ? 0 : -1;
}

int walk_fixture_free(void **state)
{
	struct walk_fixture *x = *state;

	if (x->fake)
		fake_free(x->fake);
	free(x);
	return 0;
}

void walk_fixture_begin(struct walk_fixture *x, int version)
{
	if (x->fake)
		fake_free(x->fake);
	x->fake = fake_new(&fake_versions[version], 0x7f1200000000, 2 << 20);
	x->tstate_addr =
		fake_thread(x->fake, fake_interp(x->fake), 0x7f12deadb700, FAKE_STATUS_BOUND);
	fake_stack_begin(&x->stack, x->fake, x->tstate_addr);
}

void usual_stack(struct walk_fixture *x)
{
	fake_push_entry(&x->stack);
	fake_push(&x->stack, FAKE_THREAD, fake_code(x->fake), 10);
	fake_push(&x->stack, FAKE_THREAD, fake_code(x->fake), 0);
	fake_push(&x->stack, FAKE_THREAD, x->fake->code_addr, 200000);
	fake_push_entry(&x->stack);
	fake_push(&x->stack, FAKE_GENERATOR, fake_code(x->fake), 4);
	fake_push(&x->stack, FAKE_THREAD, fake_code(x->fake), 2);
}

void walk_now(struct walk_fixture *x)
{
	fake_heal(x->fake);
	host_walk(x->fake, x->tstate_addr, false, &x->result);
}
