/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_rows_made.c - the rows of files that are crafted to cost time or memory, or that are no
 * ELF files.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "native/rows/cfi.h"
#include "support_sanitized.h"
#include "native/rows/elf_rows.h"
#include "base/data/cleanup.h"
#include "support_row_table.h"

#define TEXT_SIZE (1U << 20)
/* Each run reads all code that has no entry, so there is little of it. */
#define SPOILED_TEXT_SIZE (1U << 16)

/* An ELF file with code followed by .eh_frame. */
struct image {
	__u8 *bytes;
	__u32 frame_at;
	size_t size, cap;
};

static void put(struct image *m, const void *data, size_t len)
{
	if (m->size + len > m->cap) {
		m->cap = 2 * (m->size + len);
		m->bytes = realloc(m->bytes, m->cap);
		assert_non_null(m->bytes);
	}
	memcpy(m->bytes + m->size, data, len);
	m->size += len;
}

static void put_u32(struct image *m, __u32 value)
{
	put(m, &value, sizeof(value));
}

static void begin_sized(struct image *m, __u32 text_size)
{
	*m = (struct image){ .frame_at = text_size + 0x1000 };
	m->size = m->frame_at;
	m->cap = 2 * m->size;
	m->bytes = calloc(1, m->cap);
	assert_non_null(m->bytes);
}

static void begin_image(struct image *m)
{
	begin_sized(m, TEXT_SIZE);
}

/* Writes its headers. Returns the descriptor of a memory file. */
static int end_image(struct image *m)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	__u64 frame_size = m->size - m->frame_at, names_at = m->size, headers_at;
	Elf64_Ehdr e = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_phoff = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr p = { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_filesz = m->frame_at,
			       .p_memsz = m->frame_at };
	Elf64_Shdr s[3] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = m->frame_at,
		  .sh_addr = m->frame_at },
		{ .sh_name = 11, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
	};
	int fd = memfd_create("image", MFD_CLOEXEC);

	put(m, names, sizeof(names));
	headers_at = m->size;
	s[1].sh_size = frame_size;
	s[2].sh_offset = names_at;
	put(m, s, sizeof(s));
	e.e_shoff = headers_at;
	memcpy(m->bytes, &e, sizeof(e));
	memcpy(m->bytes + sizeof(e), &p, sizeof(p));
	assert_int_equal(write(fd, m->bytes, m->size), m->size);
	free(m->bytes);
	return fd;
}

/* CIE "zR", 4-byte absolute addresses: CFA is sp + 8, return address at CFA - 8. */
static const __u8 cie[] = {
	1, 'z', 'R', 0, 1, 0x78, 16, 1, DW_EH_PE_udata4, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16,
	1, 0,	0
};

static void put_cie(struct image *m)
{
	put_u32(m, sizeof(cie) + 4);
	put_u32(m, 0);
	put(m, cie, sizeof(cie));
}

