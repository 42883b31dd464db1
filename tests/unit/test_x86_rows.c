/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_x86_rows.c - unwind rows from reading code equal those of .eh_frame, or do not exist.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "native/rows/code_rows.h"
#include "native/rows/row_table.h"
#include "support_row_table.h"

#ifdef __x86_64__

static struct row_table rows_of(const void *code, __u64 size)
{
	struct row_table t = { 0 };

	code_rows(code, size, 0x1000, &t);
	assert_int_equal(row_table_end(&t), 0);
	assert_true(row_table_is_in_order(&t));
	return t;
}

/* Returns the CFA's distance from rsp at an offset of the code; 0: no row. */
static int depth_at(const struct row_table *t, __u64 at)
{
	const struct unwind_rule *rule = row_table_find(t, 0x1000 + at);

	return rule ? rule->off : 0;
}

/*
 * Like a trace of 3.14's JIT: it begins right after its caller's code, wherever that ends, and
 * changes rbx.
 */
#define TRACE                                                                                      \
	0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53, /* push %r15 ... %rbx */             \
		0xe8, 0x0a, 0, 0, 0, /* call 24 */                                                 \
		0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3, /* pop ...; ret */     \
		0x48, 0x89, 0xc3, /* 24: mov %rax, %rbx */                                         \
		0x85, 0xdb, /* test %ebx, %ebx */                                                  \
		0x74, 0x04, /* je 35 */                                                            \
		0x50, /* push %rax */                                                              \
		0x31, 0xdb, /* xor %ebx, %ebx */                                                   \
		0x58, /* pop %rax */                                                               \
		0x85, 0xc0, /* 35: test %eax, %eax */                                              \
		0x75, 0xf1, /* jne 24 */                                                           \
		0xc3

static void assert_trace(const struct row_table *t, __u64 at)
{
	assert_int_equal(depth_at(t, at), 8);
	assert_int_equal(depth_at(t, at + 9), 48);
	assert_int_equal(depth_at(t, at + 24), 8);
	assert_int_equal(depth_at(t, at + 32), 16);
	assert_int_equal(depth_at(t, at + 35), 8);
	assert_int_equal(row_table_find(t, 0x1000 + at + 35)->fp, UNWIND_FP_SAME);
}

static void a_trace_is_followed_behind_the_function_that_calls_it(void **state)
{
	static const __u8 trace[] = { TRACE };
	/* After a trace comes data, which is no code; the next trace begins on a page. */
	static __u8 two[4096 + sizeof(trace)];
	struct row_table t = rows_of(trace, sizeof(trace));

	assert_trace(&t, 0);
	row_table_free(&t);
	memset(two, 0x06, sizeof(two));
	memcpy(two, trace, sizeof(trace));
	memcpy(two + 4096, trace, sizeof(trace));
	two[4095] = 0x48; /* the prefix of what comes next */
	t = rows_of(two, sizeof(two));
	assert_trace(&t, 0);
	assert_int_equal(depth_at(&t, 4000), 0);
	assert_trace(&t, 4096);
	row_table_free(&t);
	/* Code there that begins differently may be in the middle of something. */
	two[4096] = 0x40;
	t = rows_of(two, sizeof(two));
	assert_int_equal(depth_at(&t, 4096 + 9), 0);
	row_table_free(&t);
}

static void a_function_is_followed_along_its_branches(void **state)
{
	static const __u8 code[] = {
		0x55, /* push %rbp */
		0x48, 0x83, 0xec, 0x10, /* sub $16, %rsp */
		0x85, 0xff, /* test %edi, %edi */
		0x74, 0x06, /* je 15 */
		0x48, 0x83, 0xc4, 0x10, /* add $16, %rsp */
		0x5d, 0xc3, /* pop %rbp; ret */
		0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3, /* 15: the same */
	};
	struct row_table t = rows_of(code, sizeof(code));

	assert_int_equal(depth_at(&t, 0), 8);
	assert_int_equal(depth_at(&t, 1), 16);
	assert_int_equal(row_table_find(&t, 0x1001)->fp, UNWIND_FP_CFA);
	assert_int_equal(row_table_find(&t, 0x1001)->fp_off, -16);
	assert_int_equal(depth_at(&t, 5), 32);
	assert_int_equal(depth_at(&t, 13), 16);
	assert_int_equal(depth_at(&t, 14), 8);
	assert_int_equal(depth_at(&t, 15), 32);
	assert_int_equal(depth_at(&t, 20), 8);
	assert_int_equal(depth_at(&t, sizeof(code)), 0);
	row_table_free(&t);
}

