/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_greenlet_opcodes.c - bpf/python/greenlets.h: opcodes of a suspended greenlet's frames on 3.11 and
 * 3.12, where prev_instr is at an instruction that called C, and past one that entered a frame.
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
#include "bpf/python/asyncio_tasks.h"
#include "bpf/python/greenlets.h"
#include "support_bytes.h"

enum {
	IMAGE = 0x10000,
	SIZE = 8192,
	FRAMES = IMAGE + 0x100, /* 128 bytes each, the innermost first */
	OBJECTS = IMAGE + 0x800, /* their frame objects, with the same distance */
	CODES = IMAGE + 0x1000, /* their code objects, 1 KiB each */
	START = 192,
	ENTRY = IMAGE + 0x700, /* a frame that greenlet has unlinked */
	IS_ENTRY = 68,
};

/* Opcodes of 3.12 and 3.11 (opcode_callers.h). */
enum {
	POP_TOP = 1,
	LOAD_FAST = 124,
	CALL = 171,
	CALL_PY = 23,
	CALL_METHOD_O = 46,
	FUNCTION_EX = 142
};

static __u8 image[SIZE];

static struct bytes bytes = { IMAGE, image, SIZE };
static const struct memory memory = { read_bytes, &bytes };
static const struct py_offsets off_312 = { .version = 0x030c01f0,
					   .flags = PYOFF_CFRAME,
					   .frame_kind = PY_FRAME_OWNER,
					   .frame = { .previous = 8,
						      .executable = 0,
						      .instr_ptr = 56,
						      .owner = 70,
						      .tlbc_index = PYOFF_ABSENT },
					   .code = { .code_adaptive = START } };
static const struct py_offsets off_311 = { .version = 0x030b07f0,
					   .flags = PYOFF_CFRAME,
					   .frame_kind = PY_FRAME_IS_ENTRY,
					   .frame = { .previous = 48,
						      .executable = 32,
						      .instr_ptr = 56,
						      .is_entry = IS_ENTRY,
						      .owner = 69,
						      .tlbc_index = PYOFF_ABSENT },
					   .code = { .code_adaptive = START } };

static void put(__u64 addr, __u64 value)
{
	memcpy(image + (addr - IMAGE), &value, sizeof(value));
}

static __u64 frame_at(unsigned i)
{
	return FRAMES + 128ULL * i;
}

static __u64 code_at(unsigned i)
{
	return CODES + 1024ULL * i;
}

/* Writes frame i with its prev_instr at that unit; by_c: its caller, i + 1, called it through C. */
static void put_frame(const struct py_offsets *off, unsigned i, int unit, bool by_c, bool last)
{
	__u64 frame = frame_at(i), object = OBJECTS + 128ULL * i,
	      caller = last ? 0 : frame_at(i + 1);

	put(frame + (__u64)off->frame.executable, code_at(i));
	put(frame + (__u64)off->frame.previous, caller);
	put(frame + (__u64)off->frame.instr_ptr, code_at(i) + START + 2 * (__u64)unit);
	if (off->frame_kind == PY_FRAME_IS_ENTRY) {
		image[frame + IS_ENTRY - IMAGE] = by_c;
		return;
	}
	put(frame + 48, object);
	put(object + PYOFF_FRAME_OBJECT_FRAME(off), frame);
	put(object + PYOFF_FRAME_OBJECT_DATA(off), by_c ? ENTRY : caller);
}

static void put_unit(unsigned i, int unit, __u8 opcode)
{
	image[code_at(i) + START + 2 * (__u64)unit - IMAGE] = opcode;
}

/* The frames as a walk of that many produces them. */
static void walk(const struct py_offsets *off, struct frame *ret, unsigned cnt)
{
	struct walker w = { .memory = &memory };
	struct greenlet_walk g = { .frame_addr = frame_at(0), .prev = PREV_AT };

	walk_begin(&w, 0, 0, 0);
	w.opcodes = 1;
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(greenlet_visit(&g, &w, off, &ret[i]), 0);
	assert_int_equal(g.note, 0);
	assert_int_equal(g.cnt, cnt);
}

static void assert_opcode(const struct frame *f, int unit, int opcode)
{
	assert_int_equal(f->opcode, opcode);
	assert_int_equal(f->instr_off, 2 * unit);
}

/*
 * The innermost frame is at a call of a C method. It was entered by a CALL of the second frame,
 * which C entered from the third frame, whose instruction follows something that looks like a
 * call's inline cache.
 */
static void each_frame_is_where_its_callee_says(void **state)
{
	static const struct py_offsets *const versions[] = { &off_312, &off_311 };

	for (int v = 0; v < 2; v++) {
		const int caches = v ? 4 : 3;
		struct frame f[3];

		memset(image, 0, sizeof(image));
		put_frame(versions[v], 0, 20, false, false);
		put_unit(0, 20, CALL_METHOD_O);
		put_frame(versions[v], 1, 10 + caches, true, false);
		put_unit(1, 10, CALL_PY);
		put_unit(1, 10 + caches, POP_TOP); /* cache */
		put_frame(versions[v], 2, 30, false, true);
		put_unit(2, 30, CALL);
		put_unit(2, 30 - caches, CALL);
		walk(versions[v], f, 3);
		assert_opcode(&f[0], 20, CALL_METHOD_O);
		assert_opcode(&f[1], 10, CALL_PY);
		assert_opcode(&f[2], 30, CALL);
	}
}

/* A call without a cache has entered a frame: prev_instr points at the call. */
static void a_call_without_data_behind_it(void **state)
{
	struct frame f[2];

	memset(image, 0, sizeof(image));
	put_frame(&off_312, 0, 20, false, false);
	put_unit(0, 20, CALL_METHOD_O);
	put_frame(&off_312, 1, 12, false, true);
	put_unit(1, 12, FUNCTION_EX);
	walk(&off_312, f, 2);
	assert_opcode(&f[1], 12, FUNCTION_EX);
}

/*
 * The cache of a call that the interpreter can unwind from, while C runs for it, looks like an
 * instruction. greenlet keeps nothing of the frame, so nothing is known about its caller.
 */
static void what_may_be_two_is_not_known(void **state)
{
	struct frame f[2];

	memset(image, 0, sizeof(image));
	put_frame(&off_312, 0, 13, false, false);
	put_unit(0, 10, CALL);
	put_unit(0, 13, POP_TOP);
	put_frame(&off_312, 1, 30, false, true);
	put_unit(1, 30, CALL);
	walk(&off_312, f, 2);
	assert_opcode(&f[0], 13, 0);
	/* Entered, so the call is not at prev_instr, and none precedes it. */
	assert_opcode(&f[1], 30, 0);
	memset(image, 0, sizeof(image));
	put_frame(&off_312, 0, 20, true, false);
	put_unit(0, 20, CALL_METHOD_O);
	put(frame_at(0) + 48, 0);
	put_frame(&off_312, 1, 30, false, true);
	put_unit(1, 30, CALL);
	walk(&off_312, f, 2);
	assert_opcode(&f[0], 20, CALL_METHOD_O);
	assert_opcode(&f[1], 30, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_frame_is_where_its_callee_says),
		cmocka_unit_test(a_call_without_data_behind_it),
		cmocka_unit_test(what_may_be_two_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