/* Adds a function with that code; the CIE is the section's first entry. */
static void put_fde(struct image *m, __u32 start, __u32 len, const void *code, size_t code_size)
{
	put_u32(m, (__u32)(13 + code_size));
	put_u32(m, (__u32)(m->size - m->frame_at));
	put_u32(m, start);
	put_u32(m, len);
	put(m, "", 1);
	put(m, code, code_size);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Runs elf_rows() on the image, in bounded time. */
static int rows_of(struct image *m, struct row_table *t)
{
	cleanup_close int fd = end_image(m);
	double begin = seconds();
	int err = elf_rows(fd, t);

	assert_true(seconds() - begin < 8);
	return err;
}

static void a_function_has_rows_and_what_is_around_it_none(void **state)
{
	static const __u8 code[] = {
		DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,	 16, DW_CFA_offset | 6, 2,
		DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6
	};
	const struct unwind_rule *r;
	struct row_table t;
	struct image m;

	begin_image(&m);
	put_cie(&m);
	put_fde(&m, 0x1fffe, 100, code, sizeof(code));
	assert_int_equal(rows_of(&m, &t), 0);
	assert_null(row_table_find(&t, 0));
	assert_null(row_table_find(&t, 0x1fffd));
	r = row_table_find(&t, 0x1fffe);
	assert_true(r && r->cfa == UNWIND_CFA_REG && r->reg == 7 && r->off == 8 && !r->fp);
	assert_true(r->ra == UNWIND_RA_CFA && r->ra_off == -8);
	r = row_table_find(&t, 0x1ffff);
	assert_true(r && r->off == 16 && r->fp == UNWIND_FP_CFA && r->fp_off == -16);
	/* The next page continues with it. */
	assert_ptr_equal(row_table_find(&t, 0x20000), r);
	r = row_table_find(&t, 0x20002);
	assert_true(r && r->reg == 6 && r->off == 16);
	assert_ptr_equal(row_table_find(&t, 0x1fffe + 99), r);
	assert_null(row_table_find(&t, 0x1fffe + 100));
	assert_null(row_table_find(&t, ~0ULL));
	row_table_free(&t);
}

static void of_two_entries_for_an_address_the_first_counts(void **state)
{
	static const __u8 other[] = { DW_CFA_def_cfa_offset, 32 };
	struct row_table t;
	struct image m;

	begin_image(&m);
	put_cie(&m);
	put_fde(&m, 0x1000, 0x100, "", 0);
	put_fde(&m, 0x1080, 0x100, other, sizeof(other));
	put_fde(&m, 0x1000, 0x40, other, sizeof(other));
	assert_int_equal(rows_of(&m, &t), 0);
	assert_int_equal(row_table_find(&t, 0x1000)->off, 8);
	assert_int_equal(row_table_find(&t, 0x10ff)->off, 8);
	assert_int_equal(row_table_find(&t, 0x1100)->off, 32);
	assert_int_equal(row_table_find(&t, 0x117f)->off, 32);
	assert_null(row_table_find(&t, 0x1180));
	row_table_free(&t);
}

static void a_million_empty_entries_end(void **state)
{
	struct row_table t;
	struct image m;

	begin_image(&m);
	put_cie(&m);
	for (int i = 0; i < 1000000; i++)
		put_fde(&m, 0x1000, 1, "", 0);
	for (int i = 0; i < 1000000; i++)
		put_u32(&m, 0);
	assert_int_equal(rows_of(&m, &t), 0);
	assert_true(t.row_cnt < 10);
	row_table_free(&t);
}

/* One long CIE that runs for each of many functions. */
static void instructions_without_end_are_too_much_for_nobody(void **state)
{
	static __u8 turns[1 << 20];
	struct row_table t;
	struct image m;

	memset(turns, DW_CFA_remember_state, sizeof(turns));
	for (size_t i = 1; i < sizeof(turns); i += 2)
		turns[i] = DW_CFA_restore_state;
	begin_image(&m);
	put_cie(&m);
	for (int i = 0; i < TIMES(60); i++)
		put_fde(&m, (__u32)(0x1000 + 16 * i), 16, turns, sizeof(turns));
	assert_int_equal(rows_of(&m, &t), 0);
	assert_non_null(row_table_find(&t, 0x1000));
	row_table_free(&t);
}

static void a_row_for_every_byte_is_bounded(void **state)
{
	static __u8 code[3 * 4096];
	struct row_table t;
	struct image m;

	for (int i = 0; i < 4096; i++) {
		code[3 * i] = DW_CFA_advance_loc | 1;
		code[3 * i + 1] = DW_CFA_def_cfa_offset;
		code[3 * i + 2] = (__u8)(i % 128);
	}
	begin_image(&m);
	put_cie(&m);
	for (__u32 i = 0; i < 200; i++)
		put_fde(&m, 0x1000 + 4096 * i, 4096, code, sizeof(code));
	assert_int_equal(rows_of(&m, &t), 0);
	assert_true(t.row_cnt >= 200 * 4095 && t.row_cnt <= 201 * 4097);
	assert_true(t.rule_cnt <= 130);
	row_table_free(&t);
}

static void lengths_beyond_the_section_end_it(void **state)
{
	static const __u32 lengths[] = { 0x7fffffff, 0xfffffffe, 0xffffffff };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct row_table t;
		struct image m;

		begin_image(&m);
		put_cie(&m);
		put_fde(&m, 0x1000, 16, "", 0);
		put_u32(&m, lengths[i]);
		put_u32(&m, 0xffffffff);
		put_u32(&m, 0xffffffff);
		assert_int_equal(rows_of(&m, &t), 0);
		assert_non_null(row_table_find(&t, 0x1000));
		row_table_free(&t);
	}
}

static void an_entry_whose_common_is_itself_is_none(void **state)
{
	struct row_table t;
	struct image m;

	begin_image(&m);
	put_cie(&m);
	put_fde(&m, 0x1000, 16, "", 0);
	/* The distance leads to its own beginning. */
	put_u32(&m, 13);
	put_u32(&m, 4);
	put_u32(&m, 0x2000);
	put_u32(&m, 16);
	put(&m, "", 1);
	assert_int_equal(rows_of(&m, &t), 0);
	assert_null(row_table_find(&t, 0x2000));
	row_table_free(&t);
}

/* Any byte of the section may have any value: we only require that it ends. */
static void spoiled_sections_do_no_harm(void **state)
{
	static const __u8 code[] = { DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16 };

	srand(1);
	for (int run = 0; run < TIMES(300); run++) {
		struct row_table t;
		struct image m;

		begin_sized(&m, SPOILED_TEXT_SIZE);
		put_cie(&m);
		for (__u32 i = 0; i < 16; i++)
			put_fde(&m, 0x1000 + 64 * i, 64, code, sizeof(code));
		for (int i = 0; i < 4; i++)
			m.bytes[m.frame_at + (size_t)rand() % (m.size - m.frame_at)] = (__u8)rand();
		if (!rows_of(&m, &t))
			row_table_free(&t);
	}
}

static void what_is_no_elf_file_has_no_rows(void **state)
{
	cleanup_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct row_table t;

	assert_int_equal(elf_rows(fd, &t), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_rows_and_what_is_around_it_none),
		cmocka_unit_test(of_two_entries_for_an_address_the_first_counts),
		cmocka_unit_test(a_million_empty_entries_end),
		cmocka_unit_test(instructions_without_end_are_too_much_for_nobody),
		cmocka_unit_test(a_row_for_every_byte_is_bounded),
		cmocka_unit_test(lengths_beyond_the_section_end_it),
		cmocka_unit_test(an_entry_whose_common_is_itself_is_none),
		cmocka_unit_test(spoiled_sections_do_no_harm),
		cmocka_unit_test(what_is_no_elf_file_has_no_rows),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
