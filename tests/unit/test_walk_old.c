/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_old.c - bpf/python/walk.h on the layouts of 3.8 to 3.12 (user/python/layout/py_builtin_offsets.c):
 * frame objects, C frames.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walk_old.h"

static void usual(struct old_fake *x)
{
	old_call(x, true, 40);
	old_call(x, false, 0);
	old_call(x, false, 200);
	old_call(x, true, 2);
	old_call(x, false, FRAME_INSTR_BEFORE);
}

static void assert_result(struct old_fake *x, __u32 reason, __u32 cnt)
{
	assert_int_equal(x->result.reason, reason);
	assert_int_equal(x->result.frame_cnt, cnt);
	for (__u32 i = 0; i < cnt; i++)
		assert_memory_equal(&x->result.frames[i], &x->nodes[x->cnt - 1 - i],
				    sizeof(struct frame));
}

static void walk_now_old(struct old_fake *x)
{
	fake_heal(x->fake);
	host_walk(x->fake, x->tstate_addr, false, &x->result);
}

static void an_idle_thread_has_no_frames(void **state)
{
	struct old_fake *x = *state;

	for_each_old(minor)
	{
		old_begin(x, minor);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
	}
}

static void a_stack_is_walked_to_its_root(void **state)
{
	struct old_fake *x = *state;

	for_each_old(minor)
	{
		old_begin(x, minor);
		usual(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, minor < 11 ? 5 : 7);
		assert_int_equal(x->cnt, x->result.frame_cnt);
	}
}

