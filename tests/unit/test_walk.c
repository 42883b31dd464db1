/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk.c - bpf/python/walk.h over fake interpreters of three versions: properties of the frames of a
 * whole stack.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"

static void finds_every_frame_of_an_ordinary_stack(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		assert_int_equal(x->fake->reads, x->stack.cnt);
	}
}

static void an_idle_thread_has_an_empty_stack(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		assert_int_equal(x->stack.cnt, v == 2 ? 1 : 0);
	}
}

static void a_c_stack_frame_of_owner_4_is_an_entry_frame(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_put_u8(x->fake, MEMBER(x, 2, owner), FAKE_CSTACK);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
	}
}

static void tag_bits_are_no_part_of_a_code_object(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (__u64 tag = 0; tag < 8; tag++) {
			fake_put(x->fake, MEMBER(x, 0, executable),
				 fake_expected(&x->stack, 0)->code_addr | tag);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		}
	}
}

static void a_frame_being_cleared_has_no_address(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		struct frame cleared = { .instr_off = FRAME_INSTR_UNKNOWN };

		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_put(x->fake, MEMBER(x, 1, executable), 0);
		walk_now(x);
		assert_int_equal(x->result.reason, REASON_PYTHON);
		assert_int_equal(x->result.frame_cnt, x->stack.cnt);
		assert_memory_equal(&x->result.frames[1], &cleared, sizeof(cleared));
		assert_memory_equal(&x->result.frames[2], fake_expected(&x->stack, 2),
				    sizeof(cleared));
	}
}

static void an_instruction_outside_of_the_code_is_unknown(void **state)
{
	static const __s64 wild[] = { -1,      -2,	  -208,	     -(1LL << 31), INT64_MIN,
				      1 << 30, 1LL << 31, 1LL << 32, INT64_MAX };
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
			struct frame *leaf = fake_expected(&x->stack, 0);

			leaf->instr_off = FRAME_INSTR_UNKNOWN;
			fake_put(x->fake, MEMBER(x, 0, instr_ptr),
				 leaf->code_addr + x->fake->offsets.code.code_adaptive + wild[i]);
			walk_now(x);
			assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		}
	}
}

static void the_largest_instruction_offset_is_kept(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_push(&x->stack, FAKE_THREAD, x->fake->code_addr, (1 << 30) - 1);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
	}
}

static void fingerprints_are_taken_of_python_frames_only(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		for (__u32 i = 0; i < x->stack.cnt; i++) {
			struct frame *f = fake_expected(&x->stack, i);

			f->fingerprint = f->code_addr ? fake_fingerprint(x->fake, f->code_addr) : 0;
			assert_true(!f->code_addr || f->fingerprint);
		}
		host_walk(x->fake, x->tstate_addr, true, &x->result);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
	}
}

static void a_code_object_that_is_not_present_has_no_fingerprint(void **state)
{
	struct walk_fixture *x = *state;

	for_each_version(v)
	{
		walk_fixture_begin(x, v);
		usual_stack(x);
		fake_fault(x->fake, x->fake->code_addr, 8);
		host_walk(x->fake, x->tstate_addr, true, &x->result);
		assert_int_equal(x->result.reason, REASON_PYTHON);
		assert_int_equal(x->result.frames[0].fingerprint, 0);
		assert_int_not_equal(x->result.frames[1].fingerprint, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_frame_of_an_ordinary_stack),
		cmocka_unit_test(an_idle_thread_has_an_empty_stack),
		cmocka_unit_test(a_c_stack_frame_of_owner_4_is_an_entry_frame),
		cmocka_unit_test(tag_bits_are_no_part_of_a_code_object),
		cmocka_unit_test(a_frame_being_cleared_has_no_address),
		cmocka_unit_test(an_instruction_outside_of_the_code_is_unknown),
		cmocka_unit_test(the_largest_instruction_offset_is_kept),
		cmocka_unit_test(fingerprints_are_taken_of_python_frames_only),
		cmocka_unit_test(a_code_object_that_is_not_present_has_no_fingerprint),
	};

	return cmocka_run_group_tests_name("walk: frames", tests, walk_fixture_new,
					   walk_fixture_free);
}
