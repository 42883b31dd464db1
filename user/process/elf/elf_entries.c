/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_entries.h"

#include <stddef.h>

#include "process/elf/elf_file.h"
#include "process/elf/elf_symbol.h"

/*
 * Python/pylifecycle.c, Modules/main.c. All of them, since the compiler may have inlined one into
 * another.
 */
static const char *const functions[ELF_ENTRIES_MAX] = {
	"Py_BytesMain",	   "Py_Main",
	"Py_InitializeEx", "Py_InitializeFromConfig",
	"Py_Initialize",   "Py_InitializeFromInitConfig",
};

__u32 elf_entries_find(struct elf_file *f, __u64 runtime_vaddr, struct elf_entry *ret)
{
	__u64 offset, len;
	Elf64_Sym sym;
	__u32 cnt = 0;

	for (size_t i = 0; i < ELF_ENTRIES_MAX; i++) {
		if (elf_symbol_function(f, functions[i], &sym) ||
		    !elf_file_offset(f, sym.st_value, &offset, &len))
			continue;
		ret[cnt++] = (struct elf_entry){ offset, runtime_vaddr - sym.st_value };
	}
	return cnt;
}
