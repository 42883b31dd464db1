/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_join_stacks.c - native frames not on one contiguous stack: signals and fibres, greenlets,
 * and code whose caller is a guess or unknown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support_drawing.h"

/*
 * Signals lead to other stacks, below or above; what a fibre has called there is below its stack's
 * end.
 */
static void other_stacks(void **state)
{
	static const struct drawing d[] = {
		{ "a handler on a stack below", "E5 E200035 m E1000 m",
		  "x900 i1010 x1020 c200000 i200040 c0", "2 c3 x2 4 x0" },
		{ "a handler on a stack above", "E5 E1000 m E200035 m",
		  "x200010 i200040 x200050 c990 i1010 c0", "2 c3 x2 4 x0" },
		{ "another stack between them", "E5 E200035 m E100000 m E1000 m",
		  "i1010 x1020 c200000 i200040 c0", "2 4 ! c2 x1 6", NULL, 0, false, true },
		{ "a fibre", "E5 E200035 m E1000 m", "x900 i1010 x1020 c1030", "2 ! x2 4 x0", NULL,
		  0, false, true },
		{ "a fibre above", "E5 E1000 m E200035 m", "i200040 x200050 c200060", "2 ! x1 4",
		  NULL, 0, false, true },
		{ "a fibre without Python above", "E5 E1000 m", "x200040 x200050 c200060",
		  "2 ! x1 x0", NULL, 0, false, true },
		{ "the handler of a handler", "E5 E300005 m E1000 m E200035 m",
		  "i200040 x200050 c990 i1010 x1020 c300000 i300010 c0", "2 c5 x4 4 c2 x1 6" },
	};

	CHECK(d);
}

/* A frame pointer led to a caller, but nothing proves it. */
static void guessed_callers(void **state)
{
	static const struct drawing d[] = {
		{ "of the leaf", "E5 E35 m", "x10~ x20 i40 c0", "2 x1 ! x0", "c3 i2 2 x1 ! x0", 0,
		  false, true },
		{ "of two", "E5 E35 m", "x10~ x20~ x25 i40 c0", "2 x2 ! x1 x0", NULL, 0, false,
		  true },
		{ "past an eval loop", FIVE_PYTHON,
		  "x25~ x30 i40 i45 x50 i60 x65 x70 i80 x90 i100 c0",
		  "2 x9 4 5 x7 x6 7 x4 9 x1 11 12 ! x0", NULL, 0, false, true },
		{ "past two of them", FIVE_PYTHON, "x45~ x50 i60 x65 x70 i80 x90 i100 c0",
		  "2 x6 4 5 x4 x3 7 x1 9 11 12 ! x0", NULL, 0, false, true },
		{ "in the interpreter", "E5 E35 m", "i40~ i50 c0", "2 !", "c2 i1 2 ! i0", 0, false,
		  true },
		{ "on both sides of a frame that is left out", "E5 E35 m", "x10~ i20 i28~ i40 c0",
		  "2 ! x0", "c4 i3 2 ! i2 i1 ! x0", 0, false, true },
		{ "at the root", "E5 E35 m", "i40 x50~ c60 c0", "! x1 2", NULL, 0, false, true },
	};

	CHECK(d);
}

/* JIT code without a frame pointer: registers say that it runs the leaf frame. */
static void jit_code(void **state)
{
	static const struct drawing d[] = {
		{ .what = "at the leaf",
		  .python = "E5 E35 m",
		  .native = "i-",
		  .result = "2",
		  .broken = true,
		  .evaluator = 1,
		  .incomplete = true },
		{ .what = "below others",
		  .python = "E5 E35 m",
		  .native = "c10 i20 i-",
		  .result = "2 c0",
		  .broken = true,
		  .evaluator = 3,
		  .incomplete = true },
		{ .what = "with activations below",
		  .python = "E5 E95 m E35 mm",
		  .native = "c10 i-",
		  .result = "2 / 4 5 c0",
		  .broken = true,
		  .evaluator = 2,
		  .incomplete = true },
		{ .what = "below an activation",
		  .python = "E5 E95 m E35 m",
		  .native = "i40 x50 i-",
		  .result = "2 / x1 4",
		  .broken = true,
		  .evaluator = 3,
		  .incomplete = true },
		{ .what = "with a frame pointer",
		  .python = "E5 E35 m",
		  .native = "i20 i40 c0",
		  .result = "2",
		  .evaluator = 1 },
	};

	CHECK(d);
}

/*
 * greenlet: everything below the running one belongs to another; while it switches, everything
 * there does.
 */
