/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk_opcodes.c - bpf/python/walk.h: the opcode of a frame, read at its instruction, and at the
 * place where 3.11 and 3.12 leave a caller's instruction pointer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <linux/types.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/python/fingerprint.h"
#include "bpf/read.h"
#include "bpf/python/thread.h"
#include "bpf/python/walk.h"
#include "support_bytes.h"

enum {
	IMAGE = 0x10000,
	SIZE = 8192,
	CODE = IMAGE + 0x400,
	START = 192,
	COPY = IMAGE + 0x1000,
	ARRAY = IMAGE + 0x1800
};

/* Opcodes of 3.12 (opcode_callers.h) and of 3.11. */
enum {
	LOAD_FAST = 124,
	CALL_12 = 171,
	CALL_PY_12 = 23,
	PROPERTY_12 = 77,
	GETITEM_12 = 20,
	CALL_11 = 171,
	GETITEM_11 = 19
};

static __u8 image[SIZE];

static struct bytes bytes = { IMAGE, image, SIZE };
static const struct memory memory = { read_bytes, &bytes };

#define FRAME_12                                                                                   \
	{                                                                                          \
		.previous = 8, .executable = 0, .instr_ptr = 56, .owner = 70,                      \
		.tlbc_index = PYOFF_ABSENT                                                         \
	}
static const struct py_offsets off_312 = { .flags = PYOFF_CFRAME,
					   .frame_kind = PY_FRAME_OWNER,
					   .frame = FRAME_12,
					   .code = { .code_adaptive = START } };
static const struct py_offsets off_311 = { .flags = PYOFF_CFRAME,
					   .frame_kind = PY_FRAME_IS_ENTRY,
					   .frame = FRAME_12,
					   .code = { .code_adaptive = START } };
static const struct py_offsets off_315 = { .frame_kind = PY_FRAME_OWNER,
					   .frame = FRAME_12,
					   .code = { .code_adaptive = START } };
static const struct py_offsets off_315t = { .flags = PYOFF_FREE_THREADED,
					    .frame_kind = PY_FRAME_OWNER,
					    .frame = { .instr_ptr = 56, .tlbc_index = 72 },
					    .code = { .code_adaptive = START, .tlbc = 16 } };
static const struct py_offsets off_310 = { .frame_kind = PY_FRAME_OBJECT,
					   .lasti_shift = 1,
					   .frame = { .instr_ptr = 96 },
					   .code = { .bytecode = 48 },
					   .bytes = { .ob_sval = 32 } };

static void put(__u64 addr, __u64 value)
{
	memcpy(image + (addr - IMAGE), &value, sizeof(value));
}

/* Writes opcodes at units of the code object's bytecode; -1 ends the list. */
static void put_code(__u64 bytecode_addr, const int (*units)[2])
{
	for (; (*units)[0] >= 0; units++)
		image[bytecode_addr - IMAGE + 2 * (unsigned)(*units)[0]] = (__u8)(*units)[1];
}
#define CODE_IS(addr, ...) put_code(addr, (const int[][2]){ __VA_ARGS__, { -1, 0 } })

static void begin(void)
{
	memset(image, 0, sizeof(image));
}

/*
 * Returns the walk's result for a frame whose instruction pointer is at that unit; below: a callee
 * in the same activation.
 */
static struct frame frame_at(const struct py_offsets *off, __u64 bytecode_addr, int unit,
			     bool below)
{
	struct walker w = { .memory = &memory };
	struct frame f = { 0 };
	__u64 instr = bytecode_addr + 2 * (__u64)unit;

	walk_begin(&w, 0, 0, 0);
	w.opcodes = 1;
	if (off->frame_kind == PY_FRAME_OBJECT)
		instr = (__u64)unit;
	memcpy(w.frame_window + off->frame.instr_ptr, &instr, sizeof(instr));
	w.frame_cnt = 1;
	w.last_owner = below ? OWNER_THREAD : OWNER_INTERPRETER;
	walk_python_frame(&w, off, OWNER_THREAD, IMAGE + 8, CODE, &f);
	return f;
}

static void assert_frame(struct frame f, int unit, int opcode)
{
	assert_int_equal(f.opcode, opcode);
	assert_int_equal(f.instr_off, 2 * unit);
}

static void it_is_the_one_at_the_instruction(void **state)
{
	begin();
	CODE_IS(CODE + START, { 0, 128 }, { 7, LOAD_FAST }, { 8, 200 });
	assert_frame(frame_at(&off_315, CODE + START, 7, false), 7, LOAD_FAST);
	assert_frame(frame_at(&off_315, CODE + START, 8, true), 8, 200);
	/* The page is not present. */
	assert_frame(frame_at(&off_315, CODE + START, SIZE / 2, true), SIZE / 2, 0);
	/* Before the code, and far beyond any code. */
	assert_int_equal(frame_at(&off_315, CODE + START, -3, false).opcode, 0);
	assert_int_equal(frame_at(&off_315, CODE + START, -3, false).instr_off,
			 FRAME_INSTR_UNKNOWN);
	assert_int_equal(frame_at(&off_315, CODE + START, FRAME_INSTR_LIMIT, false).instr_off,
			 FRAME_INSTR_UNKNOWN);
}

