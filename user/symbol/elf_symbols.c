/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/elf_symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/plt.h"
#include "symbol/symbol_parts.h"

/* Larger files are not looked into; the largest libraries known have 2 GiB. */
#define FILE_SIZE_MAX (4LL << 30)

struct elf_symbols {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct symbol_parts parts;
	struct plt *plt; /* NULL before it is needed */
};

/* The usual search, which would ask servers as well if the environment names some. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	int fd = dwfl_build_id_find_debuginfo(module, data, name, base, file, link, crc, ret_name);

	if (fd >= 0 || (servers && *servers))
		return fd;
	return dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, ret_name);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debug_file,
	.section_address = dwfl_offline_section_address,
};

static int open_module(struct elf_symbols *s, const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_SIZE_MAX) {
		close(fd);
		return -ENOEXEC;
	}
	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl) {
		dwfl_report_begin(s->dwfl);
		s->module = dwfl_report_elf(s->dwfl, "", name, fd, 0, false);
	}
	/* The descriptor is the module's from here on. */
	if (!s->module) {
		close(fd);
		return -ENOEXEC;
	}
	dwfl_report_end(s->dwfl, NULL, NULL);
	return 0;
}

int elf_symbols__new(struct elf_symbols **ret, const char *path, const char *name)
{
	struct elf_symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = open_module(s, path, name);
	if (err) {
		elf_symbols__free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void elf_symbols__free(struct elf_symbols *s)
{
	if (!s)
		return;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	plt__free(s->plt);
	symbol_parts_free(&s->parts);
	free(s);
}

/* The address that the file gives to what is at that offset. */
static bool address_of(Elf *elf, __u64 offset, GElf_Addr *ret)
{
	GElf_Phdr phdr;
	size_t cnt;

	if (elf_getphdrnum(elf, &cnt))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    offset < phdr.p_offset || offset - phdr.p_offset >= phdr.p_filesz)
			continue;
		*ret = phdr.p_vaddr + (offset - phdr.p_offset);
		return true;
	}
	return false;
}

/* The name and start of what covers the address; NULL none. */
static const char *ask(struct elf_symbols *s, GElf_Addr address, GElf_Addr *ret_start)
{
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(s->module, address, &offset, &symbol, NULL, NULL, NULL);

	/* Without a size the nearest symbol is a guess, unless hand-written code has it close by. */
	if (!name || !*name || (!symbol.st_size && offset >= SYMBOL_SIZELESS) ||
	    (symbol.st_size && offset >= symbol.st_size))
		return NULL;
	*ret_start = address - offset;
	return name;
}

/* The name and start of the stub at an address of the file; NULL none. */
static const char *ask_plt(struct elf_symbols *s, Elf *elf, GElf_Addr address, GElf_Addr *ret_start)
{
	if (!s->plt)
		s->plt = plt__new(elf);
	return s->plt ? plt__find(s->plt, address, ret_start) : NULL;
}

const char *elf_symbols__find(struct elf_symbols *s, __u64 file_offset, __u64 *ret_start)
{
	GElf_Addr bias, address, start = 0;
	struct symbol_part *part;
	const char *name;
	Elf *elf = dwfl_module_getelf(s->module, &bias);

	if (!elf || !address_of(elf, file_offset, &address))
		return NULL;
	name = ask_plt(s, elf, address, &start);
	if (name) {
		*ret_start = file_offset - (address - start);
		return name;
	}
	address += bias;
	part = symbol_parts_find(&s->parts, s->module, address);
	if (part && !part->asked) {
		part->asked = true;
		part->name = ask(s, address, &part->symbol_start);
	}
	name = part ? part->name : ask(s, address, &start);
	if (name)
		*ret_start = file_offset - (address - (part ? part->symbol_start : start));
	return name;
}

#ifdef __x86_64__
#define DWARF_RSP 7
/* Where a stub that has not been bound yet has pushed its number (psABI for x86-64, 5.2). */
#define PLT_PUSHED 11

/* The frame's address is right above the return address, and is the stack pointer plus so much. */
static int word_of(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t cnt;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || cnt != 1 || ops[0].atom != DW_OP_bregx ||
	    ops[0].number != DWARF_RSP || !ops[0].number2 || ops[0].number2 % 8 ||
	    ops[0].number2 > 1024)
		return -1;
	return (int)(ops[0].number2 / 8) - 1;
}

int elf_symbols__return_word(struct elf_symbols *s, __u64 file_offset)
{
	GElf_Addr bias, cfi_bias, address, start;
	Elf *elf = dwfl_module_getelf(s->module, &bias);
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(s->module, &cfi_bias);
	Dwarf_Frame *frame;
	int word;

	if (!elf || !address_of(elf, file_offset, &address))
		return -1;
	if (ask_plt(s, elf, address, &start))
		return address - start < PLT_PUSHED ? 0 : -1;
	if (!cfi || dwarf_cfi_addrframe(cfi, address + bias - cfi_bias, &frame))
		return -1;
	word = word_of(frame);
	free(frame);
	return word;
}
#else
/* The return address is in a register, which records do not have. */
int elf_symbols__return_word(struct elf_symbols *s, __u64 file_offset)
{
	return -1;
}
#endif

unsigned elf_symbols__build_id(struct elf_symbols *s, __u8 ret[BUILD_ID_MAX])
{
	const unsigned char *bits;
	GElf_Addr at;
	int size = dwfl_module_build_id(s->module, &bits, &at);

	if (size <= 0 || size > BUILD_ID_MAX)
		return 0;
	memcpy(ret, bits, (size_t)size);
	return (unsigned)size;
}