static void greenlets(void **state)
{
	static const struct drawing d[] = {
		{ "in Python", "E35 mm", "i40 g50 g60 i70 x80 i90 c0", "1 2", "i0 1 2" },
		{ "in C", "E35 m", "x20 i40 i45 g50 x80 i90 c0", "1 x0", "i2 i1 1 x0" },
		{ "whatever lies below", "E35 m", "i40 g50 x-", "1", NULL, 0, true },
		{ "the package's own code below it", "E35 m", "i40 x45 g50 x-", "x1 1", NULL, 0,
		  true },
		{ "it switches", "E35 m", "g10 g20 i40 i50 c0", "1 ! g1 g0", NULL, 0, false, true },
		{ "it copies", "E35 m", "c5 g10 g20 x30 i40 c0", "1 ! g2 g1 c0", NULL, 0, false,
		  true },
		{ "it begins", "", "g10 g20 x30 c0", "! g1 g0", NULL, 0, false, true },
		{ "the main one", "E5 E95 m", "i80 x90 i100 c0", "2 x1" },
	};

	CHECK(d);
}

/* The chain says that it belongs to the greenlet that owns the C stack. */
static void greenlets_on_their_own_stack(void **state)
{
	static const struct drawing d[] = {
		{ .what = "it is about to switch",
		  .python = "E35 m",
		  .native = "g10 g20 i30 i40 g50 x80 c0",
		  .result = "1 g1 g0",
		  .with_interpreter = "i3 1 i2 g1 g0",
		  .chain = JOIN_CHAIN_OWN },
		{ .what = "the main one, called by C that Python has called",
		  .python = "E5 E95 m E35 m",
		  .native = "c5 g10 i40 x50 x60 i100 c0",
		  .result = "2 x4 x3 4 g1 c0",
		  .chain = JOIN_CHAIN_OWN },
		{ .what = "an extension has called it",
		  .python = "E35 m",
		  .native = "g10 x20 i40 g50 c0",
		  .result = "1 x1 g0",
		  .chain = JOIN_CHAIN_OWN },
		{ .what = "one that is nowhere",
		  .python = "E95 m E35 m",
		  .native = "g10 i40 c50",
		  .result = "1 ! 3 g0",
		  .incomplete = true,
		  .chain = JOIN_CHAIN_OWN },
	};

	CHECK(d);
}

/*
 * While C stacks are being exchanged, entry frames distinguish the remains of the old one from the
 * new.
 */
static void greenlets_that_are_being_switched(void **state)
{
	static const struct drawing d[] = {
		{ .what = "nothing is overwritten",
		  .python = "E95 m E35 m",
		  .native = "c5 g10 i40 x50 i100 g110 x120 c0",
		  .result = "1 x3 3 g1 c0",
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "the main one, to its end",
		  .python = "E95 m E35 m",
		  .native = "c5 g10 i40 x50 i100 x110 c0",
		  .result = "x5 1 x3 3 g1 c0",
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "the other's are there, above those of the main one",
		  .python = "E95 m E75 m",
		  .native = "g10 i20 x30 i40 g50 i80 x90 i100 x110 c0",
		  .result = "x8 1 x6 3 g0",
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "its own are overwritten",
		  .python = "G35 m",
		  .native = "g10 i40 x50 i60 g70 c0",
		  .result = "1 g0",
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "its own lie where the C stack is no more",
		  .python = "E5 m",
		  .native = "g10 i40 x50 i60 g70 c0",
		  .result = "1 g0",
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "C between its own is overwritten",
		  .python = "E95 m G35 m",
		  .native = "g10 i40 g50 x70 i100 g110 c0",
		  .result = "1 x3 ! 3 g0",
		  .incomplete = true,
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "its root cannot be told from the other's",
		  .python = "E95 m",
		  .native = "g10 i40 x50",
		  .result = "! 1 g0",
		  .incomplete = true,
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "an extension has called one of the two",
		  .python = "G35 m",
		  .native = "g10 x20 i40 g50 c0",
		  .result = "1 ! g0",
		  .incomplete = true,
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "greenlet's own caller is not copied yet",
		  .python = "G35 m",
		  .native = "c5 g10",
		  .result = "1 ! g1 c0",
		  .broken = true,
		  .incomplete = true,
		  .chain = JOIN_CHAIN_SWITCHING },
		{ .what = "no greenlet at all",
		  .python = "E35 m",
		  .native = "x20 i40 c0",
		  .result = "1 x0",
		  .chain = JOIN_CHAIN_SWITCHING },
	};

	CHECK(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_stacks),
		cmocka_unit_test(guessed_callers),
		cmocka_unit_test(greenlets),
		cmocka_unit_test(greenlets_on_their_own_stack),
		cmocka_unit_test(greenlets_that_are_being_switched),
		cmocka_unit_test(jit_code),
	};

	return cmocka_run_group_tests_name("record/stack/join", tests, NULL, NULL);
}
