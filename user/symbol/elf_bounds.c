/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/elf_bounds.h"

#include <gelf.h>
#include <linux/types.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"

/* The index at the end of xz data: 16 bytes per block, and there are few. */
#define INDEX_MAX 65536
#define INDEX_MEMORY_MAX (4ULL << 20)

static bool read_all(int fd, void *buf, size_t len, __u64 at)
{
	return pread(fd, buf, len, (off_t)at) == (ssize_t)len;
}

/* The unpacked size that it claims; ~0 if unknown. A false claim runs into RLIMIT_AS. */
static __u64 unpacked_size(int fd, __u64 at, __u64 size)
{
	cleanup_free __u8 *list = NULL;
	__u8 footer[LZMA_STREAM_HEADER_SIZE];
	lzma_stream_flags flags;
	lzma_index *index = NULL;
	uint64_t memory = INDEX_MEMORY_MAX, unpacked = ~0ULL;
	size_t pos = 0;

	if (size < 2 * sizeof(footer) ||
	    !read_all(fd, footer, sizeof(footer), at + size - sizeof(footer)) ||
	    lzma_stream_footer_decode(&flags, footer) != LZMA_OK ||
	    flags.backward_size > INDEX_MAX || flags.backward_size > size - 2 * sizeof(footer))
		return ~0ULL;
	list = malloc(flags.backward_size);
	if (list &&
	    read_all(fd, list, flags.backward_size,
		     at + size - sizeof(footer) - flags.backward_size) &&
	    lzma_index_buffer_decode(&index, &memory, NULL, list, &pos, flags.backward_size) ==
		    LZMA_OK &&
	    lzma_index_stream_size(index) == size)
		unpacked = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return unpacked;
}

static bool section_is_too_much(int fd, Elf *elf, const GElf_Shdr *s, size_t names)
{
	const char *name;

	if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
		return s->sh_size / sizeof(Elf64_Sym) > ELF_SYMBOLS_MAX;
	name = s->sh_type == SHT_NOBITS ? NULL : elf_strptr(elf, names, s->sh_name);
	return name && !strcmp(name, ".gnu_debugdata") &&
	       (s->sh_size > ELF_DEBUGDATA_MAX ||
		unpacked_size(fd, s->sh_offset, s->sh_size) > ELF_DEBUGDATA_MAX);
}

static bool is_too_much(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	bool too_much = false;
	GElf_Shdr header;
	size_t names;

	if (elf && !elf_getshdrstrndx(elf, &names)) {
		while (!too_much && (section = elf_nextscn(elf, section)))
			too_much = gelf_getshdr(section, &header) &&
				   section_is_too_much(fd, elf, &header, names);
	}
	elf_end(elf);
	return too_much;
}

bool elf_bounds_exceeded(int fd, int debug_fd)
{
	elf_version(EV_CURRENT);
	return is_too_much(fd) || (debug_fd >= 0 && is_too_much(debug_fd));
}
