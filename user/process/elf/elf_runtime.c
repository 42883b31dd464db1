/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_runtime.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "process/elf/a64_code.h"
#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"
#include "process/elf/elf_table.h"
#include "process/elf/elf_version.h"

/* ---- elf alone --------------------------------------------------------------------------------- */

/*
 * Is the interpreter all there is in a file that has a Python runtime?
 *
 * The file's name says nothing: interpreters are copied and renamed, and a program that embeds
 * Python may be called anything. A library is libpython if its own build called it so (DT_SONAME).
 * A program is the interpreter if its main() does nothing but call Py_BytesMain() or Py_Main(), as
 * CPython's Programs/python.c. Everything else may have code of its own besides.
 */

#define SONAME "libpython"
/* Bytes of _start to look at; main() is set up within the first 40 (glibc), or 60 (musl). */
#define START_MAX 80
/* A call, what is needed to align the stack for it, and endbr64. */
#define MAIN_MAX 20
/* From what _start hands over to main(): where it cannot refer to main() itself, to a jump there (arm64). */
#define JUMPS_MAX 2

static __u64 relative(__u64 next, const __u8 *number)
{
	__s32 distance;

	memcpy(&distance, number, sizeof(distance));
	return next + (__u64)(__s64)distance;
}

/*
 * The entry point hands main() to __libc_start_main(), as its first argument: "lea main(%rip),
 * %rdi" or "mov $main, %rdi".
 */
static bool x86_find_main(const __u8 *code, __u64 addr, __u64 *ret)
{
	static const __u8 lea[] = { 0x48, 0x8d, 0x3d }, mov[] = { 0x48, 0xc7, 0xc7 };

	for (size_t i = 0; i + 7 <= START_MAX; i++) {
		if (!memcmp(code + i, lea, sizeof(lea)))
			*ret = relative(addr + i + 7, code + i + 3);
		else if (!memcmp(code + i, mov, sizeof(mov)))
			*ret = relative(0, code + i + 3);
		else
			continue;
		return true;
	}
	return false;
}

/*
 * What main() calls if that is all it does: "jmp", or without optimisation "sub $n, %rsp; call; add
 * $n, %rsp; ret".
 */
static bool x86_only_call(const __u8 *c, __u64 addr, __u64 *ret)
{
	static const __u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sub[] = { 0x48, 0x83, 0xec };

	if (!memcmp(c, endbr, sizeof(endbr))) {
		c += sizeof(endbr);
		addr += sizeof(endbr);
	}
	if (*c == 0xe9) {
		*ret = relative(addr + 5, c + 1);
		return true;
	}
	if (*c == 0xeb) {
		*ret = addr + 2 + (__u64)(__s64)(__s8)c[1];
		return true;
	}
	if (memcmp(c, sub, sizeof(sub)) || c[4] != 0xe8 || c[9] != 0x48 || c[10] != 0x83 ||
	    c[11] != 0xc4 || c[12] != c[3] || c[13] != 0xc3)
		return false;
	*ret = relative(addr + 9, c + 5);
	return true;
}

static __u32 word_at(const __u8 *code, size_t at)
{
	__u32 word;

	memcpy(&word, code + 4 * at, sizeof(word));
	return word;
}

/* "adrp x0, main; add x0, x0, low bits of main", or "movz x0, main; movk ..." (glibc's start.S) */
static bool a64_find_main(const __u8 *code, __u64 addr, __u64 *ret)
{
	__u64 at = 0;
	bool begun = false;

	for (size_t i = 0; i < START_MAX / 4; i++) {
		const __u32 insn = word_at(code, i);

		if (a64_adrp(insn, 0, addr + 4 * i, &at))
			continue;
		if ((insn & 0xffc003ff) == 0x91000000) {
			*ret = at + (insn >> 10 & 0xfff);
			return at;
		} else if ((insn & 0xff80001f) == 0xd2800000) {
			at = (__u64)(insn >> 5 & 0xffff) << 16 * (insn >> 21 & 3);
			begun = true;
		} else if (begun && (insn & 0xff80001f) == 0xf2800000) {
			at |= (__u64)(insn >> 5 & 0xffff) << 16 * (insn >> 21 & 3);
			*ret = at;
			if (!(insn >> 21 & 3))
				return true;
		}
	}
	return false;
}

