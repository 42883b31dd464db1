/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_a64_rows.c - unwind rows from reading arm64's code, and walks with rows as only arm64 has them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "native/rows/code_rows.h"
#include "bpf/share.h"
#include "native/rows/row_table.h"
#include "native/rows/stack_unwind.h"
#include "support_row_table.h"

#ifdef __aarch64__
#include "support_unwind_memory.h"

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

/* What must be known at an instruction: ra is enum unwind_ra, ra_off counts from the CFA. */
struct expected {
	unsigned insn;
	int reg, off, ra, ra_off;
};

static void assert_rows(const __u32 *code, __u64 size, const struct expected *e, unsigned cnt)
{
	struct row_table t = rows_of(code, size);

	for (unsigned i = 0; i < cnt; i++) {
		const struct unwind_rule *rule = row_table_find(&t, CODE_OFFSET + 4 * e[i].insn);

		if (!rule)
			fail_msg("instruction %u has no row", e[i].insn);
		assert_int_equal(rule->reg, e[i].reg);
		assert_int_equal(rule->off, e[i].off);
		assert_int_equal(rule->ra, e[i].ra);
		assert_int_equal(rule->ra_off, e[i].ra_off);
	}
	row_table_free(&t);
}

#define IN_LR UNWIND_RA_REG, UNWIND_REG_RA
#define ASSERT_ROWS(code, e) assert_rows(code, sizeof(code), e, sizeof(e) / sizeof((e)[0]))

/* aes_v8_ecb_encrypt: few bytes need no frame. */
static void paths_with_and_without_a_frame_meet(void **state)
{
	static const __u32 code[] = {
		0xb40000a2, /* cbz x2, 20 */
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xd503201f, /* nop */
		0xf84107fd, /* ldr x29, [sp], #16 */
		0xd65f03c0, /* 20: ret */
	};
	static const struct expected rows[] = { { 0, 31, 0, IN_LR },
						{ 3, 31, 16, UNWIND_RA_CFA, -8 },
						{ 5, 31, 0, IN_LR } };

	ASSERT_ROWS(code, rows);
}

/* SHA3_squeeze_cext: the return address is loaded, but stays where it is. */
static void a_return_address_is_loaded_in_a_loop(void **state)
{
	static const __u32 code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xb4000082, /* 8: cbz x2, 24 */
		0x97ffff44, /* bl */
		0xf94007fe, /* ldr x30, [sp, #8] */
		0x17fffffd, /* b 8 */
		0xf84107fd, /* 24: ldr x29, [sp], #16 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 2, 31, 16, UNWIND_RA_CFA, -8 },
						{ 5, 31, 16, UNWIND_RA_CFA, -8 },
						{ 7, 31, 0, IN_LR } };

	ASSERT_ROWS(code, rows);
}

/* KeccakF1600_int, ecp_nistz256_sqr_mont: they change x19, and have their return address in their caller's frame. */
static void an_inner_function_uses_its_callers_frame(void **state)
{
	static const __u32 code[] = {
		0xa9017bfc, /* stp x28, x30, [sp, #16] */
		0xca08007e, /* eor x30, x3, x8 */
		0x9a1f03f3, /* adc x19, xzr, xzr */
		0xf9400ffe, /* ldr x30, [sp, #24] */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 0, 31, 0, IN_LR },
						{ 2, 31, 0, UNWIND_RA_CFA, 24 },
						{ 3, 31, 0, UNWIND_RA_CFA, 24 } };

	ASSERT_ROWS(code, rows);
}

