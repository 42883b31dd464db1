/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_rows.c - the rows of real files match elfutils at each address. Unless the run is
 * thorough (KRAIT_MATRIX), one file of each kind suffices.
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
#include <unistd.h>
#include <cmocka.h>

#include "support_folder.h"
#include "native/rows/cfi.h"
#include "native/rows/elf_rows.h"
#include "base/data/cleanup.h"
#include "support_row_table.h"

/* ---- the oracle ------------------------------------------------------------------------------- */

struct oracle {
	Elf *elf;
	Dwarf_CFI *cfi;
};

/* Returns the form of the expression that linkers write for stubs: its number, or -1. */
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

enum saved { SAME, UNDEFINED, AT_CFA, AT_SP, AT_FP, IN_REG, ELSEWHERE };

static enum saved saved_at(Dwarf_Frame *frame, int reg, __s64 *off)
{
	Dwarf_Op mem[3], *ops;
	size_t cnt;
	__u64 base;

	if (dwarf_frame_register(frame, reg, mem, &ops, &cnt))
		return ELSEWHERE;
	if (!cnt)
		return ops == mem ? UNDEFINED : SAME;
	if (cnt == 1 && ops[0].atom == DW_OP_regx && ops[0].number < UNWIND_REGS) {
		*off = (__s64)ops[0].number;
		return IN_REG;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa || cnt > 2)
		return ELSEWHERE;
	/* An expression begins with the CFA on its stack, whatever it does with it. */
	if (cnt == 2 && is_breg(&ops[1], &base, off))
		return base == UNWIND_REG_SP ? AT_SP : base == UNWIND_REG_FP ? AT_FP : ELSEWHERE;
	*off = cnt == 2 ? (__s64)ops[1].number : 0;
	if (cnt == 1 || ops[1].atom == DW_OP_plus_uconst)
		return AT_CFA;
	return ELSEWHERE;
}

/* Of a frame of more than 32 KiB, what is at its end is found by the stack pointer. */
static void take_nearest(const struct unwind_rule *r, enum saved *saved, __s64 *off)
{
	if (*saved != AT_CFA || *off > INT16_MIN || r->cfa != UNWIND_CFA_REG ||
	    r->reg != UNWIND_REG_SP)
		return;
	*saved = AT_SP;
	*off += r->off;
}

/* Returns the expected rule for the kernel at an address that has a frame. */
static struct unwind_rule expected_rule(Dwarf_Frame *frame, bool signal)
{
	static const __u8 fps[] = { UNWIND_FP_SAME,   UNWIND_FP_UNKNOWN, UNWIND_FP_CFA,
				    UNWIND_FP_SP,     UNWIND_FP_FP,	 UNWIND_FP_UNKNOWN,
				    UNWIND_FP_UNKNOWN };
	struct unwind_rule r = { 0 };
	__s64 fp = 0, ra = 0, base = 0;
	enum saved fp_saved = saved_at(frame, UNWIND_REG_FP, &fp);
	enum saved ra_saved = saved_at(frame, UNWIND_REG_RA, &ra);
	enum saved base_saved = saved_at(frame, UNWIND_REG_BASE, &base);

	/* As at entry: where calls leave it in a register. */
	if (ra_saved == SAME && UNWIND_REG_RA < UNWIND_REGS) {
		ra_saved = IN_REG;
		ra = UNWIND_REG_RA;
	}

	/* setcontext() stores it relative to another register: krait does not follow that. */
	if (ra_saved == ELSEWHERE || ra_saved == SAME || ra_saved == AT_FP)
		return r;
	take_cfa(frame, &r);
	take_nearest(&r, &fp_saved, &fp);
	take_nearest(&r, &ra_saved, &ra);
	take_nearest(&r, &base_saved, &base);
	/* longjmp() has the stack pointer in a register, too. */
	if (ra_saved == IN_REG && (r.cfa != UNWIND_CFA_REG || r.reg != UNWIND_REG_SP))
		return (struct unwind_rule){ 0 };
	r.fp = fps[fp_saved];
	r.fp_off = (__s16)fp;
	r.ra_off = (__s16)ra;
	/* elfutils says "undefined" for a register that must be preserved but is not mentioned. */
	r.base_off = base_saved == SAME || base_saved == UNDEFINED ? 0 :
		     base_saved == ra_saved && base		   ? (__s16)base :
								     UNWIND_BASE_UNKNOWN;
	r.ra = ra_saved == AT_CFA    ? UNWIND_RA_CFA :
	       ra_saved == UNDEFINED ? UNWIND_RA_UNDEFINED :
	       ra_saved == IN_REG    ? UNWIND_RA_REG :
				       UNWIND_RA_SP;
	if (ra_saved == UNDEFINED)
		r.fp = UNWIND_FP_UNKNOWN;
	else if (signal)
		r.ra |= UNWIND_RA_SIGNAL;
	return r;
}

/* Returns the address's position in the file, and how far its segment extends. */
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

/* Without a frame, the rows come from reading code (test_code_rows.c) and have one form; a leaf may have it in a register. */
static void must_be_of_code(const char *path, __u64 address, const struct unwind_rule *have)
{
	if (have && ((have->cfa != UNWIND_CFA_REG && have->cfa != UNWIND_CFA_CLONE) ||
		     (have->ra == UNWIND_RA_CFA ?
			      have->ra_off >= 0 || have->ra_off % 8 :
			      have->ra != UNWIND_RA_REG || have->ra_off != UNWIND_REG_RA)))
		fail_msg("%s at %llx: there is no frame", path, address);
}

