/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_native.c - the frame pointer unwinder over a stack made of words, with a fault at every read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

#include <linux/types.h>

#include "abi.h"
#include "read.h"
#include "native.h"

#define BASE 0x7ffc00000000ULL
#define WORDS 4096

static __u64 stack[WORDS];
static int reads, fail_at; /* the n-th read fails; 0 none */

/* What the headers read with on the host. */
int krait_host_read(void *dst, __u32 size, __u64 addr)
{
	if (++reads == fail_at || addr < BASE || addr > BASE + sizeof(stack) - size)
		return -EFAULT;
	memcpy(dst, (char *)stack + (addr - BASE), size);
	return 0;
}

struct result {
	__u32 cnt, reason;
	struct native_frame frames[KRAIT_MAX_NATIVE + 1];
};

static struct result walk(__u64 ip, __u64 sp, __u64 fp)
{
	struct native_regs regs = { ip, sp, fp };
	struct native_walk w;
	struct result r = { 0 };

	reads = 0;
	r.frames[KRAIT_MAX_NATIVE].ip = 0x5a5a;
	native_begin(&w, &regs);
	for (int i = 0; i < KRAIT_MAX_NATIVE; i++) {
		if (native_step(&w, &r.frames[i]))
			break;
	}
	r.cnt = w.cnt;
	r.reason = w.reason;
	assert_int_equal(r.frames[KRAIT_MAX_NATIVE].ip, 0x5a5a);
	return r;
}

static __u64 at(unsigned word)
{
	return BASE + word * sizeof(__u64);
}

/* A frame every four words, the first at word 4; the outermost has 0 for its caller's. */
static void build(unsigned depth)
{
	memset(stack, 0, sizeof(stack));
	for (unsigned i = 1; i <= depth; i++) {
		stack[i * 4] = i < depth ? at((i + 1) * 4) : 0;
		stack[i * 4 + 1] = 0x1000 + i;
	}
	fail_at = 0;
}

static void a_chain_is_followed_to_its_end(void **state)
{
	struct result r;

	build(5);
	r = walk(0x1000, at(2), at(4));
	assert_int_equal(r.reason, NATIVE_COMPLETE);
	assert_int_equal(r.cnt, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(r.frames[i].ip, 0x1000 + i);
		assert_int_equal(r.frames[i].frame_addr, i < 5 ? at((i + 1) * 4) : 0);
	}
}

static void a_return_address_of_zero_is_an_end(void **state)
{
	struct result r;

	build(5);
	stack[3 * 4 + 1] = 0;
	r = walk(0x1000, at(2), at(4));
	assert_int_equal(r.reason, NATIVE_COMPLETE);
	assert_int_equal(r.cnt, 3);
}

static void a_leaf_without_a_frame_pointer_is_all_there_is(void **state)
{
	const __u64 bad[] = { 0, 1, at(1), at(4) + 4, at(2) + NATIVE_MAX_SPAN, ~0ULL, ~7ULL };
	struct result r;

	build(5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = walk(0x1000, at(2), bad[i]);
		assert_int_equal(r.reason, NATIVE_NO_FRAME_POINTER);
		assert_int_equal(r.cnt, 1);
		assert_int_equal(r.frames[0].ip, 0x1000);
		assert_int_equal(r.frames[0].frame_addr, 0);
		assert_int_equal(reads, 0);
	}
}

static void addresses_only_grow(void **state)
{
	struct result r;

	for (unsigned target = 1; target <= 3; target++) {
		build(5);
		stack[3 * 4] = at(target * 4); /* back to one below, or to itself */
		r = walk(0x1000, at(2), at(4));
		assert_int_equal(r.reason, NATIVE_NO_FRAME_POINTER);
		assert_int_equal(r.cnt, 4);
		assert_int_equal(r.frames[3].frame_addr, 0);
	}
	/* Frames that overlap. */
	build(5);
	stack[4] = at(5);
	r = walk(0x1000, at(2), at(4));
	assert_int_equal(r.reason, NATIVE_NO_FRAME_POINTER);
	assert_int_equal(r.cnt, 2);
}

static void a_fault_anywhere_keeps_the_leaf_side(void **state)
{
	for (int n = 1; n <= 5; n++) {
		struct result r;

		build(5);
		fail_at = n;
		r = walk(0x1000, at(2), at(4));
		assert_int_equal(r.reason, NATIVE_FAULT);
		assert_int_equal(r.cnt, n);
		for (int i = 0; i < n; i++) {
			assert_int_equal(r.frames[i].ip, 0x1000 + i);
			assert_int_equal(r.frames[i].frame_addr, i < n - 1 ? at((i + 1) * 4) : 0);
		}
	}
	fail_at = 0;
}

static void depth_is_limited(void **state)
{
	struct result r;

	build(KRAIT_MAX_NATIVE - 1);
	r = walk(0x1000, at(2), at(4));
	assert_int_equal(r.reason, NATIVE_COMPLETE);
	assert_int_equal(r.cnt, KRAIT_MAX_NATIVE);
	build(KRAIT_MAX_NATIVE + 20);
	r = walk(0x1000, at(2), at(4));
	assert_int_equal(r.reason, NATIVE_LIMIT);
	assert_int_equal(r.cnt, KRAIT_MAX_NATIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_followed_to_its_end),
		cmocka_unit_test(a_return_address_of_zero_is_an_end),
		cmocka_unit_test(a_leaf_without_a_frame_pointer_is_all_there_is),
		cmocka_unit_test(addresses_only_grow),
		cmocka_unit_test(a_fault_anywhere_keeps_the_leaf_side),
		cmocka_unit_test(depth_is_limited),
	};

	return cmocka_run_group_tests_name("bpf/native", tests, NULL, NULL);
}
