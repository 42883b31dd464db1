/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_ends.c - bpf/python/walk.h: where and why a walk ends if the chain or the memory is not as it
 * should be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"

static void a_null_current_frame_lacks_its_base_on_3_15(void **state)
{
	struct walk_fixture *x = *state;

	walk_fixture_begin(x, 2);
	fake_put(x->fake, x->tstate_addr + x->fake->offsets.thread.current_frame, 0);
	walk_now(x);
	assert_walk(&x->result, &x->stack, REASON_NO_BASE, 0);
}

static void a_chain_that_ends_in_a_python_frame_is_truncated(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_put(x->fake, MEMBER(x, 3, previous), 0);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_NO_BASE, 4);
	}
}

static void an_entry_frame_ends_a_greenlet_s_stack_on_3_15(void **state)
{
	struct walk_fixture *x = *state;

	walk_fixture_begin(x, 2);
	usual_stack(x);
	fake_put(x->fake, MEMBER(x, 2, previous), 0); /* an entry frame, but not the base */
	walk_now(x);
	assert_walk(&x->result, &x->stack, REASON_GREENLET, 3);
}

static void an_entry_frame_ends_a_stack_before_3_15(void **state)
{
	struct walk_fixture *x = *state;

	for (int v = 0; v < 2; v++) {
		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_put(x->fake, MEMBER(x, 2, previous), 0);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, 3);
	}
}

/* PYOFF_FRAME_OBJECT_DATA() of each of fake_versions[]. */
static const __u32 frame_object_data[] = { 64, 72, 72 };

/* Like Greenlet::expose_frames(): from now on the frame's caller is that one. */
static void expose(struct walk_fixture *x, int v, __u32 frame, __u64 caller_addr)
{
	__u64 addr = fake_expected(&x->stack, frame)->frame_addr,
	      object_addr = fake_alloc(x->fake, 96);
	__u64 previous_addr = addr + x->fake->offsets.frame.previous;

	fake_put(x->fake, object_addr + 24, addr);
	fake_put(x->fake, object_addr + frame_object_data[v], fake_get(x->fake, previous_addr));
	fake_put(x->fake, addr + x->fake->offsets.frame.instr_ptr - 8, object_addr);
	fake_put(x->fake, previous_addr, caller_addr);
}

/* Frames 0 and 1 above entry frame 2; frames 3, 4 and 5 above 6. */
static void expose_usual_stack(struct walk_fixture *x, int v)
{
	static const __u32 callers[][2] = { { 0, 1 }, { 1, 3 }, { 3, 4 }, { 4, 5 } };

	walk_fixture_begin(x, v);
	usual_stack(x);
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		expose(x, v, callers[i][0], fake_expected(&x->stack, callers[i][1])->frame_addr);
	expose(x, v, 5, 0);
}

static void entry_frames_that_greenlet_has_taken_out_are_put_back(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		expose_usual_stack(x, v);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_SWITCHING, 7);
		/* By now another greenlet's C stack is there. */
		fake_put(x->fake, MEMBER(x, 2, previous), 0x7f1200000040);
		walk_now(x);
		assert_int_equal(x->result.reason, REASON_SWITCHING);
		assert_int_equal(x->result.frame_cnt, 7);
		assert_int_equal(x->result.frames[2].frame_addr,
				 fake_expected(&x->stack, 2)->frame_addr | FRAME_ENTRY_GONE);
		assert_int_equal(x->result.frames[6].frame_addr,
				 fake_expected(&x->stack, 6)->frame_addr);
		fake_fault(x->fake, fake_expected(&x->stack, 6)->frame_addr, 8);
		host_walk(x->fake, x->tstate_addr, false, &x->result);
		assert_int_equal(x->result.frames[6].frame_addr,
				 fake_expected(&x->stack, 6)->frame_addr | FRAME_ENTRY_GONE);
	}
}

/* A frame's object belongs to another frame, does not exist, or has kept nothing. */
static void a_chain_without_what_greenlet_keeps_is_truncated(void **state)
{
	struct walk_fixture *x = *state;
	__u64 object_addr;

	for_each_version(v)
	{
		for (int how = 0; how < 4; how++) {
			expose_usual_stack(x, v);
			object_addr = fake_get(x->fake, MEMBER(x, 5, instr_ptr) - 8);
			if (how == 0)
				fake_put(x->fake, object_addr + 24, 0x7f1200000040);
			else if (how == 1)
				fake_put(x->fake, MEMBER(x, 5, instr_ptr) - 8, 0);
			else if (how == 2)
				fake_put(x->fake, object_addr + frame_object_data[v], 0);
			else
				fake_put(x->fake, MEMBER(x, 5, instr_ptr) - 8, 0x10);
			walk_now(x);
			assert_int_equal(x->result.reason, REASON_NO_BASE);
			assert_int_equal(x->result.frame_cnt, 5);
			for (__u32 i = 0; i < 5; i++)
				assert_int_not_equal(x->result.frames[i].code_addr, 0);
		}
	}
}

/* Its frame object may hold anything where greenlet would have kept a frame. */
static void a_generator_that_is_just_being_left_is_truncated(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		expose(x, v, 0, 0);
		walk_now(x);
		assert_int_equal(x->result.reason, REASON_SWITCHING);
		fake_put_u8(x->fake, MEMBER(x, 0, owner), FAKE_GENERATOR);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_NO_BASE, 1);
	}
}

