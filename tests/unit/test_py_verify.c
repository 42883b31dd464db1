/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_py_verify.c - user/python/layout/py_verify.c: accepts right tables and rejects wrong ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_fake_interpreter.h"
#include "bpf/read.h"
#include "python/layout/py_builtin_offsets.h"
#include "python/layout/py_verify.h"
#include "base/data/memory.h"

struct fixture {
	struct fake_version version;
	struct fake *fake;
	struct memory memory;
	__u64 interp_addr, tstate_addr, frame_addr, code_addr, type_addr;
	char why[96];
};

#define for_each_old(minor) for (unsigned minor = 8; minor <= 12; minor++)

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

static __u64 add_thread(struct fixture *x, __u64 interp_addr)
{
	__u64 control_block_addr = fake_alloc(x->fake, 64), cframe_addr = fake_alloc(x->fake, 24);
	__u64 addr = fake_thread(x->fake, interp_addr, control_block_addr, 0);

	fake_put(x->fake, control_block_addr, control_block_addr);
	if (x->version.offsets.flags & PYOFF_CFRAME)
		fake_put(x->fake, addr + x->version.offsets.thread.cframe, cframe_addr);
	return addr;
}

/* The last thread runs in that frame. */
static void set_current_frame(struct fixture *x)
{
	const struct py_offsets *o = &x->version.offsets;

	if (o->flags & PYOFF_CFRAME)
		fake_put(x->fake,
			 fake_get(x->fake, x->tstate_addr + o->thread.cframe) +
				 o->cframe.current_frame,
			 x->frame_addr);
	else
		fake_put(x->fake, x->tstate_addr + o->thread.current_frame, x->frame_addr);
}

/* A thread in one frame. */
static void put_frame(struct fixture *x)
{
	const struct py_offsets *o = &x->version.offsets;
	__u64 name_addr = fake_alloc(x->fake, 16);

	x->frame_addr = fake_alloc(x->fake, 384);
	x->code_addr = fake_code(x->fake);
	x->type_addr = fake_alloc(x->fake, 416);
	memcpy(fake_at(x->fake, name_addr), "code", 5);
	fake_put(x->fake, x->type_addr + o->object.tp_name, name_addr);
	fake_put(x->fake, x->code_addr + o->object.ob_type, x->type_addr);
	fake_put(x->fake, x->frame_addr + o->frame.executable, x->code_addr);
	set_current_frame(x);
}

static void begin(struct fixture *x, unsigned minor)
{
	if (x->fake)
		fake_free(x->fake);
	x->version = (struct fake_version){
		.name = "old",
		.offsets = *py_builtin_offsets_find(minor),
		.thread_size = 384,
	};
	x->fake = fake_new(&x->version, 0x7f5500000000, 1 << 20);
	x->memory = x->fake->memory;
	fake_alloc(x->fake, 1024); /* the rest of the runtime */
}

static void begin_running(struct fixture *x, unsigned minor)
{
	begin(x, minor);
	x->interp_addr = fake_interp(x->fake);
	add_thread(x, x->interp_addr);
	x->tstate_addr = add_thread(x, x->interp_addr);
	put_frame(x);
}

static int verify(struct fixture *x, const struct py_offsets *o)
{
	x->why[0] = '\0';
	return py_verify(&x->memory, o, x->fake->runtime_addr, x->why, sizeof(x->why));
}

static void the_right_table_is_believed(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin_running(x, minor);
		assert_int_equal(verify(x, &x->version.offsets), 0);
	}
}

static void an_idle_or_second_interpreter_does_not_matter(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin_running(x, minor);
		add_thread(x, fake_interp(x->fake));
		fake_interp(x->fake);
		assert_int_equal(verify(x, &x->version.offsets), 0);
	}
}

