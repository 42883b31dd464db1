/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/elf_alone.h"

#include <string.h>

#include "target/elf_file.h"
#include "target/elf_symbol.h"

#define SONAME "libpython"
/* Bytes of _start to look at; main() is set up within the first 40 (glibc), or 60 (musl). */
#define START_MAX 80
/* A call, what is needed to align the stack for it, and endbr64. */
#define MAIN_MAX 20

#ifdef __x86_64__
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
static bool find_main(struct elf_file *f, __u64 *ret)
{
	static const __u8 lea[] = { 0x48, 0x8d, 0x3d }, mov[] = { 0x48, 0xc7, 0xc7 };
	__u8 code[START_MAX];

	if (elf_file_read_vaddr(f, f->ehdr.e_entry, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 7 <= sizeof(code); i++) {
		if (!memcmp(code + i, lea, sizeof(lea)))
			*ret = relative(f->ehdr.e_entry + i + 7, code + i + 3);
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
static bool only_call(struct elf_file *f, __u64 addr, __u64 *ret)
{
	static const __u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sub[] = { 0x48, 0x83, 0xec };
	__u8 code[MAIN_MAX];
	const __u8 *c = code;

	if (elf_file_read_vaddr(f, addr, code, sizeof(code)))
		return false;
	if (!memcmp(c, endbr, sizeof(endbr)))
		c += sizeof(endbr);
	addr += (__u64)(c - code);
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
#else
static bool find_main(struct elf_file *f, __u64 *ret)
{
	return false;
}

static bool only_call(struct elf_file *f, __u64 addr, __u64 *ret)
{
	return false;
}
#endif

static bool is_function(struct elf_file *f, const char *name, __u64 addr)
{
	Elf64_Sym sym;

	if (elf_symbol_function(f, name, &sym) && elf_symbol_function_in_tables(f, name, &sym))
		return false;
	return sym.st_value == addr;
}

bool elf_is_alone(struct elf_file *f)
{
	char soname[sizeof(SONAME)];
	__u64 main, called;
	int r = elf_symbol_soname(f, soname, sizeof(soname));

	if (!r)
		return !strcmp(soname, SONAME);
	return f->ehdr.e_entry && find_main(f, &main) && only_call(f, main, &called) &&
	       (is_function(f, "Py_BytesMain", called) || is_function(f, "Py_Main", called));
}