static void an_owner_that_is_none_ends_the_walk(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (int owner = 0; owner < 256; owner++) {
			bool known = owner < 5 && owner != FAKE_FRAME_OBJECT;

			fake_put_u8(x->fake, MEMBER(x, 4, owner), owner);
			walk_now(x);
			assert_int_equal(x->result.reason,
					 known ? REASON_PYTHON : REASON_BAD_FRAME);
			assert_int_equal(x->result.frame_cnt, known ? x->stack.cnt : 4);
		}
	}
}

/* A frame of a function compiled by Nuitka: part of its own frame object, that many bytes into it. */
static void make_compiled(struct walk_fixture *x, __u32 index, __u8 owner, __u64 bytes)
{
	fake_put_u8(x->fake, MEMBER(x, index, owner), owner);
	fake_put(x->fake, MEMBER(x, index, instr_ptr) - 8,
		 fake_expected(&x->stack, index)->frame_addr - bytes);
}

static void a_compiled_frame_may_be_the_last_before_3_15(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		for (__u8 owner = FAKE_GENERATOR; owner <= FAKE_FRAME_OBJECT; owner++) {
			__u32 reason = v < 2 ? REASON_PYTHON : REASON_NO_BASE;

			walk_fixture_begin(x, v);
			usual_stack(x);
			make_compiled(x, 3, owner, 104);
			fake_expected(&x->stack, 3)->instr_off = FRAME_INSTR_UNKNOWN;
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
			fake_put(x->fake, MEMBER(x, 3, previous), 0);
			walk_now(x);
			assert_walk(&x->result, &x->stack, reason, 4);
		}
	}
}

/*
 * A generator that is being left has no caller either, and may have a frame object, which lies
 * elsewhere.
 */
static void a_frame_beside_its_frame_object_is_not_compiled(void **state)
{
	static const __u64 elsewhere[] = { 0, 193, 208, 4096, (__u64)-8, (__u64)-400 };
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
			walk_fixture_begin(x, v);
			usual_stack(x);
			make_compiled(x, 3, FAKE_GENERATOR, elsewhere[i]);
			fake_put(x->fake, MEMBER(x, 3, previous), 0);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_NO_BASE, 4);
			make_compiled(x, 3, FAKE_FRAME_OBJECT, elsewhere[i]);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_BAD_FRAME, 3);
		}
	}
}

static void a_misaligned_frame_ends_the_walk(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (int bits = 1; bits < 8; bits++) {
			fake_put(x->fake, MEMBER(x, 1, previous),
				 fake_expected(&x->stack, 2)->frame_addr | bits);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_BAD_FRAME, 2);
		}
	}
}

static void a_fault_at_any_frame_keeps_the_leaf_side(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (__u32 n = 1; n <= x->stack.cnt; n++) {
			fake_heal(x->fake);
			x->fake->fail_at = n;
			host_walk(x->fake, x->tstate_addr, false, &x->result);
			assert_walk(&x->result, &x->stack, REASON_FRAME_FAULT, n - 1);
		}
	}
}

static void a_fault_at_any_read_with_fingerprints_is_no_worse(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		__u32 python = 5;

		walk_fixture_begin(x, v);
		usual_stack(x);
		for (__u32 n = 1; n <= x->stack.cnt + python; n++) {
			fake_heal(x->fake);
			x->fake->fail_at = n;
			host_walk(x->fake, x->tstate_addr, true, &x->result);
			assert_true(x->result.reason == REASON_FRAME_FAULT ||
				    x->result.reason == REASON_PYTHON);
			assert_true(x->result.reason == REASON_FRAME_FAULT ||
				    x->result.frame_cnt == x->stack.cnt);
			for (__u32 i = 0; i < x->result.frame_cnt; i++)
				assert_int_equal(x->result.frames[i].code_addr,
						 fake_expected(&x->stack, i)->code_addr);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_null_current_frame_lacks_its_base_on_3_15),
		cmocka_unit_test(a_chain_that_ends_in_a_python_frame_is_truncated),
		cmocka_unit_test(an_entry_frame_ends_a_greenlet_s_stack_on_3_15),
		cmocka_unit_test(entry_frames_that_greenlet_has_taken_out_are_put_back),
		cmocka_unit_test(a_chain_without_what_greenlet_keeps_is_truncated),
		cmocka_unit_test(an_entry_frame_ends_a_stack_before_3_15),
		cmocka_unit_test(a_generator_that_is_just_being_left_is_truncated),
		cmocka_unit_test(an_owner_that_is_none_ends_the_walk),
		cmocka_unit_test(a_compiled_frame_may_be_the_last_before_3_15),
		cmocka_unit_test(a_frame_beside_its_frame_object_is_not_compiled),
		cmocka_unit_test(a_misaligned_frame_ends_the_walk),
		cmocka_unit_test(a_fault_at_any_frame_keeps_the_leaf_side),
		cmocka_unit_test(a_fault_at_any_read_with_fingerprints_is_no_worse),
	};

	return cmocka_run_group_tests_name("walk: ends", tests, walk_fixture_new,
					   walk_fixture_free);
}