static void what_has_not_begun_cannot_be_verified(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin(x, minor);
		assert_int_equal(verify(x, &x->version.offsets), -EAGAIN);
		fake_interp(x->fake);
		assert_int_equal(verify(x, &x->version.offsets), -EAGAIN);
	}
}

/* The tables of 3.8 to 3.10 agree on what these lists contain; all others differ. */
static void another_version_is_not_believed(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin_running(x, minor);
		for (unsigned other = 8; other <= 12; other++) {
			if (minor == other || (minor <= 10 && other <= 10))
				continue;
			assert_int_not_equal(verify(x, py_builtin_offsets_find(other)), 0);
		}
	}
}

static void each_broken_link_is_named(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		const struct py_offsets *o = &x->version.offsets;

		begin_running(x, minor);
		fake_put(x->fake, x->tstate_addr + o->thread.prev, 8);
		assert_int_equal(verify(x, o), -ENODATA);
		assert_string_equal(x->why, "a thread state does not point back");
		begin_running(x, minor);
		fake_put(x->fake, x->tstate_addr + o->thread.interp, 8);
		assert_int_equal(verify(x, o), -ENODATA);
		assert_string_equal(x->why, "a thread state belongs to another interpreter");
		begin_running(x, minor);
		fake_put(x->fake, x->tstate_addr + o->thread.next, 0x10);
		assert_int_equal(verify(x, o), -ENODATA);
		assert_string_equal(x->why, "a thread state is not readable");
		begin_running(x, minor);
		fake_put(x->fake, x->interp_addr + o->interp.threads_head, 0x7f5500000001);
		assert_int_equal(verify(x, o), -ENODATA);
	}
}

static void thread_ids_must_be_those_of_threads(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		const struct py_offsets *o = &x->version.offsets;

		begin(x, minor);
		x->interp_addr = fake_interp(x->fake);
		x->tstate_addr = add_thread(x, x->interp_addr);
		fake_put(x->fake, x->tstate_addr + o->thread.thread_id, x->tstate_addr);
		assert_int_equal(verify(x, o), -ENODATA);
		assert_string_equal(x->why, "no thread state has the id of a thread");
		/* A dead thread does not matter if another one exists. */
		add_thread(x, x->interp_addr);
		fake_put(x->fake, x->tstate_addr + o->thread.thread_id, 0x5000);
		assert_int_equal(verify(x, o), 0);
	}
}

/* As with Py_TRACE_REFS, where every object begins 16 bytes later. */
static void the_outermost_frame_must_have_a_code_object(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		begin_running(x, minor);
		memcpy(fake_at(x->fake, fake_get(x->fake, x->type_addr + 24)), "dict", 5);
		assert_int_equal(verify(x, &x->version.offsets), -ENODATA);
		assert_string_equal(x->why, "no frame has a code object");
	}
}

/* A C frame that is on the chain, but whose current frame is still what its memory had before. */
static __u64 enter_evaluation(struct fixture *x, __u64 rest)
{
	const struct py_offsets *o = &x->version.offsets;
	__u64 at = x->tstate_addr + o->thread.cframe, addr = fake_alloc(x->fake, 24);

	fake_put(x->fake, addr + o->cframe.previous, fake_get(x->fake, at));
	fake_put(x->fake, addr + o->cframe.current_frame, rest);
	fake_put(x->fake, at, addr);
	return addr;
}

static void a_thread_that_enters_an_evaluation_is_believed(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 11; minor <= 12; minor++) {
		const struct py_offsets *o = &x->version.offsets;
		__u64 rests[] = { 0, 1, 0xdead0000, 0 };
		__u64 cframe_addr;

		for (unsigned i = 0; i < 4; i++) {
			begin_running(x, minor);
			rests[3] = x->interp_addr;
			cframe_addr = enter_evaluation(x, rests[i]);
			assert_int_equal(verify(x, o), 0);
			/* What is true of the one before is not hidden by it. */
			memcpy(fake_at(x->fake, fake_get(x->fake, x->type_addr + 24)), "dict", 5);
			assert_int_equal(verify(x, o), -ENODATA);
			assert_string_equal(x->why, "no frame has a code object");
		}
		fake_put(x->fake, cframe_addr + o->cframe.previous, cframe_addr);
		assert_int_equal(verify(x, o), -ENODATA);
	}
}

