/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/mapped_image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/proc/maps.h"
#include "base/data/cleanup.h"

#define CHUNK 65536
/* As elsewhere: linkers make about 15, and 40. */
#define PHDRS_MAX 64
#define DYNAMIC_MAX 512

static bool same_file(const struct maps_line *a, const struct maps_line *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Finds the file that is mapped there. */
static int find_file(int dir, __u64 addr, struct maps_line *ret)
{
	cleanup_maps struct maps maps;
	int r = maps_open_at(&maps, dir);

	if (r)
		return r;
	while ((r = maps_next(&maps, ret)) > 0)
		if (addr >= ret->start && addr < ret->end)
			return ret->inode ? 0 : -ENOENT;
	return r ? r : -ENOENT;
}

/* Pages that nobody can read stay holes. */
static int copy(int fd, const struct memory *memory, const struct maps_line *m)
{
	__u8 chunk[CHUNK];

	for (__u64 at = 0, len; at < m->end - m->start; at += len) {
		int r;

		len = m->end - m->start - at < CHUNK ? m->end - m->start - at : CHUNK;
		r = memory_read(memory, m->start + at, chunk, len);
		if (r == -EFAULT)
			continue;
		if (r)
			return r;
		if (pwrite(fd, chunk, len, (off_t)(m->offset + at)) != (ssize_t)len)
			return -ENOMEM;
	}
	return 0;
}

/* Copies all that is mapped of it. *ret_base: where its beginning is. */
static int copy_all(int fd, int dir, const struct memory *memory, const struct maps_line *file,
		    __u64 *budget, __u64 *ret_base)
{
	cleanup_maps struct maps maps;
	struct maps_line m;
	int r = maps_open_at(&maps, dir);

	*ret_base = 0;
	while (!r && (r = maps_next(&maps, &m)) > 0) {
		r = 0;
		if (!same_file(&m, file) || !(m.prot & MAPPING_READ))
			continue;
		/* A process may say that it is anywhere in a file of any size. */
		if (m.offset > 16ULL * MAPPED_IMAGE_MAX || m.end - m.start > *budget)
			return -E2BIG;
		*budget -= m.end - m.start;
		/* A library may be loaded twice; the first copy is as good as the second. */
		if (!m.offset && *ret_base)
			break;
		if (!m.offset)
			*ret_base = m.start;
		r = copy(fd, memory, &m);
	}
	if (r)
		return r;
	return *ret_base ? 0 : -ENOENT;
}

static bool is_address(Elf64_Sxword tag)
{
	return tag == DT_SYMTAB || tag == DT_STRTAB || tag == DT_HASH || tag == DT_GNU_HASH ||
	       tag == DT_RELA || tag == DT_JMPREL || tag == DT_PLTGOT || tag == DT_VERSYM ||
	       tag == DT_VERDEF || tag == DT_VERNEED;
}

/*
 * The loader has replaced addresses in the dynamic segment by those in the process (glibc,
 * elf/get-dynamic-info.h: ADJUST_DYN_INFO): puts the file's back.
 */
static void unload_dynamic(int fd, const Elf64_Phdr *p, __u64 base)
{
	for (unsigned i = 0; i < DYNAMIC_MAX && i < p->p_filesz / sizeof(Elf64_Dyn); i++) {
		off_t at = (off_t)(p->p_offset + i * sizeof(Elf64_Dyn));
		Elf64_Dyn dyn;

		if (pread(fd, &dyn, sizeof(dyn), at) != sizeof(dyn) || dyn.d_tag == DT_NULL)
			return;
		if (!is_address(dyn.d_tag) || dyn.d_un.d_ptr < base)
			continue;
		dyn.d_un.d_ptr -= base;
		if (pwrite(fd, &dyn, sizeof(dyn), at) != sizeof(dyn))
			return;
	}
}

/* Makes of what was loaded what was in the file, and leaves out what was not loaded. */
static void unload(int fd, __u64 base)
{
	Elf64_Ehdr head;
	Elf64_Phdr p;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	head.e_shoff = 0;
	head.e_shnum = 0;
	head.e_shstrndx = 0;
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) || head.e_type != ET_DYN)
		return;
	for (unsigned i = 0; i < head.e_phnum && i < PHDRS_MAX; i++) {
		off_t at = (off_t)(head.e_phoff + i * sizeof(p));

		if (pread(fd, &p, sizeof(p), at) != sizeof(p))
			return;
		if (p.p_type == PT_DYNAMIC)
			unload_dynamic(fd, &p, base);
	}
}

int mapped_image(int dir, const struct memory *memory, __u64 addr, __u64 *budget)
{
	cleanup_close int fd = -1;
	struct maps_line file;
	__u64 base;
	int r = find_file(dir, addr, &file);

	if (r)
		return r;
	fd = memfd_create("krait-image", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_all(fd, dir, memory, &file, budget, &base);
	if (r)
		return r;
	unload(fd, base);
	return take_fd(&fd);
}
