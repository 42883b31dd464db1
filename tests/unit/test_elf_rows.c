/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_rows.c - the rows of real files are what elfutils says of each address; and files that were
 * made to cost time or memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/cfi.h"
#include "unwind/elf_rows.h"
#include "util/cleanup.h"

/* ---- the oracle ------------------------------------------------------------------------------- */

struct oracle {
	Elf *elf;
	Dwarf_CFI *cfi;
};

/* Form of the stub's expression that linkers write: its number, or -1. */
static int plt_number(const Dwarf_Op *ops, size_t cnt)
{
	static const __u8 atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
				      DW_OP_ge,	   DW_OP_lit3,	 DW_OP_shl,   DW_OP_plus };

	if (cnt != sizeof(atoms) || ops[0].number != 8)
		return -1;
	for (size_t i = 0; i < cnt; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return -1;
	return ops[4].atom - DW_OP_lit0;
}

static bool is_breg(const Dwarf_Op *op, __u64 *reg, __s64 *off)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*off = (__s64)op->number;
		return true;
	}
	*reg = op->number;
	*off = (__s64)op->number2;
	return op->atom == DW_OP_bregx;
}

static void take_cfa(Dwarf_Frame *frame, struct unwind_rule *r)
{
	__u64 reg;
	__s64 off;
	Dwarf_Op *ops;
	size_t cnt;
	int number;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || !cnt || !is_breg(&ops[0], &reg, &off))
		return;
	number = plt_number(ops, cnt);
	r->reg = (__u8)reg;
	r->off = (__s32)off;
	if (cnt == 1)
		r->cfa = UNWIND_CFA_REG;
	else if (number >= 0)
		r->cfa = UNWIND_CFA_PLT;
	else if (ops[1].atom == DW_OP_deref)
		r->cfa = UNWIND_CFA_DEREF;
	if (cnt == 3)
		r->add = (__s16)ops[2].number;
	if (number >= 0)
		r->add = (__s16)number;
}

enum saved { SAME, UNDEFINED, AT_CFA, AT_SP, AT_FP, ELSEWHERE };

static enum saved saved_at(Dwarf_Frame *frame, int reg, __s64 *off)
{
	Dwarf_Op mem[3], *ops;
	size_t cnt;
	__u64 base;

	if (dwarf_frame_register(frame, reg, mem, &ops, &cnt))
		return ELSEWHERE;
	if (!cnt)
		return ops == mem ? UNDEFINED : SAME;
	if (ops[0].atom != DW_OP_call_frame_cfa || cnt > 2)
		return ELSEWHERE;
	/* An expression begins with the CFA on its stack, whatever it makes of that. */
	if (cnt == 2 && is_breg(&ops[1], &base, off))
		return base == CFI_REG_SP ? AT_SP : base == CFI_REG_FP ? AT_FP : ELSEWHERE;
	*off = cnt == 2 ? (__s64)ops[1].number : 0;
	if (cnt == 1 || ops[1].atom == DW_OP_plus_uconst)
		return AT_CFA;
	return ELSEWHERE;
}

/* What the kernel should be given for an address that has a frame. */
static struct unwind_rule expected_rule(Dwarf_Frame *frame, bool signal)
{
	static const __u8 fps[] = { UNWIND_FP_SAME, UNWIND_FP_UNKNOWN, UNWIND_FP_CFA,
				    UNWIND_FP_SP,   UNWIND_FP_FP,      UNWIND_FP_UNKNOWN };
	struct unwind_rule r = { 0 };
	__s64 fp = 0, ra = 0, base = 0;
	enum saved fp_saved = saved_at(frame, CFI_REG_FP, &fp);
	enum saved ra_saved = saved_at(frame, CFI_REG_RA, &ra);
	enum saved base_saved = saved_at(frame, CFI_REG_BASE, &base);

