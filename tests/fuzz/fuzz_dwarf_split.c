/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_dwarf_split.c - any bytes as a .dwo file or a package, for a skeleton whose version and id
 * precede them: answers about functions end, and names are valid texts.
 */
#include <linux/types.h>
#include <dwarf.h>
#include <elf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/dwarf_split.h"
#include "util/cleanup.h"

#define DIES_MAX 2000U
#define ID_SIZE 8U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a skeleton ---------------------------------------------------------------------------------- */

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_addr\0.debug_ranges\0.shstrtab";

struct skeleton {
	Elf64_Ehdr file;
	Elf64_Shdr sections[6];
	char names[sizeof(names)];
	__u8 info[40], abbrev[32];
	__u64 addresses[16], ranges[16];
};

/* Its DIE has a lowest address, the bases of its addresses and ranges, and in version 4 its id. */
static const __u8 abbrev_5[] = { 1, 0x4a, 0, 0x11, 1, 0x73, 0x17, 0, 0, 0 };
static const __u8 abbrev_4[] = { 1,    0x11, 0,	   0x11, 1, 0xb3, 0x42, 0x17, 0xb2,
				 0x42, 0x17, 0xb1, 0x42, 7, 0,	  0,	0 };

static __u8 *put(__u8 *at, __u64 value, unsigned size)
{
	memcpy(at, &value, size);
	return at + size;
}

static void put_info(struct skeleton *s, bool old, __u64 id)
{
	__u8 *at = s->info + 4;

	at = put(at, old ? 4 : 5, 2);
	if (!old)
		at = put(put(at, DW_UT_skeleton, 1), 8, 1);
	at = put(at, 0, 4);
	at = old ? put(at, 8, 1) : put(at, id, ID_SIZE);
	at = put(put(put(at, 1, 1), 0x1000, 8), 0, 4);
	if (old)
		at = put(put(at, 0, 4), id, ID_SIZE);
	put(s->info, (__u64)(at - s->info) - 4, 4);
	s->sections[1].sh_size = (__u64)(at - s->info);
}

static void put_section(struct skeleton *s, unsigned number, const char *name, const void *data,
			size_t size)
{
	const char *at = memmem(names, sizeof(names), name, strlen(name));

	s->sections[number] =
		(Elf64_Shdr){ .sh_name = (__u32)(at - names),
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = (__u64)((const char *)data - (const char *)s),
			      .sh_size = size,
			      .sh_addralign = 1 };
}

static void make_skeleton(struct skeleton *s, bool old, __u64 id)
{
	*s = (struct skeleton){
		.file = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(s->file),
			  .e_shoff = offsetof(struct skeleton, sections),
			  .e_shentsize = sizeof(s->sections[0]),
			  .e_shnum = 6,
			  .e_shstrndx = 5 },
	};
	memcpy(s->names, names, sizeof(names));
	memcpy(s->abbrev, old ? abbrev_4 : abbrev_5, old ? sizeof(abbrev_4) : sizeof(abbrev_5));
	for (unsigned i = 0; i < 16; i++)
		s->addresses[i] = s->ranges[i] = 0x1000 + i * 16;
	put_section(s, 2, ".debug_abbrev", s->abbrev, sizeof(s->abbrev));
	put_section(s, 3, ".debug_addr", s->addresses, sizeof(s->addresses));
	put_section(s, 4, ".debug_ranges", s->ranges, sizeof(s->ranges));
	put_section(s, 5, ".shstrtab", s->names, sizeof(s->names));
	s->sections[5].sh_type = SHT_STRTAB;
	put_section(s, 1, ".debug_info", s->info, 0);
	put_info(s, old, id);
}

/* ---- what a file says ---------------------------------------------------------------------------- */

struct walk {
	unsigned dies, pieces;
	size_t length;
};

static int note_piece(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct walk *w = ctx;

	if (start >= end)
		abort();
	return ++w->pieces > 2 * DWARF_SPLIT_BYTES_MAX;
}

static void follow(struct walk *w, struct dwarf_split *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > 16 || dwarf_child(parent, &die))
		return;
	do {
		cleanup_free char *name = NULL;
		int tag = dwarf_tag(&die);

		if (w->dies++ > DIES_MAX)
			return;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			name = dwarf_function_name(s, &die);
			w->length += name ? strlen(name) : 0;
			dwarf_pieces(s, &die, note_piece, w);
		}
		follow(w, s, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static void read_half(struct walk *w, const struct dwo_file *file, struct skeleton *image, __u64 id)
{
	Elf *elf = elf_memory((char *)image, sizeof(*image));
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	struct dwarf_split *s = NULL;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	if (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL))
		abort();
	if (!dwarf_split__new(&s, file, &die, id)) {
		if (dwarf_split__bytes(s) > DWARF_SPLIT_BYTES_MAX + 4096)
			abort();
		follow(w, s, dwarf_split__unit(s), 0);
		dwarf_split__free(s);
	}
	dwarf_end(dwarf);
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwo_file file;
	struct skeleton image;
	struct walk w = { 0 };
	__u64 id;
	int fd;

	if (size < 1 + ID_SIZE)
		return 0;
	memcpy(&id, data + 1, ID_SIZE);
	fd = memfd_create("dwo", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1 + ID_SIZE, size - 1 - ID_SIZE) < 0)
		abort();
	elf_version(EV_CURRENT);
	make_skeleton(&image, data[0] & 1, id);
	if (!dwo_file_open(&file, fd)) {
		read_half(&w, &file, &image, id);
		dwo_file_close(&file);
	}
	close(fd);
	return w.length > 1UL << 40;
}
