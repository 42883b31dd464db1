/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_a64_rows.c - unwind rows from reading arm64's code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "native/rows/code_rows.h"
#include "native/rows/row_table.h"
#include "support_row_table.h"

#ifdef __aarch64__

#define CODE_OFFSET 0x1000

/* Padding follows. */
static struct row_table rows_of(const __u32 *code, __u64 size)
{
	struct row_table t = { 0 };
	__u8 padded[256] = { 0 };

	assert_true(size < sizeof(padded));
	memcpy(padded, code, size);
	code_rows(padded, sizeof(padded), CODE_OFFSET, &t);
	assert_int_equal(row_table_end(&t), 0);
	assert_true(row_table_is_in_order(&t));
	return t;
}

/* In each of these a leaf saves x19 and has a loop; its return address stays in x30. */
static void assert_leaf(const __u32 *code, unsigned cnt)
{
	struct row_table t = rows_of(code, cnt * sizeof(*code));

	for (unsigned i = 0; i < cnt; i++) {
		const struct unwind_rule *rule = row_table_find(&t, CODE_OFFSET + 4 * i);

		if (!rule)
			fail_msg("instruction %u has no row", i);
		assert_int_equal(rule->cfa, UNWIND_CFA_REG);
		assert_int_equal(rule->ra, UNWIND_RA_REG);
		assert_int_equal(rule->off, i == 0 || i == cnt - 1 ? 0 : 16);
	}
	row_table_free(&t);
}

/* Of OpenBLAS's kernels (ctrmm_kernel_LN_NEOVERSEV1): z30 is not x30, nor z19 x19. */
static void scalable_vectors_are_no_general_registers(void **state)
{
	static const __u32 code[] = {
		0xf81f0ff3, /* str x19, [sp, #-16]! */
		0x1e260013, /* fmov w19, s0 */
		0x05a03a73, /* mov z19.s, w19 */
		0x25b8c01e, /* 12: mov z30.s, #0 */
		0x25b8c01d, /* mov z29.s, #0 */
		0x65a726fe, /* fmls z30.s, p1/m, z23.s, z7.s */
		0x04b0e3e9, /* incw x9 */
		0x25a01521, /* whilelt p1.s, x9, x0 */
		0x25a08031, /* cntp x17, p0, p1.s */
		0x54ffff41, /* b.ne 12 */
		0xf84107f3, /* ldr x19, [sp], #16 */
		0xd65f03c0, /* ret */
	};

	assert_leaf(code, sizeof(code) / sizeof(*code));
}

/* Then nothing is known of what follows: cntb, cntp, lasta, incp. */
static void scalable_counts_are_general_registers(void **state)
{
	static const __u32 counts[] = { 0x0420e3fe, 0x25a0803e, 0x05e0a03e, 0x25ac883e };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const __u32 code[] = { 0xd503201f, counts[i], 0xd503201f, 0xd65f03c0 };
		struct row_table t = rows_of(code, sizeof(code));

		assert_null(row_table_find(&t, CODE_OFFSET + 8));
		row_table_free(&t);
	}
}

/* A loop that is entered at its end is a guess, which is proved; nothing of it is read again. */
static void a_loop_may_begin_with_its_end(void **state)
{
	static const __u32 code[] = {
		0xf81f0ff3, /* str x19, [sp, #-16]! */
		0x14000002, /* b 12 */
		0x91000400, /* 8: add x0, x0, #1 */
		0xf100043f, /* 12: cmp x1, #1 */
		0x54ffffc1, /* b.ne 8 */
		0xf84107f3, /* ldr x19, [sp], #16 */
		0xd65f03c0, /* ret */
	};

	assert_leaf(code, sizeof(code) / sizeof(*code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalable_vectors_are_no_general_registers),
		cmocka_unit_test(scalable_counts_are_general_registers),
		cmocka_unit_test(a_loop_may_begin_with_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	print_message("1..0 # SKIP this is not arm64\n");
	return 0;
}

#endif
