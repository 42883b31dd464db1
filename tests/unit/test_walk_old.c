/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_old.c - bpf/walk.h and thread.h on the layouts of 3.8 to 3.12 (user/target/py_builtin_offsets.c):
 * frame objects, C frames, thread states without status bits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"
#include "target/py_builtin_offsets.h"

/* Where PyThreadState has its own _PyCFrame: in 3.11; 3.12 has it a little before. */
#define ROOT_CFRAME 336

enum { SELF = 0x7000, OTHER = 0x8000, NODES_MAX = 64 };

struct fixture {
	struct fake_version version;
	struct fake *fake;
	__u64 interp_addr, tstate_addr;
	__u64 frame_addr, cframe_addr; /* the current ones */
	struct frame nodes[NODES_MAX]; /* what a walk should find, root first */
	__u32 cnt;
	struct stack_walk_result result;
};

#define OFF(x) (&(x)->fake->offsets)
#define for_each_old(minor) for (unsigned minor = 8; minor <= 12; minor++)
#define for_each_cframe(minor) for (unsigned minor = 11; minor <= 12; minor++)

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	if (x->fake)
		fake_free(x->fake);
	free(x);
	return 0;
}

/* A state of that thread; with a C frame of its own where the version has them. */
static __u64 add_thread(struct fixture *x, __u64 interp_addr, __u64 thread_id)
{
	__u64 addr = fake_thread(x->fake, interp_addr, thread_id, 0);

	if (OFF(x)->flags & PYOFF_CFRAME)
		fake_put(x->fake, addr + OFF(x)->thread.cframe, addr + ROOT_CFRAME);
	return addr;
}

static void begin(struct fixture *x, unsigned minor)
{
	if (x->fake)
		fake_free(x->fake);
	x->version = (struct fake_version){
		.name = "old",
		.offsets = *py_builtin_offsets_find(minor),
		.thread_size = 384,
		.frame_size = 384,
	};
	x->fake = fake_new(&x->version, 0x7f5500000000, 4 << 20);
	/* The last of the runtime's fields is beyond what the fake has set aside for it. */
	fake_alloc(x->fake, 1024);
	x->interp_addr = fake_interp(x->fake);
	x->tstate_addr = add_thread(x, x->interp_addr, SELF);
	x->frame_addr = 0;
	x->cframe_addr = 0;
	if (OFF(x)->flags & PYOFF_CFRAME)
		x->cframe_addr = fake_get(x->fake, x->tstate_addr + OFF(x)->thread.cframe);
	x->cnt = 0;
}

static void set_current(struct fixture *x, __u64 addr)
{
	x->frame_addr = addr;
	if (x->cframe_addr)
		fake_put(x->fake, x->cframe_addr + OFF(x)->cframe.current_frame, addr);
	else
		fake_put(x->fake, x->tstate_addr + OFF(x)->thread.current_frame, addr);
}

static void put_instr(struct fixture *x, __u64 addr, __u64 code_addr, __s32 instr_off)
{
	const struct py_offsets *off = OFF(x);

	if (off->frame_kind == PY_FRAME_OBJECT)
		fake_put_u32(x->fake, addr + off->frame.instr_ptr,
			     instr_off == FRAME_INSTR_BEFORE ?
				     ~0U :
				     (__u32)instr_off >> off->lasti_shift);
	else
		fake_put(x->fake, addr + off->frame.instr_ptr,
			 code_addr + (__u64)off->code.code_adaptive + (__u64)(__s64)instr_off);
}

static void expect(struct fixture *x, __u64 frame_addr, __u64 code_addr, __s32 instr_off)
{
	x->nodes[x->cnt++] = (struct frame){ code_addr, frame_addr, instr_off, 0 };
}

/* A call from Python; from_c: through a new activation of the eval loop. */
static void call(struct fixture *x, bool from_c, __s32 instr_off)
{
	const struct py_offsets *off = OFF(x);
	__u64 code_addr = fake_code(x->fake), addr = fake_alloc(x->fake, 384);
	__u64 caller_addr = x->frame_addr;

	if (from_c && off->flags & PYOFF_CFRAME) {
		__u64 cframe_addr = fake_alloc(x->fake, 24);

		fake_put(x->fake, cframe_addr + off->cframe.previous, x->cframe_addr);
		fake_put(x->fake, x->tstate_addr + off->thread.cframe, cframe_addr);
		x->cframe_addr = cframe_addr;
		if (off->frame_kind == PY_FRAME_IS_ENTRY) {
			fake_put_u8(x->fake, addr + off->frame.is_entry, 1);
			expect(x, cframe_addr, 0, FRAME_INSTR_UNKNOWN);
		} else {
			__u64 entry_addr = fake_alloc(x->fake, 96);

			fake_put_u8(x->fake, entry_addr + off->frame.owner, FAKE_ENTRY);
			fake_put(x->fake, entry_addr + off->frame.previous, caller_addr);
			expect(x, entry_addr, 0, FRAME_INSTR_UNKNOWN);
			caller_addr = entry_addr;
		}
	}
	fake_put(x->fake, addr + off->frame.previous, caller_addr);
	fake_put(x->fake, addr + off->frame.executable, code_addr);
	put_instr(x, addr, code_addr, instr_off);
	set_current(x, addr);
	expect(x, addr, code_addr, instr_off);
}