/* Only "b": without optimisation it cannot be told. */
static bool a64_only_call(const __u8 *code, __u64 addr, __u64 *ret)
{
	__u32 insn = word_at(code, 0);
	size_t i = 0;

	/* bti c, paciasp */
	while (i < 2 && (insn == 0xd503245f || insn == 0xd503233f))
		insn = word_at(code, ++i);
	if (insn >> 26 != 0x05)
		return false;
	*ret = addr + 4 * i + (__u64)a64_signed_bits(insn, 0, 26) * 4;
	return true;
}

/* By the file's machine: both are given that many bytes of code, and its address. */
static const struct entry_form {
	__u16 machine;
	bool (*find_main)(const __u8 code[START_MAX], __u64 addr, __u64 *ret);
	bool (*only_call)(const __u8 code[MAIN_MAX], __u64 addr, __u64 *ret);
} entry_forms[] = {
	{ EM_X86_64, x86_find_main, x86_only_call },
	{ EM_AARCH64, a64_find_main, a64_only_call },
};

static bool is_function(struct elf_file *f, const char *name, __u64 addr)
{
	Elf64_Sym sym;

	if (elf_symbol_function(f, name, &sym) && elf_symbol_function_in_tables(f, name, &sym))
		return false;
	return sym.st_value == addr;
}

static bool only_runs_python(struct elf_file *f, const struct entry_form *form)
{
	__u8 start[START_MAX], code[MAIN_MAX];
	__u64 addr;

	if (elf_file_read_vaddr(f, f->ehdr.e_entry, start, sizeof(start)) ||
	    !form->find_main(start, f->ehdr.e_entry, &addr))
		return false;
	for (int i = 0; i < JUMPS_MAX; i++) {
		if (elf_file_read_vaddr(f, addr, code, sizeof(code)) ||
		    !form->only_call(code, addr, &addr))
			return false;
		if (is_function(f, "Py_BytesMain", addr) || is_function(f, "Py_Main", addr))
			return true;
	}
	return false;
}

/* False: no, or it cannot be told. */
static bool elf_is_alone(struct elf_file *f)
{
	char soname[sizeof(SONAME)];
	int r = elf_symbol_soname(f, soname, sizeof(soname));

	if (!r)
		return !strcmp(soname, SONAME);
	for (size_t i = 0; f->ehdr.e_entry && i < sizeof(entry_forms) / sizeof(entry_forms[0]); i++)
		if (entry_forms[i].machine == f->ehdr.e_machine)
			return only_runs_python(f, &entry_forms[i]);
	return false;
}

/* ---- elf runtime ------------------------------------------------------------------------------- */

#define RUNTIME_SECTION ".PyRuntime"
#define RUNTIME_SYMBOL "_PyRuntime"
/* 3.6 and older have this instead of _PyRuntime (Python/pystate.c); we look for it only to say so. */
#define OLD_SYMBOL "_PyThreadState_Current"
/* The build ID is among the first notes. */
#define NOTES_MAX 1024

/* Searches len bytes of notes for the build ID. */
static void build_id_note(const __u8 *notes, size_t len, struct elf_runtime *ret)
{
	Elf64_Nhdr n;
	size_t pos = 0;

	while (len - pos >= sizeof(n)) {
		size_t name, desc;

		memcpy(&n, notes + pos, sizeof(n));
		name = pos + sizeof(n);
		if (n.n_namesz > len || n.n_descsz > len)
			return;
		desc = name + ((n.n_namesz + 3U) & ~3U);
		pos = desc + ((n.n_descsz + 3U) & ~3U);
		if (pos > len)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && n.n_descsz <= sizeof(ret->build_id)) {
			memcpy(ret->build_id, notes + desc, n.n_descsz);
			ret->build_id_len = n.n_descsz;
			return;
		}
	}
}