static void an_instruction_out_of_range_is_unknown(void **state)
{
	struct old_fake *x = *state;

	for_each_old(minor)
	{
		old_begin(x, minor);
		old_call(x, true, 40);
		old_put_instr(x, x->frame_addr, x->nodes[x->cnt - 1].code_addr, -1000);
		x->nodes[x->cnt - 1].instr_off = FRAME_INSTR_UNKNOWN;
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/* An interrupt between "tstate->cframe = &cframe" and the stores into cframe. */
static void an_activation_that_is_not_filled_yet_is_no_stack(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		__u64 stale_addr, before_addr;

		old_begin(x, minor);
		usual(x);
		stale_addr = x->cframe_addr; /* of a call that has ended ... */
		before_addr = fake_get(x->fake, stale_addr + OFF(x)->cframe.previous);
		old_set_current(x, x->frame_addr);
		/* ... and meanwhile its caller has made another call. */
		x->cframe_addr = before_addr;
		old_call(x, false, 6);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_chain_of_activations_that_ends_early_is_no_stack(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		old_begin(x, minor);
		usual(x);
		fake_put(x->fake, x->cframe_addr + OFF(x)->cframe.previous, 0);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_chain_without_its_entry_is_truncated(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		old_begin(x, minor);
		old_call(x, true, 0);
		old_call(x, false, 0);
		fake_put(x->fake, x->frame_addr + OFF(x)->frame.previous, 0);
		walk_now_old(x);
		if (minor == 11)
			assert_int_equal(x->result.reason, REASON_BAD_FRAME);
		else
			assert_result(x, REASON_NO_BASE, 1);
	}
}

/* NULL as an activation's frame means nothing unless the activation is the thread state's own. */
static void an_empty_activation_is_no_empty_stack(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		old_begin(x, minor);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
		old_call(x, true, 0);
		old_call(x, true, 0);
		old_set_current(x, 0);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

/* greenlet begins one with an activation of its own, above the thread state's. */
static void a_greenlet_ends_one_activation_early(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		__u64 addr;

		old_begin(x, minor);
		addr = fake_alloc(x->fake, 24);
		fake_put(x->fake, addr + OFF(x)->cframe.previous, x->cframe_addr);
		fake_put(x->fake, x->tstate_addr + OFF(x)->thread.cframe, addr);
		x->cframe_addr = addr;
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
		old_call(x, true, 0);
		old_call(x, false, 0);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/*
 * A function compiled by Nuitka: its frame is part of its frame object, linked to the current frame
 * of the current activation. The memory was used before, so 3.11's mark has an arbitrary value.
 */
static void call_compiled(struct old_fake *x)
{
	const struct py_offsets *off = OFF(x);
	__s32 after = off->frame_kind == PY_FRAME_IS_ENTRY ? off->frame.previous :
							     off->frame.instr_ptr;
	__u64 object_addr = fake_alloc(x->fake, 384), addr = object_addr + 104;
	__u64 code_addr = fake_code(x->fake);

	fake_put(x->fake, addr + after - 8, object_addr);
	fake_put_u8(x->fake, addr + off->frame.owner, FAKE_GENERATOR);
	if (off->frame_kind == PY_FRAME_IS_ENTRY)
		fake_put_u8(x->fake, addr + off->frame.is_entry, 1);
	fake_put(x->fake, addr + off->frame.previous, x->frame_addr);
	fake_put(x->fake, addr + off->frame.executable, code_addr);
	old_put_instr(x, addr, code_addr, 2);
	old_set_current(x, addr);
	old_expect(x, addr, code_addr, FRAME_INSTR_UNKNOWN);
}

static void compiled_frames_belong_to_the_activation_that_is_current(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		old_begin(x, minor);
		call_compiled(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 1);
		call_compiled(x);
		old_call(x, true, 40); /* compiled code calls interpreted code */
		old_call(x, false, 2);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
		call_compiled(x); /* and is called back */
		call_compiled(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
		old_call(x, true, 0);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/*
 * The frame of a call that has ended has no caller any more: as the root of an activation that is
 * not filled yet, it must not pass for the thread's first frame.
 */
static void a_compiled_frame_ends_no_stale_activation(void **state)
{
	struct old_fake *x = *state;

	for_each_cframe(minor)
	{
		__u64 root_addr, live_addr;

		old_begin(x, minor);
		root_addr = x->cframe_addr;
		call_compiled(x);
		live_addr = x->frame_addr;
		old_call(x, true, 0);
		x->frame_addr = 0;
		call_compiled(x); /* its caller is 0, and the activation is not the thread's own */
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
		assert_int_equal(fake_get(x->fake, x->cframe_addr + OFF(x)->cframe.previous),
				 root_addr);
		old_set_current(x, live_addr); /* or it belongs to an active call, further down */
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void an_owner_that_3_11_does_not_have_is_refused(void **state)
{
	struct old_fake *x = *state;

	for (__u8 owner = 2; owner < 5; owner++) {
		old_begin(x, 11);
		usual(x);
		fake_put_u8(x->fake, x->frame_addr + OFF(x)->frame.owner, owner);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_circle_of_frame_objects_is_noticed(void **state)
{
	struct old_fake *x = *state;

	old_begin(x, 8);
	old_call(x, true, 0);
	fake_put(x->fake, x->frame_addr + OFF(x)->frame.previous, x->frame_addr);
	walk_now_old(x);
	assert_int_equal(x->result.reason, REASON_CYCLE);
}

static void a_fault_at_any_read_ends_the_walk(void **state)
{
	struct old_fake *x = *state;

	for_each_old(minor)
	{
		unsigned long reads;

		old_begin(x, minor);
		usual(x);
		walk_now_old(x);
		reads = x->fake->reads;
		for (unsigned long i = 1; i <= reads; i++) {
			fake_heal(x->fake);
			x->fake->fail_at = i;
			host_walk(x->fake, x->tstate_addr, false, &x->result);
			assert_true(x->result.reason == REASON_FRAME_FAULT ||
				    x->result.reason == REASON_THREAD_FAULT);
			assert_true(x->result.frame_cnt < x->cnt + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_thread_has_no_frames),
		cmocka_unit_test(a_stack_is_walked_to_its_root),
		cmocka_unit_test(an_instruction_out_of_range_is_unknown),
		cmocka_unit_test(an_activation_that_is_not_filled_yet_is_no_stack),
		cmocka_unit_test(a_chain_of_activations_that_ends_early_is_no_stack),
		cmocka_unit_test(a_chain_without_its_entry_is_truncated),
		cmocka_unit_test(an_empty_activation_is_no_empty_stack),
		cmocka_unit_test(a_greenlet_ends_one_activation_early),
		cmocka_unit_test(compiled_frames_belong_to_the_activation_that_is_current),
		cmocka_unit_test(a_compiled_frame_ends_no_stale_activation),
		cmocka_unit_test(an_owner_that_3_11_does_not_have_is_refused),
		cmocka_unit_test(a_circle_of_frame_objects_is_noticed),
		cmocka_unit_test(a_fault_at_any_read_ends_the_walk),
	};

	return cmocka_run_group_tests_name("bpf/python/walk.h: 3.8 to 3.12", tests, old_setup,
					   old_teardown);
}
