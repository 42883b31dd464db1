/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_state_facts.c - results of bpf/python/exception.h and bpf/python/nogil.h for a thread state laid out as in
 * each version's headers, in memory with any content.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/read.h"
#include "bpf/python/gil.h"
#include "bpf/python/exception.h"
#include "bpf/python/nogil.h"
#include "support_bytes.h"
#include "python/walk/wait_walk.h"

/* Addresses in the fake process. */
#define BASE 0x10000
#define TSTATE (BASE + 0x100)
#define GENERATOR_ITEM (BASE + 0x400)
#define THREAD_ITEM (BASE + 0x440)
#define SECTION (BASE + 0x480)
#define EXCEPTION (BASE + 0x500)
#define NONE (BASE + 0x540)
#define EXCEPTION_TYPE (BASE + 0x600)
#define NONE_TYPE (BASE + 0x800)
#define CLASS_TYPE (BASE + 0xa00)

static __u8 image[0x1000];

int krait_host_read(void *dst, __u32 size, __u64 addr)
{
	return -EFAULT;
}

static struct bytes fake = { BASE, image, sizeof(image) };
static const struct memory memory = { read_bytes, &fake };
static const struct gil reader = { .memory = &memory };

static void put(__u64 addr, __u64 value)
{
	memcpy(image + (addr - BASE), &value, sizeof(value));
}

static struct py_offsets layout(__u32 version)
{
	struct py_offsets off = {
		.version = version,
		.thread = { .thread_id = 152, .native_thread_id = 160, .status = 32 },
		.object = { .ob_type = 8, .tp_name = 24 }
	};

	memset(image, 0, sizeof(image));
	put(EXCEPTION + 8, EXCEPTION_TYPE);
	put(NONE + 8, NONE_TYPE);
	put(EXCEPTION_TYPE + 8, CLASS_TYPE);
	put(EXCEPTION_TYPE + 168, 1UL << 30);
	put(CLASS_TYPE + 168, 1UL << 31);
	put(TSTATE + 120, GENERATOR_ITEM);
	put(GENERATOR_ITEM + (version >= 0x030b0000 ? 8 : 24), THREAD_ITEM);
	return off;
}

static void a_handler_is_found_behind_generators(void **state)
{
	static const __u32 versions[] = { 0x03080000, 0x030a0000, 0x030b0000, 0x030c0000,
					  0x030f0000 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct py_offsets off = layout(versions[i]);
		/* Up to 3.10 the class comes first. */
		__u64 handled = versions[i] >= 0x030b0000 ? EXCEPTION : EXCEPTION_TYPE;

		assert_false(has_exception(&reader, &off, TSTATE));
		put(GENERATOR_ITEM, NONE);
		put(THREAD_ITEM, NONE);
		assert_false(has_exception(&reader, &off, TSTATE));
		put(THREAD_ITEM, handled);
		assert_true(has_exception(&reader, &off, TSTATE));
		put(THREAD_ITEM, 0);
		put(GENERATOR_ITEM, handled);
		assert_true(has_exception(&reader, &off, TSTATE));
	}
}