	/* setcontext() has it where another register leads: krait does not follow that. */
	if (ra_saved == ELSEWHERE || ra_saved == SAME || ra_saved == AT_FP)
		return r;
	take_cfa(frame, &r);
	r.fp = fps[fp_saved];
	r.fp_off = (__s16)fp;
	r.ra_off = (__s16)ra;
	/* elfutils calls "undefined" what a function is to keep, but says nothing of. */
	r.base_off = base_saved == SAME || base_saved == UNDEFINED ? 0 :
		     base_saved == ra_saved			   ? (__s16)base :
								     UNWIND_BASE_UNKNOWN;
	r.ra = ra_saved == AT_CFA    ? UNWIND_RA_CFA :
	       ra_saved == UNDEFINED ? UNWIND_RA_UNDEFINED :
				       UNWIND_RA_SP;
	if (ra_saved == UNDEFINED)
		r.fp = UNWIND_FP_UNKNOWN;
	else if (signal)
		r.ra |= UNWIND_RA_SIGNAL;
	return r;
}

/* Where the address is in the file, and how far its segment goes. */
static __u64 offset_of(Elf *elf, __u64 address, __u64 *ret_left)
{
	GElf_Phdr p;
	size_t cnt;

	assert_int_equal(elf_getphdrnum(elf, &cnt), 0);
	for (int i = 0; i < (int)cnt; i++) {
		assert_non_null(gelf_getphdr(elf, i, &p));
		if (p.p_type == PT_LOAD && address - p.p_vaddr < p.p_filesz) {
			*ret_left = p.p_filesz - (address - p.p_vaddr);
			return address - p.p_vaddr + p.p_offset;
		}
	}
	return ~0ULL;
}

static void must_equal(const char *path, __u64 address, const struct unwind_rule *have,
		       const struct unwind_rule *want)
{
	if ((!have && (want->cfa == UNWIND_CFA_NONE && want->ra != UNWIND_RA_UNDEFINED)) ||
	    (have && have->cfa == want->cfa && have->reg == want->reg && have->off == want->off &&
	     have->add == want->add && have->fp == want->fp && have->ra == want->ra &&
	     have->fp_off == want->fp_off && have->ra_off == want->ra_off &&
	     have->base_off == want->base_off))
		return;
	if (have && want->ra == UNWIND_RA_UNDEFINED && have->ra == want->ra)
		return;
	print_error("%s at %llx: ", path, address);
	if (have)
		print_error("cfa %u r%u%+d%+d fp %u%+d ra %u%+d base %d, ", have->cfa, have->reg,
			    have->off, have->add, have->fp, have->fp_off, have->ra, have->ra_off,
			    have->base_off);
	fail_msg("expected cfa %u r%u%+d%+d fp %u%+d ra %u%+d base %d", want->cfa, want->reg,
		 want->off, want->add, want->fp, want->fp_off, want->ra, want->ra_off,
		 want->base_off);
}

/* Where there is no frame, rows are those of code that was read (test_code_rows.c), of one form. */
static void must_be_of_code(const char *path, __u64 address, const struct unwind_rule *have)
{
	if (have &&
	    (have->cfa != UNWIND_CFA_REG || have->ra != UNWIND_RA_CFA || have->ra_off != -8))
		fail_msg("%s at %llx: there is no frame", path, address);
}

/* All addresses of one executable segment; how many have a frame. */
static size_t compare_segment(const char *path, const struct oracle *o, const struct row_table *t,
			      const GElf_Phdr *p)
{
	size_t covered = 0;

	for (__u64 address = p->p_vaddr; address < p->p_vaddr + p->p_filesz;) {
		__u64 left, offset = offset_of(o->elf, address, &left);
		Dwarf_Addr start, end;
		Dwarf_Frame *frame;
		struct unwind_rule want;
		bool signal;

		if (dwarf_cfi_addrframe(o->cfi, address, &frame)) {
			must_be_of_code(path, address, row_table_find(t, offset));
			address++;
			continue;
		}
		assert_int_equal(dwarf_frame_info(frame, &start, &end, &signal), CFI_REG_RA);
		want = expected_rule(frame, signal);
		assert_true(start <= address && address < end);
		for (; address < end; address++, offset++, covered++)
			must_equal(path, address, row_table_find(t, offset), &want);
		free(frame);
	}
	return covered;
}