/* bn_mul8x_mont_neon: sp is aligned, and no frame pointer tells where it was. */
static void another_register_has_the_stack_pointer(void **state)
{
	static const __u32 code[] = {
		0xa9bb7bfd, /* stp x29, x30, [sp, #-80]! */
		0x910003f0, /* mov x16, sp */
		0x910000ff, /* mov sp, x7 */
		0xd503201f, /* nop */
		0x9100021f, /* mov sp, x16 */
		0xf84507fd, /* ldr x29, [sp], #80 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 2, 31, 80, UNWIND_RA_CFA, -72 },
						{ 3, 16, 80, UNWIND_RA_CFA, -72 },
						{ 5, 31, 80, UNWIND_RA_CFA, -72 } };

	ASSERT_ROWS(code, rows);
}

/* ecp_nistz256_point_add goes on in ecp_nistz256_point_double, with its frame. */
static void a_jump_leads_into_the_function_before(void **state)
{
	static const __u32 code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xd503201f, /* 8: nop */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
		0xd503201f, /* nop */
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xb4ffff40, /* cbz x0, 8 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 2, 31, 16, UNWIND_RA_CFA, -8 },
						{ 9, 31, 16, UNWIND_RA_CFA, -8 } };

	ASSERT_ROWS(code, rows);
}

/* Not if the stack is another there. */
static void a_jump_with_another_stack_says_nothing(void **state)
{
	static const __u32 code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 12: ret */
		0xd503201f, /* nop */
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xb4ffff80, /* cbz x0, 12 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
	};
	struct row_table t = rows_of(code, sizeof(code));

	assert_non_null(row_table_find(&t, CODE_OFFSET + 12));
	assert_null(row_table_find(&t, CODE_OFFSET + 32));
	row_table_free(&t);
}

/* bn_mul_mont begins with jumps to three others, which are behind it. */
static void a_function_jumps_past_another(void **state)
{
	static const __u32 code[] = {
		0xb40000e5, /* cbz x5, 28 */
		0x91000400, /* add x0, x0, #1 */
		0xd65f03c0, /* ret */
		0xd503201f, /* nop */
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
		0xd65f03c0, /* 28: ret */
	};
	static const struct expected rows[] = { { 0, 31, 0, IN_LR },
						{ 2, 31, 0, IN_LR },
						{ 5, 31, 16, UNWIND_RA_CFA, -8 },
						{ 7, 31, 0, IN_LR } };

	ASSERT_ROWS(code, rows);
}

/* libgcc's __init_cpu_features: a call behind a return need not be the end. */
static void a_function_calls_behind_a_return(void **state)
{
	static const __u32 code[] = {
		0xb4000048, /* cbz x8, 8 */
		0xd65f03c0, /* ret */
		0xd100c3ff, /* 8: sub sp, sp, #48 */
		0xa9024ffe, /* stp x30, x19, [sp, #32] */
		0x97e73c5f, /* bl */
		0xaa0003f3, /* mov x19, x0 */
		0xa9424ffe, /* ldp x30, x19, [sp, #32] */
		0x9100c3ff, /* add sp, sp, #48 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 4, 31, 48, UNWIND_RA_CFA, -16 },
						{ 6, 31, 48, UNWIND_RA_CFA, -16 },
						{ 8, 31, 0, IN_LR } };

	ASSERT_ROWS(code, rows);
}

/* sha1_block_data_order: strings and tables are before it. */
static void code_follows_data_and_padding(void **state)
{
	static const __u32 code[] = {
		0x20534541, /* "AES " */
		0x6f662d34, 0x00000000, 0xd503201f, /* nop */
		0x91000400, /* add x0, x0, #1 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 4, 31, 0, IN_LR }, { 5, 31, 0, IN_LR } };

	ASSERT_ROWS(code, rows);
}

/* A call that never returns ends a function, and another one follows without padding. */
static void a_function_ends_with_a_call(void **state)
{
	static const __u32 code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xb4000060, /* cbz x0, 20 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
		0x97e73c5f, /* 20: bl */
		0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
		0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
		0xd65f03c0, /* ret */
	};
	static const struct expected rows[] = { { 5, 31, 16, UNWIND_RA_CFA, -8 },
						{ 6, 31, 0, IN_LR },
						{ 7, 31, 32, UNWIND_RA_CFA, -24 } };

	ASSERT_ROWS(code, rows);
}

/* ---- walks ------------------------------------------------------------------------------------------ */

#define CODE 0x10000000ULL
#define STACK 0x20000000000ULL
static __u64 stack[128];

static int read_stack(void *ctx, __u64 addr, void *buf, size_t len)
{
	if (addr < STACK || addr - STACK > sizeof(stack) || len > sizeof(stack) - (addr - STACK))
		return -EFAULT;
	memcpy(buf, (const char *)stack + (addr - STACK), len);
	return 0;
}

/* At the frame's address: where the caller's is, and the return address. */
static void put_frame(unsigned at, unsigned caller, __u64 ra)
{
	stack[at] = caller ? STACK + 8ULL * caller : 0;
	stack[at + 1] = ra;
}

/*
 * Generated code without rows called what finds its frame by sp, which called what finds it by x29. A frame pointer says
 * nothing of the caller's sp.
 */
static void after_a_frame_pointer_sp_is_unknown(void **state)
{
	const struct memory memory = { read_stack, NULL };
	const struct unwind_rule rules[] = {
		{ 0 },
		{ UNWIND_CFA_REG, UNWIND_REG_SP, UNWIND_FP_CFA, UNWIND_RA_CFA, 64, -64, 0, -56, 0 },
		{ UNWIND_CFA_REG, UNWIND_REG_FP, UNWIND_FP_CFA, UNWIND_RA_CFA, 96, -96, 0, -88, 0 },
		{ .ra = UNWIND_RA_UNDEFINED },
	};
	const __u32 rows[] = { UNWIND_ROW(0, 1), UNWIND_ROW(16, 2), UNWIND_ROW(32, 1),
			       UNWIND_ROW(48, 3) };
	const __u32 page_rows = 4;
	const struct unwind_rows r = { .page_cnt = 1,
				       .rule_cnt = 4,
				       .row_cnt = 4,
				       .rules = rules,
				       .page_rows = &page_rows,
				       .rows = rows };
	const struct unwind_mapping m = { CODE, CODE + 64, CODE, 1, 0 };
	const struct unwind_memory kept = { files, spaces, &control, unwind_new_slab, NULL };
	struct unwind_tables *t = unwind_tables__new(&kept, 64 << 20);
	struct stack_unwind *u = stack_unwind__new(t);
	struct stack_unwind_of of = { .memory = &memory };
	static struct stack_unwind_result got;

	assert_int_equal(unwind_tables__set_rows(t, 1, &r, 0), 0);
	of.space = unwind_tables__set_space(t, 0, &m, 1, OWNER_ROOT);
	of.regs[UNWIND_WORD_IP] = 0x30000000;
	of.regs[UNWIND_WORD_SP] = STACK;
	of.regs[UNWIND_WORD_FP] = STACK + 8 * 4ULL;
	put_frame(4, 20, CODE + 4);
	put_frame(20, 40, CODE + 20);
	put_frame(40, 60, CODE + 36);
	/* From here on sp is known: 40 + 96 / 8. */
	put_frame(52, 0, CODE + 52);
	stack_unwind__walk(u, &of, &got);
	assert_int_equal(got.cnt, 5);
	assert_int_equal(got.reason, NATIVE_COMPLETE);
	for (unsigned i = 1; i < got.cnt; i++)
		assert_int_equal(got.frames[i].ip, CODE + 16 * i - 12);
	stack_unwind__free(u);
	unwind_tables__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_a_frame_pointer_sp_is_unknown),
		cmocka_unit_test(paths_with_and_without_a_frame_meet),
		cmocka_unit_test(a_return_address_is_loaded_in_a_loop),
		cmocka_unit_test(an_inner_function_uses_its_callers_frame),
		cmocka_unit_test(another_register_has_the_stack_pointer),
		cmocka_unit_test(a_jump_leads_into_the_function_before),
		cmocka_unit_test(a_jump_with_another_stack_says_nothing),
		cmocka_unit_test(a_function_jumps_past_another),
		cmocka_unit_test(a_function_calls_behind_a_return),
		cmocka_unit_test(code_follows_data_and_padding),
		cmocka_unit_test(a_function_ends_with_a_call),
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