static void one_on_its_way_counts(void **state)
{
	static const struct {
		__u32 version;
		__u64 at;
	} cases[] = { { 0x030a0000, 64 }, { 0x030b0000, 96 }, { 0x030d0000, 112 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct py_offsets off = layout(cases[i].version);

		put(TSTATE + cases[i].at, EXCEPTION);
		assert_true(has_exception(&reader, &off, TSTATE));
	}
}

static void nonsense_is_no_exception(void **state)
{
	struct py_offsets off = layout(0x030d0000);

	assert_false(has_exception(&reader, &off, 0));
	assert_false(has_exception(&reader, &off, 0xdead0000));
	/* A circle, and a chain to an unreadable address. */
	put(GENERATOR_ITEM + 8, GENERATOR_ITEM);
	assert_false(has_exception(&reader, &off, TSTATE));
	put(GENERATOR_ITEM + 8, 0xdead0000);
	assert_false(has_exception(&reader, &off, TSTATE));
	put(GENERATOR_ITEM, 0xdead0000);
	assert_false(has_exception(&reader, &off, TSTATE));
}

static void put_state(const struct py_offsets *off, __u32 value)
{
	memcpy(image + (TSTATE - BASE) + NOGIL_STATE(off), &value, sizeof(value));
}

static void a_stopped_world_is_told_by_the_thread_state(void **state)
{
	static const struct {
		__u32 version;
		__s32 at;
	} cases[] = { { 0x030d0000, 40 }, { 0x030e0000, 44 }, { 0x030f0000, 48 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct py_offsets off = layout(cases[i].version);

		assert_int_equal(NOGIL_STATE(&off), cases[i].at);
		put_state(&off, 2);
		assert_int_equal(nogil_wait(&reader, &off, TSTATE), 0); /* there is a GIL */
		off.flags = PYOFF_FREE_THREADED;
		assert_int_equal(nogil_wait(&reader, &off, TSTATE), WAIT_WORLD);
		put_state(&off, 0);
		assert_int_equal(nogil_wait(&reader, &off, TSTATE), 0);
	}
}

/* Also for a thread that was just told to continue. */
static void a_stopped_world_is_told_by_what_the_thread_slept_on(void **state)
{
	struct py_offsets off = layout(0x030d0000);
	__u64 state_addr = TSTATE + NOGIL_STATE(&off);

	put(GENERATOR_ITEM, state_addr);
	assert_true(nogil_is_parked(&reader, state_addr, GENERATOR_ITEM + 8));
	/* It slept on something else: on no futex, or on one that is not a free-threaded thread's. */
	put(GENERATOR_ITEM, state_addr + 4);
	assert_false(nogil_is_parked(&reader, state_addr, GENERATOR_ITEM + 8));
	put(GENERATOR_ITEM, 0);
	assert_false(nogil_is_parked(&reader, 0, GENERATOR_ITEM + 8));
	assert_false(nogil_is_parked(&reader, state_addr, 0));
	assert_false(nogil_is_parked(&reader, state_addr, 0xdead0000));
}

static void a_section_without_its_mutex_is_waited_for(void **state)
{
	struct py_offsets off = layout(0x030e0000);

	off.flags = PYOFF_FREE_THREADED;
	for (__u64 tags = 0; tags < 4; tags++) {
		put(TSTATE + 176, SECTION | tags);
		put(SECTION + 8, 0);
		assert_int_equal(nogil_wait(&reader, &off, TSTATE), WAIT_SECTION);
		put(SECTION + 8, EXCEPTION);
		assert_int_equal(nogil_wait(&reader, &off, TSTATE), 0);
	}
	put(TSTATE + 176, 0xdead0000);
	assert_int_equal(nogil_wait(&reader, &off, TSTATE), 0);
	assert_int_equal(nogil_wait(&reader, &off, 0), 0);
	assert_int_equal(nogil_wait(&reader, &off, 0xdead0000), 0);
}

/* Likewise for a suspended thread, from the futex that it sleeps on. */
static void what_a_resting_thread_waits_for_is_told_from_outside(void **state)
{
	struct py_offsets off = layout(0x030e0000);
	const struct wait_walk x = { .memory = &memory, .offsets = &off, .tstate_addr = TSTATE };
	struct wait_facts w = { .syscall = 202, .args = { GENERATOR_ITEM + 8 } };

	put(GENERATOR_ITEM, TSTATE + NOGIL_STATE(&off));
	assert_int_equal(wait_walk_flags(&x, &w), 0); /* there is a GIL */
	off.flags = PYOFF_FREE_THREADED;
	assert_int_equal(wait_walk_flags(&x, &w), WAIT_WORLD);
	/* It is in no system call. */
	w.syscall = -1;
	assert_int_equal(wait_walk_flags(&x, &w), 0);
	w.syscall = 202;
	/* Suspended, and asleep on another lock, possibly an object's. */
	put_state(&off, NOGIL_SUSPENDED);
	w.args[0] = THREAD_ITEM + 8;
	assert_int_equal(wait_walk_flags(&x, &w), 0);
	put(TSTATE + 176, SECTION);
	put(SECTION + 8, 0);
	assert_int_equal(wait_walk_flags(&x, &w), WAIT_SECTION);
}

static void the_gil_is_what_holds_the_futex(void **state)
{
	struct py_offsets off = layout(0x030d0000);
	const struct wait_walk x = {
		.memory = &memory, .offsets = &off, .interp_addr = EXCEPTION, .tstate_addr = TSTATE
	};
	struct wait_facts w = { .syscall = 202 };

	off.runtime.gil = PYOFF_ABSENT;
	off.interp.gil = 16;
	put(EXCEPTION + 16, CLASS_TYPE);
	w.args[0] = CLASS_TYPE + 100;
	assert_int_equal(wait_walk_flags(&x, &w), WAIT_GIL);
	w.args[0] = CLASS_TYPE + (__u64)PYOFF_GIL_SIZE(&off);
	assert_int_equal(wait_walk_flags(&x, &w), 0);
	w.args[0] = CLASS_TYPE - 1;
	assert_int_equal(wait_walk_flags(&x, &w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_is_found_behind_generators),
		cmocka_unit_test(one_on_its_way_counts),
		cmocka_unit_test(nonsense_is_no_exception),
		cmocka_unit_test(a_stopped_world_is_told_by_the_thread_state),
		cmocka_unit_test(a_stopped_world_is_told_by_what_the_thread_slept_on),
		cmocka_unit_test(a_section_without_its_mutex_is_waited_for),
		cmocka_unit_test(what_a_resting_thread_waits_for_is_told_from_outside),
		cmocka_unit_test(the_gil_is_what_holds_the_futex),
	};

	return cmocka_run_group_tests_name("bpf/exception, bpf/nogil", tests, NULL, NULL);
}