static void usual(struct fixture *x)
{
	call(x, true, 40);
	call(x, false, 0);
	call(x, false, 200);
	call(x, true, 2);
	call(x, false, FRAME_INSTR_BEFORE);
}

static void assert_result(struct fixture *x, __u32 reason, __u32 cnt)
{
	assert_int_equal(x->result.reason, reason);
	assert_int_equal(x->result.frame_cnt, cnt);
	for (__u32 i = 0; i < cnt; i++)
		assert_memory_equal(&x->result.frames[i], &x->nodes[x->cnt - 1 - i],
				    sizeof(struct frame));
}

static void walk_now_old(struct fixture *x)
{
	fake_heal(x->fake);
	host_walk(x->fake, x->tstate_addr, false, &x->result);
}

static void an_idle_thread_has_no_frames(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin(x, minor);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
	}
}

static void a_stack_is_walked_to_its_root(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin(x, minor);
		usual(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, minor < 11 ? 5 : 7);
		assert_int_equal(x->cnt, x->result.frame_cnt);
	}
}

static void an_instruction_out_of_range_is_unknown(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin(x, minor);
		call(x, true, 40);
		put_instr(x, x->frame_addr, x->nodes[x->cnt - 1].code_addr, -1000);
		x->nodes[x->cnt - 1].instr_off = FRAME_INSTR_UNKNOWN;
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/* An interrupt between "tstate->cframe = &cframe" and the stores into cframe. */
static void an_activation_that_is_not_filled_yet_is_no_stack(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		__u64 stale_addr, before_addr;

		begin(x, minor);
		usual(x);
		stale_addr = x->cframe_addr; /* of a call that is over ... */
		before_addr = fake_get(x->fake, stale_addr + OFF(x)->cframe.previous);
		set_current(x, x->frame_addr);
		/* ... and meanwhile its caller has made another call. */
		x->cframe_addr = before_addr;
		call(x, false, 6);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_chain_of_activations_that_ends_early_is_no_stack(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		begin(x, minor);
		usual(x);
		fake_put(x->fake, x->cframe_addr + OFF(x)->cframe.previous, 0);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_chain_without_its_entry_is_truncated(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		begin(x, minor);
		call(x, true, 0);
		call(x, false, 0);
		fake_put(x->fake, x->frame_addr + OFF(x)->frame.previous, 0);
		walk_now_old(x);
		if (minor == 11)
			assert_int_equal(x->result.reason, REASON_BAD_FRAME);
		else
			assert_result(x, REASON_NO_BASE, 1);
	}
}

/* NULL where an activation keeps its frame says nothing unless it is the thread state's own. */
static void an_empty_activation_is_no_empty_stack(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		begin(x, minor);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
		call(x, true, 0);
		call(x, true, 0);
		set_current(x, 0);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

/* greenlet begins one with an activation of its own, above that of the thread state. */
static void a_greenlet_ends_one_activation_early(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		__u64 addr;

		begin(x, minor);
		addr = fake_alloc(x->fake, 24);
		fake_put(x->fake, addr + OFF(x)->cframe.previous, x->cframe_addr);
		fake_put(x->fake, x->tstate_addr + OFF(x)->thread.cframe, addr);
		x->cframe_addr = addr;
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 0);
		call(x, true, 0);
		call(x, false, 0);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/* Of a function that Nuitka has compiled: a part of its frame object, linked to the current frame of the
 * current activation. Memory that was in use before, so 3.11's mark says anything. */
static void call_compiled(struct fixture *x)
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
	put_instr(x, addr, code_addr, 2);
	set_current(x, addr);
	expect(x, addr, code_addr, FRAME_INSTR_UNKNOWN);
}

static void compiled_frames_belong_to_the_activation_that_is_current(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		begin(x, minor);
		call_compiled(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, 1);
		call_compiled(x);
		call(x, true, 40); /* compiled code calls what is not */
		call(x, false, 2);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
		call_compiled(x); /* and is called back */
		call_compiled(x);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
		call(x, true, 0);
		walk_now_old(x);
		assert_result(x, REASON_PYTHON, x->cnt);
	}
}

/* A frame of a call that is over has no caller any more: at the root of an activation that is not filled
 * yet it must not pass for the first frame of the thread. */
static void a_compiled_frame_ends_no_stale_activation(void **state)
{
	struct fixture *x = *state;

	for_each_cframe(minor)
	{
		__u64 root_addr, live_addr;

		begin(x, minor);
		root_addr = x->cframe_addr;
		call_compiled(x);
		live_addr = x->frame_addr;
		call(x, true, 0);
		x->frame_addr = 0;
		call_compiled(x); /* its caller is 0, and the activation is not the thread's own */
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
		assert_int_equal(fake_get(x->fake, x->cframe_addr + OFF(x)->cframe.previous),
				 root_addr);
		set_current(x, live_addr); /* or it is one that is at work, further down */
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void an_owner_that_3_11_does_not_have_is_refused(void **state)
{
	struct fixture *x = *state;

	for (__u8 owner = 2; owner < 5; owner++) {
		begin(x, 11);
		usual(x);
		fake_put_u8(x->fake, x->frame_addr + OFF(x)->frame.owner, owner);
		walk_now_old(x);
		assert_int_equal(x->result.reason, REASON_BAD_FRAME);
	}
}

static void a_circle_of_frame_objects_is_noticed(void **state)
{
	struct fixture *x = *state;

	begin(x, 8);
	call(x, true, 0);
	fake_put(x->fake, x->frame_addr + OFF(x)->frame.previous, x->frame_addr);
	walk_now_old(x);
	assert_int_equal(x->result.reason, REASON_CYCLE);
}

static void a_fault_at_any_read_ends_the_walk(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		unsigned long reads;

		begin(x, minor);
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

/* ---- which thread state ---------------------------------------------------------------------- */

static void search_now(struct fixture *x, __u64 thread_ptr)
{
	fake_heal(x->fake);
	host_search(x->fake, thread_ptr, &x->result);
}

static void assert_found(struct fixture *x, __u64 tstate_addr)
{
	search_now(x, SELF);
	assert_int_equal(x->result.reason, REASON_PYTHON);
	assert_int_equal(x->result.tstate_addr, tstate_addr);
	assert_int_equal(x->result.interp_addr,
			 fake_get(x->fake, tstate_addr + OFF(x)->thread.interp));
}

static void hold_gil(struct fixture *x, __u64 tstate_addr)
{
	fake_put(x->fake, x->fake->runtime_addr + OFF(x)->runtime.tstate_current, tstate_addr);
}

static void a_thread_that_holds_the_gil_needs_no_search(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		begin(x, minor);
		for (int i = 0; i < 50; i++)
			add_thread(x, x->interp_addr, OTHER);
		hold_gil(x, x->tstate_addr);
		assert_found(x, x->tstate_addr);
		assert_true(x->fake->reads <= 2);
	}
}

static void without_the_gil_the_list_is_searched(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		__u64 other_addr;

		begin(x, minor);
		other_addr = add_thread(x, x->interp_addr, OTHER);
		if (minor < 12)
			hold_gil(x, other_addr);
		assert_found(x, x->tstate_addr);
		search_now(x, 0x9000);
		assert_int_equal(x->result.reason, REASON_NATIVE_THREAD);
	}
}

/* What is in the runtime there may be anything, or a state that has just gone. */
static void a_wild_current_state_is_not_believed(void **state)
{
	static const __u64 wild[] = { 1, 0xffff800000000000, 0x7f5500000001, 0x7f5500003000 };
	struct fixture *x = *state;

	for (unsigned i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		begin(x, 9);
		hold_gil(x, wild[i]);
		assert_found(x, x->tstate_addr);
	}
}

static void of_several_states_the_newest_with_a_frame_is_meant(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		__u64 newer_addr, newest_addr;

		begin(x, minor);
		newer_addr = add_thread(x, fake_interp(x->fake), SELF);
		newest_addr = add_thread(x, fake_interp(x->fake), SELF);
		call(x, true, 0);
		assert_found(x, x->tstate_addr);
		x->tstate_addr = newer_addr;
		x->cframe_addr = 0;
		if (minor == 11)
			x->cframe_addr = fake_get(x->fake, newer_addr + OFF(x)->thread.cframe);
		call(x, true, 0);
		assert_found(x, newer_addr);
		hold_gil(x, newest_addr);
		assert_found(x, newest_addr);
	}
}

static void what_is_remembered_holds_while_there_is_one_interpreter(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		begin(x, minor);
		assert_false(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		call(x, true, 0);
		assert_true(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		assert_false(host_still_valid(x->fake, OTHER, x->tstate_addr, x->interp_addr));
		fake_interp(x->fake);
		assert_false(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
		hold_gil(x, x->tstate_addr);
		assert_true(host_still_valid(x->fake, SELF, x->tstate_addr, x->interp_addr));
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
		cmocka_unit_test(a_thread_that_holds_the_gil_needs_no_search),
		cmocka_unit_test(without_the_gil_the_list_is_searched),
		cmocka_unit_test(a_wild_current_state_is_not_believed),
		cmocka_unit_test(of_several_states_the_newest_with_a_frame_is_meant),
		cmocka_unit_test(what_is_remembered_holds_while_there_is_one_interpreter),
	};

	return cmocka_run_group_tests_name("bpf/walk.h and thread.h: 3.8 to 3.12", tests, setup,
					   teardown);
}
