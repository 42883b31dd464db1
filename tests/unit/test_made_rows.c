/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_made_rows.c - rows of generated code: from the memory beside it, and only for that code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/arch.h"
#include "native/rows/made_rows.h"
#include "support_row_table.h"

#define CODE 0x7f0000010000ULL
#define DATA (CODE + 0x1000)

static struct made_header one_mapping(void)
{
	struct made_header h = { .code_cnt = 1, .base = CODE };

	h.code[0] = (struct made_code_range){ CODE, DATA };
	return h;
}

static int rows_of(struct made_header *h, const void *code, __u32 code_size, const void *data,
		   __u32 data_size, struct row_table *ret)
{
	int fd = memfd_create("made", MFD_CLOEXEC), err;

	h->pieces[h->piece_cnt++] = (struct made_piece){ .addr = CODE, .size = code_size };
	if (data)
		h->pieces[h->piece_cnt++] = (struct made_piece){ .addr = DATA, .size = data_size };
	assert_true(fd >= 0 && write(fd, h, sizeof(*h)) == sizeof(*h));
	assert_int_equal(write(fd, code, code_size), code_size);
	if (data)
		assert_int_equal(write(fd, data, data_size), data_size);
	err = made_rows(fd, ret);
	close(fd);
	return err;
}

static int depth_at(const struct row_table *t, __u64 offset)
{
	const struct unwind_rule *rule = row_table_find(t, offset);

	return rule ? rule->off : 0;
}

/* As LLVM writes it: 8-byte addresses relative to their own positions. */
static __u32 write_eh_frame(__u8 *at, __u64 function, __u64 size)
{
	static const __u8 common[] = { 20, 0,	 0,    0, 0,	0,  0, 0, 1,	'z', 'R', 0,
				       1,  0x78, 0x10, 1, 0x1c, 12, 7, 8, 0x90, 1,   0,	  0 };
	static const __u8 code[] = { 0, 0x42, 0x0e, 0x10, 0, 0, 0, 0 };
	__u32 len = 4 + 16 + sizeof(code), back = sizeof(common) + 4;
	__u64 pc = function - (DATA + sizeof(common) + 8);

	memcpy(at, common, sizeof(common));
	at += sizeof(common);
	memcpy(at, &len, 4);
	memcpy(at + 4, &back, 4);
	memcpy(at + 8, &pc, 8);
	memcpy(at + 16, &size, 8);
	memcpy(at + 24, code, sizeof(code));
	memset(at + 32, 0, 4);
	return sizeof(common) + 36;
}

static void an_eh_frame_beside_the_code_is_found(void **state)
{
	struct made_header h = one_mapping();
	__u8 code[256], data[256] = { 0 };
	struct row_table t;
	__u32 size = 8 + write_eh_frame(data, CODE + 0x40, 0x20);

	if (ARCH_ELF_MACHINE != EM_X86_64)
		return; /* bytes of x86-64's code; cmocka calls a test that it skips "not ok" */
	memset(code, 0x06, sizeof(code)); /* invalid instructions */
	assert_int_equal(rows_of(&h, code, sizeof(code), data, size, &t), 0);
	assert_int_equal(depth_at(&t, 0x3f), 0);
	assert_int_equal(depth_at(&t, 0x40), 8);
	assert_int_equal(depth_at(&t, 0x42), 16);
	assert_int_equal(depth_at(&t, 0x5f), 16);
	assert_int_equal(depth_at(&t, 0x60), 0);
	row_table_free(&t);
}

/* For example libc's, or another process's. */
static void other_code_gets_no_rows(void **state)
{
	const __u64 places[] = { CODE - 0x20, CODE - 0x10, DATA - 0x10, DATA, 0x400000, ~0ULL - 64 };

	if (ARCH_ELF_MACHINE != EM_X86_64)
		return; /* bytes of x86-64's code; cmocka calls a test that it skips "not ok" */
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct made_header h = one_mapping();
		__u8 code[64], data[256] = { 0 };
		struct row_table t;
		__u32 size = write_eh_frame(data, places[i], 0x20);

		memset(code, 0x06, sizeof(code));
		assert_int_equal(rows_of(&h, code, sizeof(code), data, size, &t), -ENODATA);
	}
}

