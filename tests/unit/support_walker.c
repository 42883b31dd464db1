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

#include "fingerprint.h"
#include "read.h"
#include "thread.h"
#include "walk.h"

static void result_begin(struct walk_result *ret)
{
	memset(ret, 0xee, sizeof(*ret));
	ret->frame_cnt = 0;
	ret->tstate_addr = ret->interp_addr = 0;
}

static void result_check(const struct walk_result *ret)
{
	struct frame canary;

	memset(&canary, 0xee, sizeof(canary));
	if (memcmp(&canary, &ret->canary, sizeof(canary)) || ret->frame_cnt > KRAIT_MAX_FRAMES ||
	    !reason_is_known(ret->reason))
		abort();
}

static void walk(struct fake *f, struct thread_search *t, bool fingerprints,
		 struct walk_result *ret)
{
	const struct py_offsets *off = &f->offsets;
	struct thread_top top;
	__u64 base_addr = 0;
	struct walker w;

	memset(&w, 0x77, sizeof(w));
	if (off->thread.base_frame != PYOFF_ABSENT)
		base_addr = THREAD_FIELD(t, off, base_frame);
	if (thread_top(t, off, &top)) {
		ret->reason = REASON_THREAD_FAULT;
		return;
	}
	walk_begin(&w, top.frame_addr, base_addr, fingerprints);
	walk_begin_cframe(&w, ret->tstate_addr, top.cframe_addr, top.cframe_previous_addr);
	w.reason = REASON_DEPTH;
	for (int i = 0; i <= KRAIT_MAX_FRAMES; i++) {
		if (walk_step(&w, off, ret->frames))
			break;
	}
	ret->reason = w.reason;
	ret->frame_cnt = w.frame_cnt;
	result_check(ret);
}

void host_walk(struct fake *f, __u64 tstate_addr, bool fingerprints, struct walk_result *ret)
{
	struct thread_search t;

	result_begin(ret);
	ret->tstate_addr = tstate_addr;
	memcpy(t.window, fake_at(f, tstate_addr), KRAIT_THREAD_WINDOW);
	walk(f, &t, fingerprints, ret);
}

static void steps(struct fake *f, struct thread_search *t)
{
	for (int i = 0; i < KRAIT_MAX_THREADS; i++) {
		if (thread_step(t, &f->offsets))
			break;
	}
}

static __u32 search(struct fake *f, struct thread_search *t)
{
	if (!thread_search_begin(t, &f->offsets, f->runtime_addr))
		steps(f, t);
	return t->reason;
}

void host_search(struct fake *f, __u64 thread_ptr, struct walk_result *ret)
{
	struct thread_search t;

	memset(&t, 0x77, sizeof(t));
	t.thread_ptr = thread_ptr;
	t.runtime_addr = f->runtime_addr;
	result_begin(ret);
	ret->reason = search(f, &t);
	ret->tstate_addr = t.tstate_addr;
	ret->interp_addr = t.interp_addr;
}

bool host_still_valid(struct fake *f, __u64 thread_ptr, __u64 tstate_addr, __u64 interp_addr)
{
	struct thread_search t;

	memset(&t, 0x77, sizeof(t));
	t.thread_ptr = thread_ptr;
	t.runtime_addr = f->runtime_addr;
	return thread_still_valid(&t, &f->offsets, tstate_addr, interp_addr);
}

static __u32 find_thread(struct fake *f, struct thread_search *t, struct thread_slot *slot)
{
	const struct py_offsets *off = &f->offsets;

	if (slot && thread_still_valid(t, off, slot->tstate_addr, slot->interp_addr))
		return REASON_PYTHON;
	if (slot && thread_still_native(t, off, slot))
		return REASON_NATIVE_THREAD;
	t->steps = 0;
	t->left = f->search_part ? f->search_part : KRAIT_MAX_THREADS;
	for (int attempt = 0; attempt < 2; attempt++) {
		if (!thread_search_resume(t, off, attempt ? NULL : slot))
			steps(f, t);
		if (!thread_search_again(t))
			break;
	}
	thread_search_settle(t, off, slot);
	return t->reason;
}

void host_sample(struct fake *f, __u64 thread_ptr, struct thread_slot *slot,
		 struct walk_result *ret)
{
	__s32 generation_off = f->offsets.interp.code_object_generation;
	struct thread_search t;
	__u64 generation;

	memset(&t, 0x77, sizeof(t));
	t.thread_ptr = thread_ptr;
	t.runtime_addr = f->runtime_addr;
	result_begin(ret);
	ret->reason = find_thread(f, &t, slot);
	if (ret->reason != REASON_PYTHON)
		return;
	ret->tstate_addr = t.tstate_addr;
	ret->interp_addr = t.interp_addr;
	if (generation_off != PYOFF_ABSENT &&
	    read_user_u64(&generation, t.interp_addr + generation_off)) {
		ret->reason = REASON_RUNTIME_FAULT;
		return;
	}
	walk(f, &t, false, ret);
}

void assert_walk(struct walk_result *result, struct fake_stack *s, __u32 reason, __u32 frame_cnt)
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