int elf_runtime_build_id(struct elf_file *f, struct elf_runtime *ret)
{
	__u8 notes[NOTES_MAX];

	*ret = (struct elf_runtime){ 0 };
	for (unsigned i = 0; i < f->phdr_cnt && !ret->build_id_len; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];
		size_t len = p->p_filesz < sizeof(notes) ? (size_t)p->p_filesz : sizeof(notes);
		int r;

		if (p->p_type != PT_NOTE)
			continue;
		r = elf_file_read(f, p->p_offset, notes, len);
		if (r == -ENODATA)
			continue;
		if (r)
			return r;
		build_id_note(notes, len, ret);
	}
	return 0;
}

/*
 * The link-time address of what the kernel calls the start of code, in every process that executes
 * the file: that of the lowest executable segment, not rounded (fs/binfmt_elf.c,
 * load_elf_binary()).
 */
static __u64 find_code_vaddr(const struct elf_file *f)
{
	__u64 lowest = ~0ULL;

	for (unsigned i = 0; i < f->phdr_cnt; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_vaddr < lowest)
			lowest = p->p_vaddr;
	}
	return lowest;
}

static int find_vaddr(struct elf_file *f, __u64 *ret_vaddr)
{
	Elf64_Sym sym;
	int r = elf_section_find(f, RUNTIME_SECTION, ret_vaddr);

	/* One damaged table does not spoil the others; an unreadable file does. */
	if (r == -ENOENT || r == -ENODATA) {
		r = elf_symbol_dynamic(f, RUNTIME_SYMBOL, &sym);
		if (r == -ENOENT || r == -ENODATA)
			r = elf_symbol_tables(f, RUNTIME_SYMBOL, &sym);
		if (r == -ENOENT || r == -ENODATA)
			r = elf_symbol_dynamic(f, OLD_SYMBOL, &sym);
		if (r)
			return r == -ENODATA ? -ENOENT : r;
		*ret_vaddr = sym.st_value;
	}
	return r;
}

static int find_runtime(struct elf_file *f, struct elf_runtime *ret)
{
	Elf64_Sym total;
	__u64 len;
	int r = find_vaddr(f, &ret->runtime_vaddr);

	if (r)
		return r;
	if (!elf_file_segment(f, ret->runtime_vaddr))
		return -ENOENT;
	r = elf_load_vaddr(f, &ret->load_vaddr);
	if (r)
		return r;
	ret->code_vaddr = find_code_vaddr(f);
	if (f->ehdr.e_type == ET_DYN)
		ret->entry_cnt = elf_entries_find(f, ret->runtime_vaddr, ret->entries);
	/* A copy that the linker moved to .bss has no bytes in the file: only live memory shows it. */
	if (elf_file_offset(f, ret->runtime_vaddr, &ret->table_off, &len)) {
		ret->table_len = len < sizeof(ret->table) ? (__u32)len : sizeof(ret->table);
		r = elf_file_read(f, ret->table_off, ret->table, ret->table_len);
		if (r)
			return r;
	}
	/* Py_REF_DEBUG, Objects/object.c: kept from 3.12 on for old extensions of such builds. */
	ret->debug = !elf_symbol_dynamic(f, "_Py_RefTotal", &total);
	ret->alone = elf_is_alone(f);
	if (!py_debug_table_has_cookie(ret->table, ret->table_len))
		ret->py_version = elf_version_find(f);
	return 0;
}

int elf_runtime_read(int fd, struct elf_runtime *ret)
{
	struct elf_file f;
	int r = elf_file_init(&f, fd);

	if (!r)
		r = elf_runtime_build_id(&f, ret);
	return r ? r : find_runtime(&f, ret);
}