static void trampolines_are_known(void **state)
{
	/* 3.12's trampolines, one after another; 3.13's with a frame pointer, after an endbr64. */
	static const __u8 plain[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
				      0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const __u8 framed[32] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48,
					 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 };
	struct made_header h = one_mapping();
	__u8 code[10 * sizeof(plain)], code2[4 * sizeof(framed)];
	struct row_table t;

	if (ARCH_ELF_MACHINE != EM_X86_64)
		return; /* bytes of x86-64's code; cmocka calls a test that it skips "not ok" */
	for (int i = 0; i < 10; i++)
		memcpy(code + i * sizeof(plain), plain, sizeof(plain));
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), 0);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(depth_at(&t, i * sizeof(plain)), 8);
		assert_int_equal(depth_at(&t, i * sizeof(plain) + 5), 16);
		assert_int_equal(depth_at(&t, i * sizeof(plain) + 10), 8);
	}
	row_table_free(&t);
	for (int i = 0; i < 4; i++)
		memcpy(code2 + i * sizeof(framed), framed, sizeof(framed));
	h = one_mapping();
	assert_int_equal(rows_of(&h, code2, sizeof(code2), NULL, 0, &t), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(depth_at(&t, i * sizeof(framed)), 8);
		assert_int_equal(depth_at(&t, i * sizeof(framed) + 9), 16);
		assert_int_equal(row_table_find(&t, i * sizeof(framed) + 9)->fp, UNWIND_FP_CFA);
		assert_int_equal(depth_at(&t, i * sizeof(framed) + 11), 8);
	}
	row_table_free(&t);
}

/* arm64: paciasp, a frame, autiasp, ret, with what compilers say of signed return addresses in between. */
static void signed_return_addresses_change_nothing(void **state)
{
	static const __u8 common[] = { 16,  0, 0, 0,	0,  0, 0,    0,	 1,  'z',
				       'R', 0, 4, 0x78, 30, 1, 0x1b, 12, 31, 0 };
	/* advance 1, negate_ra_state, advance 1, def_cfa_offset 16, x30 at CFA - 8, advance 1, restored */
	static const __u8 cfi[] = { 0,	  0x41, 0x2d, 0x41, 0x0e, 16,	0x9d, 2, 0x9e, 1,
				    0x41, 0xdd, 0xde, 0x0e, 0,	  0x41, 0x2d, 0, 0,    0 };
	__u8 code[64] = { 0 }, data[128] = { 0 };
	struct made_header h = one_mapping();
	const __u32 len = 4 + 8 + sizeof(cfi), back = sizeof(common) + 4, size = 20;
	const __s32 pc = (__s32)(CODE + 0x20 - (DATA + sizeof(common) + 8));
	const struct unwind_rule *rule;
	struct row_table t;

	/* cmocka calls a test that it skips "not ok". */
	if (ARCH_ELF_MACHINE != EM_AARCH64)
		return;
	memcpy(data, common, sizeof(common));
	memcpy(data + sizeof(common), &len, 4);
	memcpy(data + sizeof(common) + 4, &back, 4);
	memcpy(data + sizeof(common) + 8, &pc, 4);
	memcpy(data + sizeof(common) + 12, &size, 4);
	memcpy(data + sizeof(common) + 16, cfi, sizeof(cfi));
	assert_int_equal(rows_of(&h, code, sizeof(code), data, sizeof(data), &t), 0);
	for (__u32 at = 0; at < size; at += 4) {
		rule = row_table_find(&t, 0x20 + at);
		assert_non_null(rule);
		assert_int_equal(rule->off, at == 8 ? 16 : 0);
		assert_int_equal(rule->ra, at == 8 ? UNWIND_RA_CFA : UNWIND_RA_REG);
	}
	row_table_free(&t);
}

static void a_header_that_lies_is_refused(void **state)
{
	static const __u8 code[64] = { 0xc3 };
	struct made_header h;
	struct row_table t;

	h = one_mapping();
	h.code_cnt = MADE_CODE_MAX + 1;
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), -ENOEXEC);
	h = one_mapping();
	h.code[0].end = CODE;
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), -ENOEXEC);
	h = one_mapping();
	h.code[0].end = CODE + 2 * MADE_SPAN_MAX;
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), -ENOEXEC);
	h = one_mapping();
	h.base = CODE + 8;
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), -ENOEXEC);
	h = one_mapping();
	h.pieces[h.piece_cnt++] = (struct made_piece){ .addr = CODE, .size = 4096 };
	assert_int_equal(rows_of(&h, code, sizeof(code), NULL, 0, &t), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_eh_frame_beside_the_code_is_found),
		cmocka_unit_test(other_code_gets_no_rows),
		cmocka_unit_test(trampolines_are_known),
		cmocka_unit_test(signed_return_addresses_change_nothing),
		cmocka_unit_test(a_header_that_lies_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
