/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_nogil.c - bpf/python/walk.h over frames of free-threaded builds with a copy of the bytecode
 * per thread (3.14, 3.15).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_walker.h"

#define COPIES 4

/* Indices of the versions that have thread-local bytecode. */
#define for_each_nogil(v) for (int v = 1; v < FAKE_VERSION_CNT; v++)

/* Makes the fixture's thread, laid out as in a free-threaded build of that version. */
static void begin(struct walk_fixture *x, int version)
{
	struct py_offsets *o;

	walk_fixture_begin(x, version);
	o = &x->fake->offsets;
	o->flags |= PYOFF_FREE_THREADED;
	o->frame.tlbc_index = 72;
	o->frame.owner = 78;
	o->code.filename = 128;
	o->code.qualname = 144;
	o->code.linetable = 152;
	o->code.firstlineno = 84;
	o->code.tlbc = 224;
	o->code.code_adaptive = 232;
	fake_stack_begin(&x->stack, x->fake, x->tstate_addr);
}

/* Bytecode of one code object: copies[0] is its own. */
struct copies {
	__u64 code_addr, array_addr, addrs[COPIES];
};

static struct copies make_copies(struct fake *f)
{
	struct copies c = { .code_addr = fake_code(f) };

	c.array_addr = fake_alloc(f, 8 + 8 * COPIES);
	fake_put(f, c.code_addr + f->offsets.code.tlbc, c.array_addr);
	fake_put(f, c.array_addr, COPIES);
	c.addrs[0] = c.code_addr + f->offsets.code.code_adaptive;
	for (int i = 0; i < COPIES; i++) {
		if (i)
			c.addrs[i] = fake_alloc(f, 512);
		fake_put(f, c.array_addr + 8 + 8ULL * (unsigned)i, c.addrs[i]);
	}
	return c;
}

/* A call that runs copy index, at instruction instr_off. */
static void push(struct walk_fixture *x, const struct copies *c, unsigned index, __u32 instr_off)
{
	__u64 addr = fake_push(&x->stack, FAKE_THREAD, c->code_addr, instr_off);

	fake_put_u32(x->fake, addr + x->fake->offsets.frame.tlbc_index, index);
	if (index < COPIES)
		fake_put(x->fake, addr + x->fake->offsets.frame.instr_ptr,
			 c->addrs[index] + instr_off);
}

static void expect_unknown_leaf(struct walk_fixture *x)
{
	fake_expected(&x->stack, 0)->instr_off = FRAME_INSTR_UNKNOWN;
	walk_now(x);
	assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
}

static void an_offset_is_from_the_copy_that_the_thread_runs(void **state)
{
	struct walk_fixture *x = *state;

	for_each_nogil(v)
	{
		struct copies c;

		begin(x, v);
		fake_push_entry(&x->stack);
		for (unsigned index = 0; index < COPIES; index++) {
			c = make_copies(x->fake);
			push(x, &c, index, 10 + 2 * index);
		}
		/* The same code object while it changes copies (a generator). */
		push(x, &c, 0, 40);
		push(x, &c, 3, 510);
		walk_now(x);
		assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
	}
}

static void a_copy_that_is_not_there_is_no_line(void **state)
{
	struct walk_fixture *x = *state;

	for_each_nogil(v)
	{
		struct copies c;

		begin(x, v);
		fake_push_entry(&x->stack);
		c = make_copies(x->fake);
		push(x, &c, COPIES, 20);
		expect_unknown_leaf(x);
		push(x, &c, (unsigned)-1, 20);
		expect_unknown_leaf(x);
		push(x, &c, 2, 20);
		fake_put(x->fake, c.array_addr + 8 + 8 * 2, 0);
		expect_unknown_leaf(x);
		fake_put(x->fake, c.code_addr + x->fake->offsets.code.tlbc, 0);
		expect_unknown_leaf(x);
		fake_put(x->fake, c.code_addr + x->fake->offsets.code.tlbc, c.array_addr | 4);
		expect_unknown_leaf(x);
	}
}

static void a_fault_on_the_way_to_a_copy_costs_the_line_only(void **state)
{
	struct walk_fixture *x = *state;

	for_each_nogil(v)
	{
		struct copies c;
		__u64 at[3];

		begin(x, v);
		fake_push_entry(&x->stack);
		c = make_copies(x->fake);
		push(x, &c, 1, 20);
		fake_expected(&x->stack, 0)->instr_off = FRAME_INSTR_UNKNOWN;
		at[0] = c.code_addr + x->fake->offsets.code.tlbc;
		at[1] = c.array_addr;
		at[2] = c.array_addr + 16;
		for (int i = 0; i < 3; i++) {
			fake_heal(x->fake);
			fake_fault(x->fake, at[i], 8);
			host_walk(x->fake, x->tstate_addr, false, &x->result);
			assert_walk(&x->result, &x->stack, REASON_PYTHON, x->stack.cnt);
		}
		fake_heal(x->fake);
	}
}

/*
 * Between two stores of a generator that another thread resumes: the instruction is in another
 * copy.
 */
static void an_instruction_of_another_copy_is_not_mistaken(void **state)
{
	struct walk_fixture *x = *state;

	for_each_nogil(v)
	{
		struct copies c;

		begin(x, v);
		fake_push_entry(&x->stack);
		c = make_copies(x->fake);
		push(x, &c, 2, 20);
		fake_put_u32(x->fake, MEMBER(x, 0, tlbc_index), 3);
		expect_unknown_leaf(x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_is_from_the_copy_that_the_thread_runs),
		cmocka_unit_test(a_copy_that_is_not_there_is_no_line),
		cmocka_unit_test(a_fault_on_the_way_to_a_copy_costs_the_line_only),
		cmocka_unit_test(an_instruction_of_another_copy_is_not_mistaken),
	};

	return cmocka_run_group_tests_name("bpf/python/walk.h: free-threaded", tests,
					   walk_fixture_new, walk_fixture_free);
}