/* _Fork() and _exit() of glibc 2.41, shortened. */
static void what_follows_a_call_at_once_may_be_another_function(void **state)
{
	static const __u8 code[] = {
		0x53, /* push %rbx */
		0x85, 0xff, /* test %edi, %edi */
		0x75, 0x02, /* jne 7 */
		0x5b, 0xc3, /* pop %rbx; ret */
		0x90, 0x90, 0x90, 0x90, /* 7: nop */
		0xe8, 0x00, 0x10, 0x00, 0x00, /* call elsewhere */
		0x31, 0xc0, 0xc3, /* 16: xor %eax, %eax; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	assert_int_equal(depth_at(&t, 1), 16);
	assert_int_equal(depth_at(&t, 11), 16);
	assert_int_equal(depth_at(&t, 16), 8);
	row_table_free(&t);
}

static void a_stub_has_a_row(void **state)
{
	static const __u8 code[] = { 0xff, 0x25, 1, 2, 3, 0, 0x66, 0x90 };
	struct row_table t = rows_of(code, sizeof(code));

	assert_int_equal(depth_at(&t, 0), 8);
	assert_int_equal(depth_at(&t, 6), 0);
	row_table_free(&t);
}

/*
 * Code that returns with something on the stack, jumps elsewhere with it, is unknown, or never
 * returns.
 */
static void what_does_not_add_up_has_no_rows(void **state)
{
	static const __u8 codes[][8] = {
		{ 0x55, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
		{ 0x55, 0xe9, 0, 1, 0, 0, 0xcc, 0xcc },
		{ 0x48, 0x89, 0xfc, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc },
		{ 0x06, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc },
		{ 0x90, 0xeb, 0xfd, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc },
		{ 0xe8, 0, 0, 0, 0, 0x58, 0xc3, 0xcc },
		{ 0xff, 0xe0, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc },
		{ 0x31, 0xc0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
	};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct row_table t = rows_of(codes[i], sizeof(codes[i]));

		for (unsigned k = 0; k < sizeof(codes[i]); k++)
			assert_int_equal(depth_at(&t, k), 0);
		row_table_free(&t);
	}
}

static void an_aligned_stack_is_found_by_the_frame_pointer(void **state)
{
	static const __u8 code[] = {
		0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
		0x41, 0x57, /* push %r15 */
		0x48, 0x83, 0xe4, 0xf0, /* 6: and $-16, %rsp */
		0x53, /* 10: push %rbx */
		0x31, 0xdb, /* xor %ebx, %ebx */
		0x5b, /* 13: pop %rbx */
		0x48, 0x8d, 0x65, 0xf8, /* 14: lea -8(%rbp), %rsp */
		0x41, 0x5f, 0x5d, 0xc3, /* 18: pop %r15; pop %rbp; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	for (unsigned i = 10; i < 18; i++) {
		assert_int_equal(row_table_find(&t, 0x1000 + i)->reg, 6);
		assert_int_equal(depth_at(&t, i), 16);
		assert_int_equal(row_table_find(&t, 0x1000 + i)->fp_off, -16);
	}
	assert_int_equal(row_table_find(&t, 0x1012)->reg, 7);
	assert_int_equal(depth_at(&t, 18), 24);
	assert_int_equal(depth_at(&t, 21), 8);
	row_table_free(&t);
}

/* As in OpenBLAS's kernels for Haswell and Zen. */
static void an_aligned_stack_is_found_by_the_base_register(void **state)
{
	static const __u8 code[] = {
		0x48, 0x83, 0xec, 0x10, /* sub $16, %rsp */
		0x48, 0x89, 0x1c, 0x24, /* 4: mov %rbx, (%rsp) */
		0x48, 0x89, 0x6c, 0x24, 0x08, /* 8: mov %rbp, 8(%rsp) */
		0x48, 0x89, 0xe3, /* 13: mov %rsp, %rbx */
		0x48, 0x81, 0xec, 0x80, 0x70, 0,    0, /* 16: sub $0x7080, %rsp */
		0x48, 0x81, 0xe4, 0,	0xf0, 0xff, 0xff, /* 23: and $-4096, %rsp */
		0x31, 0xed, /* 30: xor %ebp, %ebp */
		0x48, 0x89, 0xdc, /* 32: mov %rbx, %rsp */
		0x48, 0x8b, 0x1c, 0x24, /* 35: mov (%rsp), %rbx */
		0x48, 0x8b, 0x6c, 0x24, 0x08, /* 39: mov 8(%rsp), %rbp */
		0x48, 0x83, 0xc4, 0x10, 0xc3, /* 44: add $16, %rsp; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	assert_int_equal(depth_at(&t, 0), 8);
	assert_int_equal(depth_at(&t, 23), 24 + 0x7080);
	for (unsigned i = 30; i < 35; i++) {
		assert_int_equal(row_table_find(&t, 0x1000 + i)->reg, 3);
		assert_int_equal(depth_at(&t, i), 24);
		assert_int_equal(row_table_find(&t, 0x1000 + i)->base_off, -24);
		assert_int_equal(row_table_find(&t, 0x1000 + i)->fp, UNWIND_FP_CFA);
		assert_int_equal(row_table_find(&t, 0x1000 + i)->fp_off, -16);
	}
	assert_int_equal(row_table_find(&t, 0x1000 + 35)->reg, 7);
	assert_int_equal(depth_at(&t, 35), 24);
	assert_int_equal(row_table_find(&t, 0x1000 + 44)->base_off, 0);
	assert_int_equal(depth_at(&t, 48), 8);
	row_table_free(&t);
}

/* The copy has changed: nothing says where the stack is. */
static void a_copy_that_is_changed_is_none(void **state)
{
	static const __u8 code[] = {
		0x53, 0x48, 0x89, 0xe3, /* push %rbx; mov %rsp, %rbx */
		0x48, 0x83, 0xe4, 0xf0, /* 4: and $-16, %rsp */
		0x31, 0xdb, /* xor %ebx, %ebx */
		0x48, 0x89, 0xdc, /* mov %rbx, %rsp */
		0x5b, 0xc3, /* pop %rbx; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	for (unsigned i = 0; i < sizeof(code); i++)
		assert_int_equal(depth_at(&t, i), 0);
	row_table_free(&t);
}

/* After the first jump comes a part of the loop: later code jumps back there. */
static void a_loop_may_begin_with_its_end(void **state)
{
	static const __u8 code[] = {
		0x55, 0xeb, 0x05, /* push %rbp; jmp 8 */
		0x48, 0xff, 0xc7, 0x90, 0x90, /* 3: inc %rdi */
		0x48, 0x83, 0xff, 0x05, 0x7c, 0xf5, /* 8: cmp $5, %rdi; jl 3 */
		0x5d, 0xc3, /* 14: pop %rbp; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	for (unsigned i = 1; i < 15; i++)
		assert_int_equal(depth_at(&t, i), 16);
	assert_int_equal(depth_at(&t, 15), 8);
	row_table_free(&t);
}

/* OpenSSL's __bn_mul4x_mont on arm64: behind it there is only padding, and the loop is not read again. */
static void a_proved_guess_is_done_with(void **state)
{
	static const __u8 code[] = {
		0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, /* xor %eax, %eax */
		0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0, 0xeb, 0x05, /* ...; jmp 21 */
		0x48, 0xff, 0xc7, 0x90, 0x90, /* 16: inc %rdi: a function could begin here */
		0x48, 0x83, 0xff, 0x05, 0x7c, 0xf5, /* 21: cmp $5, %rdi; jl 16 */
		0xc3, 0x90, 0x90, 0x90,
	};
	struct row_table t = rows_of(code, sizeof(code));

	for (unsigned i = 0; i < 28; i++)
		assert_int_equal(depth_at(&t, i), 8);
	assert_int_equal(depth_at(&t, 28), 0);
	row_table_free(&t);
}

/*
 * A loop within a loop as LLVM lays it out: after the first jump comes a part of one, after the
 * second a part of the other.
 */
static void loops_may_be_within_loops(void **state)
{
	__u8 code[] = {
		0x55, 0xeb, 0x05, /* push %rbp; jmp 8 */
		0x48, 0xff, 0xc7, 0x90, 0x90, /* 3: inc %rdi */
		0xeb, 0x03, /* 8: jmp 13 */
		0x48, 0xff, 0xc6, /* 10: inc %rsi */
		0x48, 0x83, 0xfe, 0x05, 0x7c, 0xf7, /* 13: cmp $5, %rsi; jl 10 */
		0x48, 0x83, 0xff, 0x05, 0x7c, 0xea, /* 19: cmp $5, %rdi; jl 3 */
		0x5d, 0xc3, /* 25: pop %rbp; ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	for (unsigned i = 1; i < 26; i++)
		assert_int_equal(depth_at(&t, i), 16);
	assert_int_equal(depth_at(&t, 26), 8);
	row_table_free(&t);
	/* Nothing jumps back to the outer one. */
	code[23] = code[24] = 0x90;
	t = rows_of(code, sizeof(code));
	for (unsigned i = 0; i < sizeof(code); i++)
		assert_int_equal(depth_at(&t, i), 0);
	row_table_free(&t);
}

/*
 * The frame pointer is overwritten although the CFA depends on it; more is popped than pushed; the
 * way back to a loop's end has a different stack; nothing jumps back; only guessed code jumps back.
 */
static void what_is_not_proved_has_no_rows(void **state)
{
	static const __u8 codes[][20] = {
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x31, 0xed, 0x48, 0x89, 0xec,
		  0x5d, 0xc3, 0xcc },
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x58, 0x48, 0x89, 0xec, 0x5d,
		  0xc3, 0xcc, 0xcc },
		{ 0x55, 0xeb, 0x05, 0x48, 0xff, 0xc7, 0x90, 0x90, 0x50, 0x48, 0x83, 0xff, 0x05,
		  0x7c, 0xf4, 0x58, 0x5d, 0xc3, 0xcc },
		{ 0x55, 0xeb, 0x05, 0x48, 0xff, 0xc7, 0x90, 0x90, 0x5d, 0xc3, 0xcc, 0xcc },
		{ 0x55, 0xeb, 0x05, 0x48, 0xff, 0xc7, 0x7c, 0xfb, 0x5d, 0xc3, 0xcc, 0xcc },
	};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct row_table t = rows_of(codes[i], sizeof(codes[i]));

		for (unsigned k = 0; k < sizeof(codes[i]); k++)
			assert_int_equal(depth_at(&t, k), 0);
		row_table_free(&t);
	}
}

static void the_middle_of_a_function_is_no_beginning(void **state)
{
	/* After a jump, at a multiple of 16: jumps back into earlier code. */
	__u8 code[48] = { 0x55, 0xff, 0xe0 };
	struct row_table t;

	memset(code + 3, 0xcc, 13);
	memcpy(code + 16, "\x31\xc0\xeb\xed\xcc", 5);
	t = rows_of(code, sizeof(code));
	assert_int_equal(depth_at(&t, 16), 0);
	row_table_free(&t);
}

/* AVX-512's masks are no general registers: kandw to k4, kortestw of k4. */
static void code_for_vectors_is_read(void **state)
{
	static const __u8 begin[] = { 0x53, 0xc5, 0xdc, 0x41, 0xe0, 0xc5, 0xf8,
				      0x98, 0xe4, 0xe9, 0x58, 0x02, 0x00, 0x00 };
	static const __u8 end[] = { 0x85, 0xc0, 0x0f, 0x85, 0xa0, 0xfd, 0xff, 0xff, 0x5b, 0xc3 };
	static __u8 code[sizeof(begin) + 600 + sizeof(end)];
	struct row_table t;

	memcpy(code, begin, sizeof(begin));
	for (__u32 i = 0; i < 600; i += 2)
		memcpy(code + sizeof(begin) + i, end, 2);
	memcpy(code + sizeof(begin) + 600, end, sizeof(end));
	t = rows_of(code, sizeof(code));
	assert_int_equal(depth_at(&t, 0), 8);
	for (__u64 at = 1; at < sizeof(code) - 1; at++)
		assert_int_equal(depth_at(&t, at), 16);
	assert_int_equal(depth_at(&t, sizeof(code) - 1), 8);
	row_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_followed_along_its_branches),
		cmocka_unit_test(code_for_vectors_is_read),
		cmocka_unit_test(a_trace_is_followed_behind_the_function_that_calls_it),
		cmocka_unit_test(what_follows_a_call_at_once_may_be_another_function),
		cmocka_unit_test(a_stub_has_a_row),
		cmocka_unit_test(what_does_not_add_up_has_no_rows),
		cmocka_unit_test(an_aligned_stack_is_found_by_the_frame_pointer),
		cmocka_unit_test(an_aligned_stack_is_found_by_the_base_register),
		cmocka_unit_test(a_copy_that_is_changed_is_none),
		cmocka_unit_test(a_loop_may_begin_with_its_end),
		cmocka_unit_test(a_proved_guess_is_done_with),
		cmocka_unit_test(loops_may_be_within_loops),
		cmocka_unit_test(what_is_not_proved_has_no_rows),
		cmocka_unit_test(the_middle_of_a_function_is_no_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	print_message("1..0 # SKIP this is not x86-64\n");
	return 0;
}

#endif