static void it_is_that_of_the_threads_own_copy(void **state)
{
	struct walker w = { .memory = &memory };
	struct frame f = { 0 };
	__u64 instr = COPY + 2 * 5;

	begin();
	CODE_IS(CODE + START, { 5, 91 });
	CODE_IS(COPY, { 5, 192 });
	put(CODE + 16, ARRAY);
	put(ARRAY, 2);
	put(ARRAY + 8, CODE + START);
	put(ARRAY + 16, COPY);
	walk_begin(&w, 0, 0, 0);
	w.opcodes = 1;
	memset(w.frame_window, 0, sizeof(w.frame_window));
	memcpy(w.frame_window + 56, &instr, sizeof(instr));
	w.frame_window[72] = 1;
	walk_python_frame(&w, &off_315t, OWNER_THREAD, IMAGE + 8, CODE, &f);
	assert_frame(f, 5, 192);
	w.opcodes = 0;
	walk_python_frame(&w, &off_315t, OWNER_THREAD, IMAGE + 8, CODE, &f);
	assert_frame(f, 5, 0);
}

static void old_bytecode_is_an_object_of_its_own(void **state)
{
	begin();
	put(CODE + 48, COPY);
	CODE_IS(COPY + 32, { 9, 116 });
	assert_frame(frame_at(&off_310, 0, 9, true), 9, 116);
	put(CODE + 48, 0);
	assert_frame(frame_at(&off_310, 0, 9, true), 9, 0);
}

/* Right after a call has returned, the leaf's pointer is still in the call's cache. */
static void a_leaf_to_which_a_call_has_returned(void **state)
{
	begin();
	CODE_IS(CODE + START, { 4, CALL_PY_12 });
	assert_frame(frame_at(&off_312, CODE + START, 7, false), 4, CALL_PY_12);
	begin();
	CODE_IS(CODE + START, { 3, CALL_11 });
	assert_frame(frame_at(&off_311, CODE + START, 7, false), 3, CALL_11);
	/* The cache could be an instruction: nobody can tell. */
	image[CODE + START - IMAGE + 14] = 1;
	assert_frame(frame_at(&off_311, CODE + START, 7, false), 7, 0);
}

static void a_caller_is_at_its_call_not_in_the_cache(void **state)
{
	begin();
	/*
	 * CALL with its three units of cache, a subscript, a property with its nine, a call of a
	 * function itself.
	 */
	CODE_IS(CODE + START, { 4, CALL_PY_12 }, { 10, GETITEM_12 }, { 20, PROPERTY_12 },
		{ 40, 142 });
	assert_frame(frame_at(&off_312, CODE + START, 7, true), 4, CALL_PY_12);
	assert_frame(frame_at(&off_312, CODE + START, 11, true), 10, GETITEM_12);
	assert_frame(frame_at(&off_312, CODE + START, 29, true), 20, PROPERTY_12);
	assert_frame(frame_at(&off_312, CODE + START, 40, true), 40, 142);
	/* A frame that called C, and the leaf, are at the instruction itself. */
	assert_frame(frame_at(&off_312, CODE + START, 4, false), 4, CALL_PY_12);
	begin();
	CODE_IS(CODE + START, { 4, CALL_11 }, { 12, GETITEM_11 });
	assert_frame(frame_at(&off_311, CODE + START, 8, true), 4, CALL_11);
	assert_frame(frame_at(&off_311, CODE + START, 16, true), 12, GETITEM_11);
}

static void what_could_be_two_is_not_known(void **state)
{
	begin();
	/* The property's cache looks like a call three units earlier. */
	CODE_IS(CODE + START, { 20, PROPERTY_12 }, { 26, CALL_12 });
	assert_frame(frame_at(&off_312, CODE + START, 29, true), 29, 0);
	/* A leaf after what looks like a call. */
	CODE_IS(CODE + START, { 60, CALL_12 }, { 63, LOAD_FAST });
	assert_frame(frame_at(&off_312, CODE + START, 63, false), 63, 0);
	/* The frame was entered before prev_instr was stored: only the instruction itself fits. */
	CODE_IS(CODE + START, { 80, CALL_12 });
	assert_frame(frame_at(&off_312, CODE + START, 80, true), 80, CALL_12);
	/* What precedes the code does not belong to it. */
	image[CODE + START - 2 * 2 - IMAGE] = CALL_12;
	assert_frame(frame_at(&off_312, CODE + START, 1, false), 1, 0);
	CODE_IS(CODE + START, { 1, LOAD_FAST });
	assert_frame(frame_at(&off_312, CODE + START, 1, false), 1, LOAD_FAST);
	assert_frame(frame_at(&off_312, CODE + START, 1, true), 1, 0);
}

static void a_frame_that_has_not_begun_has_none(void **state)
{
	begin();
	CODE_IS(CODE + START, { 0, LOAD_FAST });
	assert_int_equal(frame_at(&off_312, CODE + START, -1, false).instr_off, FRAME_INSTR_BEFORE);
	assert_int_equal(frame_at(&off_312, CODE + START, -1, false).opcode, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_one_at_the_instruction),
		cmocka_unit_test(it_is_that_of_the_threads_own_copy),
		cmocka_unit_test(old_bytecode_is_an_object_of_its_own),
		cmocka_unit_test(a_leaf_to_which_a_call_has_returned),
		cmocka_unit_test(a_caller_is_at_its_call_not_in_the_cache),
		cmocka_unit_test(what_could_be_two_is_not_known),
		cmocka_unit_test(a_frame_that_has_not_begun_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