/* Compares all addresses of an executable segment. Returns how many have a frame. */
static size_t compare_segment(const char *path, const struct oracle *o, const struct row_table *t,
			      const GElf_Phdr *p)
{
	size_t covered = 0;

	for (__u64 address = p->p_vaddr; address < p->p_vaddr + p->p_filesz;) {
		__u64 left, offset = offset_of(o->elf, address, &left);
		Dwarf_Addr start, end;
		Dwarf_Frame *frame;
		const struct unwind_rule *checked;
		struct unwind_rule want;
		bool signal;

		if (dwarf_cfi_addrframe(o->cfi, address, &frame)) {
			must_be_of_code(path, address, row_table_find(t, offset));
			address++;
			continue;
		}
		assert_int_equal(dwarf_frame_info(frame, &start, &end, &signal), UNWIND_REG_RA);
		want = expected_rule(frame, signal);
		assert_true(start <= address && address < end);
		checked = NULL;
		for (; address < end; address++, offset++, covered++) {
			const struct unwind_rule *have = row_table_find(t, offset);

			if (!checked || have != checked)
				must_equal(path, address, have, &want);
			checked = have;
		}
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
		for (size_t k = 0; k < (getenv("KRAIT_MATRIX") ? 1 : found.gl_pathc); k++, files++)
			compare_file(found.gl_pathv[k]);
		globfree(&found);
	}
	assert_true(files >= 3);
}

/* ---- other sections ----------------------------------------------------------------------------- */

static const char program[] =
	"int outside(int *);\n"
	"int deep(int n) { int a[64]; a[n & 63] = n; return n ? deep(n - 1) + outside(a) : 1; }\n"
	"int vary(int n) { int a[n]; return outside(a) + deep(n); }\n";

/* Builds a library from that program and makes its rows. */
static bool build_rows(const char *folder, const char *flags, const char *last,
		       struct row_table *ret)
{
	char command[512], path[TEST_FOLDER_MAX + 16];
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/a.c", folder);
	test_file_put(path, program);
	snprintf(command, sizeof(command),
		 "cd %s && gcc -O2 -g -fPIC -shared %s -o a.so a.c >/dev/null 2>&1 && %s", folder,
		 flags, last);
	snprintf(path, sizeof(path), "%s/a.so", folder);
	if (system(command))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_rows(fd, ret), 0);
	return true;
}

/* Where its section with that name is. */
static void find_section(const char *folder, const char *name, __u64 *ret_start, __u64 *ret_end)
{
	char path[TEST_FOLDER_MAX + 16];
	cleanup_close int fd = -1;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;
	Elf *elf;

	snprintf(path, sizeof(path), "%s/a.so", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	do {
		section = elf_nextscn(elf, section);
		assert_non_null(gelf_getshdr(section, &header));
	} while (strcmp(elf_strptr(elf, names, header.sh_name), name));
	*ret_start = header.sh_offset;
	*ret_end = header.sh_offset + header.sh_size;
	elf_end(elf);
}

/*
 * The same code gives the same rows, whichever section describes it; every build contains the start
 * files' .eh_frame.
 */
static void other_sections_say_the_same(void **state)
{
	static const struct {
		const char *flags, *last;
	} cases[] = {
		{ "-fno-asynchronous-unwind-tables -fno-unwind-tables", "true" },
		{ "", "objcopy --rename-section .eh_frame=.bolt.org.eh_frame a.so" },
	};
	char folder[TEST_FOLDER_MAX];
	struct row_table whole, other;
	__u64 start, end;
	size_t rules = 0;

	test_folder_make(folder);
	if (!build_rows(folder, "", "true", &whole)) {
		test_folder_remove(folder);
		skip();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!build_rows(folder, cases[i].flags, cases[i].last, &other))
			continue;
		/* From the first function on. */
		find_section(folder, ".text", &start, &end);
		for (__u64 at = start; at < end; at++) {
			const struct unwind_rule *want = row_table_find(&whole, at);
			const struct unwind_rule *have = row_table_find(&other, at);

			/*
			 * Start files without a description have rows from reading code: either is
			 * fine.
			 */
			if (!want || want->ra == UNWIND_RA_UNDEFINED)
				continue;
			assert_non_null(have);
			assert_memory_equal(have, want, sizeof(*have));
			rules += want->cfa != UNWIND_CFA_NONE;
		}
		row_table_free(&other);
	}
	assert_true(rules > 100);
	row_table_free(&whole);
	test_folder_remove(folder);
}

/* Data in a segment of code, as older linkers make it, is not read as code: that takes long, too. */
static void data_among_code_has_no_rows(void **state)
{
	static const char function[] = "0x55,0x48,0x89,0xe5,0x5d,0xc3,0x66,0x90,"
				       "0x66,0x90,0x66,0x90,0x66,0x90,0x66,0x90,";
	char folder[TEST_FOLDER_MAX], path[TEST_FOLDER_MAX + 16], text[512];
	struct row_table t;
	__u64 start, end;

	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/data.h", folder);
	snprintf(text, sizeof(text),
		 "const unsigned char data[] __attribute__((aligned(64))) = { %s%s%s%s };\n",
		 function, function, function, function);
	test_file_put(path, text);
	if (!build_rows(folder, "-Wl,-z,noseparate-code -include data.h", "true", &t)) {
		test_folder_remove(folder);
		skip();
	}
	find_section(folder, ".rodata", &start, &end);
	assert_true(end - start >= 64);
	for (__u64 at = start; at < end; at++)
		assert_null(row_table_find(&t, at));
	find_section(folder, ".plt", &start, &end);
	assert_non_null(row_table_find(&t, start));
	row_table_free(&t);
	test_folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_sections_say_the_same),
		cmocka_unit_test(data_among_code_has_no_rows),
		cmocka_unit_test(every_address_of_real_files_is_as_elfutils_says),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