/* Its thread has ended, and its stack is somebody else's. */
static void c_frames_of_a_state_left_behind_refute_nothing(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 11; minor <= 12; minor++) {
		const struct py_offsets *o = &x->version.offsets;
		const __u64 rests[] = { 1, 0xdead0000 };

		for (unsigned i = 0; i < 2; i++) {
			__u64 addr;

			begin_running(x, minor);
			addr = fake_get(x->fake, add_thread(x, x->interp_addr) + o->thread.cframe);
			fake_put(x->fake, addr + o->cframe.current_frame, 1);
			fake_put(x->fake, addr + o->cframe.previous, rests[i]);
			assert_int_equal(verify(x, o), 0);
		}
	}
}

static void the_current_state_must_be_on_the_list(void **state)
{
	struct fixture *x = *state;

	for (unsigned minor = 8; minor <= 11; minor++) {
		const struct py_offsets *o = &x->version.offsets;
		__u64 at;

		begin_running(x, minor);
		at = x->fake->runtime_addr + o->runtime.tstate_current;
		fake_put(x->fake, at, x->tstate_addr);
		assert_int_equal(verify(x, o), 0);
		fake_put(x->fake, at, x->interp_addr);
		assert_int_equal(verify(x, o), -ENODATA);
		fake_put(x->fake, at, 0xdead0000);
		assert_int_equal(verify(x, o), -ENODATA);
	}
}

static void lists_without_end_come_to_an_end(void **state)
{
	struct fixture *x = *state;

	for_each_old(minor)
	{
		const struct py_offsets *o = &x->version.offsets;

		begin_running(x, minor);
		fake_put(x->fake, x->interp_addr + o->interp.next, x->interp_addr);
		fake_put(x->fake, x->frame_addr + o->frame.previous, x->frame_addr);
		assert_int_equal(verify(x, o), 0);
	}
}

/* A prober that does this keeps others waiting: a thousand deep threads took it ten seconds. */
static void many_deep_threads_cost_no_more_than_a_few(void **state)
{
	enum { THREADS = 1000, READS = 100000 };
	struct fixture *x = *state;

	for_each_old(minor)
	{
		const struct py_offsets *o = &x->version.offsets;

		begin_running(x, minor);
		fake_put(x->fake, x->frame_addr + o->frame.previous, x->frame_addr);
		for (int i = 0; i < THREADS; i++) {
			x->tstate_addr = add_thread(x, x->interp_addr);
			set_current_frame(x);
		}
		fake_heal(x->fake);
		assert_int_equal(verify(x, o), 0);
		assert_true(x->fake->reads < READS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_table_is_believed),
		cmocka_unit_test(an_idle_or_second_interpreter_does_not_matter),
		cmocka_unit_test(what_has_not_begun_cannot_be_verified),
		cmocka_unit_test(another_version_is_not_believed),
		cmocka_unit_test(each_broken_link_is_named),
		cmocka_unit_test(thread_ids_must_be_those_of_threads),
		cmocka_unit_test(the_outermost_frame_must_have_a_code_object),
		cmocka_unit_test(a_thread_that_enters_an_evaluation_is_believed),
		cmocka_unit_test(c_frames_of_a_state_left_behind_refute_nothing),
		cmocka_unit_test(the_current_state_must_be_on_the_list),
		cmocka_unit_test(lists_without_end_come_to_an_end),
		cmocka_unit_test(many_deep_threads_cost_no_more_than_a_few),
	};

	return cmocka_run_group_tests_name("user/python/layout/py_verify.c", tests, setup,
					   teardown);
}