static void compare_file(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle o = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };
	struct row_table t;
	size_t cnt, covered = 0;
	GElf_Phdr p;

	assert_non_null(o.elf);
	o.cfi = dwarf_getcfi_elf(o.elf);
	assert_non_null(o.cfi);
	assert_int_equal(elf_rows(fd, &t), 0);
	assert_int_equal(elf_getphdrnum(o.elf, &cnt), 0);
	for (int i = 0; i < (int)cnt; i++) {
		assert_non_null(gelf_getphdr(o.elf, i, &p));
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			covered += compare_segment(path, &o, &t, &p);
	}
	print_message("# %s: %zu addresses, %u rows, %u rules\n", path, covered, t.row_cnt,
		      t.rule_cnt);
	assert_true(covered > 1000);
	row_table_free(&t);
	dwarf_cfi_end(o.cfi);
	elf_end(o.elf);
}

static void every_address_of_real_files_is_as_elfutils_says(void **state)
{
	static const char *const patterns[] = {
		"/proc/self/exe",
		"/lib/*-linux-gnu/libc.so.6",
		"/lib64/ld-linux-*.so.2",
		"/usr/lib/*-linux-gnu/libcrypto.so.3",
		"/usr/lib/*-linux-gnu/libpython3.*.so.1",
		"/usr/bin/python3.1?",
		"/root/.pyenv/versions/3.*/lib/libpython3.*.so.1.0",
		"/var/cache/krait/sid/usr/bin/python3.1?",
		"/var/cache/krait/sid/usr/lib/*-linux-gnu/libc.so.6",
	};
	size_t files = 0;
	glob_t found;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (glob(patterns[i], 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++, files++)
			compare_file(found.gl_pathv[k]);
		globfree(&found);
	}
	assert_true(files >= 3);
}

/* ---- files that were made --------------------------------------------------------------------- */

#define TEXT_SIZE (1U << 20)
#define FRAME_AT (TEXT_SIZE + 0x1000)

/* An ELF file with 1 MiB of code and .eh_frame behind it. */
struct image {
	__u8 *bytes;
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

static void begin_image(struct image *m)
{
	*m = (struct image){ .cap = 2 * FRAME_AT };
	m->bytes = calloc(1, m->cap);
	assert_non_null(m->bytes);
	m->size = FRAME_AT;
}

/* Its headers; the descriptor of a memory file. */
static int end_image(struct image *m)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	__u64 frame_size = m->size - FRAME_AT, names_at = m->size, headers_at;
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
	const Elf64_Phdr p = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = FRAME_AT, .p_memsz = FRAME_AT
	};
	Elf64_Shdr s[3] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = FRAME_AT,
		  .sh_addr = FRAME_AT },
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

/* CIE "zR", absolute addresses of 4 bytes: CFA is sp + 8, return address at CFA - 8. */
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

/* A function with that code; the CIE is the first of the section. */
static void put_fde(struct image *m, __u32 start, __u32 len, const void *code, size_t code_size)
{
	put_u32(m, (__u32)(13 + code_size));
	put_u32(m, (__u32)(m->size - FRAME_AT));
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

/* What elf_rows() says of the image, in bounded time. */
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
	/* The next page goes on with it. */
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

/* One long CIE, run for each of many functions. */
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
	for (int i = 0; i < 60; i++)
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

/* Any byte of the section may be any other: nothing but an end is asked for. */
static void spoiled_sections_do_no_harm(void **state)
{
	static const __u8 code[] = { DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16 };

	srand(1);
	for (int run = 0; run < 300; run++) {
		struct row_table t;
		struct image m;

		begin_image(&m);
		put_cie(&m);
		for (__u32 i = 0; i < 16; i++)
			put_fde(&m, 0x1000 + 64 * i, 64, code, sizeof(code));
		for (int i = 0; i < 4; i++)
			m.bytes[FRAME_AT + (size_t)rand() % (m.size - FRAME_AT)] = (__u8)rand();
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
		cmocka_unit_test(every_address_of_real_files_is_as_elfutils_says),
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
