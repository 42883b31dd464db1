/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/core/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look/core/core_notes.h"
#include "base/data/cleanup.h"
#include "base/data/search.h"
#include "base/data/vec.h"

/* The start of a mapped file that the kernel puts into every core. */
#define FIRST_PAGE 4096

static int read_at(int fd, __u64 offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static const struct core_segment *find_segment(const struct core_file *c, __u64 addr)
{
	const size_t behind = sorted_below(c->segment_cnt, i, c->segments[i].start <= addr);
	const struct core_segment *s = behind ? &c->segments[behind - 1] : NULL;

	return s && addr - s->start < s->size ? s : NULL;
}

static const struct core_mapping *find_mapping(const struct core_file *c, __u64 addr)
{
	const size_t behind = sorted_below(c->mapping_cnt, i, c->mappings[i].start <= addr);

	return behind && addr < c->mappings[behind - 1].end ? &c->mappings[behind - 1] : NULL;
}

static ssize_t read_known(const struct core_file *c, __u64 addr, void *buf, size_t len)
{
	const __u64 at = addr - c->known.addr;

	if (!c->known.addr || at >= sizeof(c->known.text))
		return -EFAULT;
	len = sizeof(c->known.text) - at < len ? sizeof(c->known.text) - at : len;
	memcpy(buf, c->known.text + at, len);
	return (ssize_t)len;
}

/* Reads a part that comes from one place. Returns how many bytes, or -EFAULT. */
static ssize_t read_part(const struct core_file *c, __u64 addr, void *buf, size_t len)
{
	const struct core_segment *s = find_segment(c, addr);
	const struct core_mapping *m;
	__u64 at = s ? addr - s->start : 0, left;

	if (s && at < s->file_size) {
		left = s->file_size - at;
		len = left < len ? (size_t)left : len;
		return read_at(c->fd, s->offset + at, buf, len) ? -EFAULT : (ssize_t)len;
	}
	m = find_mapping(c, addr);
	/* What may have been written to differs from the file. */
	if (!m || (s && s->writable) || c->files[m->file].fd < 0)
		return read_known(c, addr, buf, len);
	left = m->end - addr;
	len = left < len ? (size_t)left : len;
	if (s && s->start + s->size - addr < len)
		len = (size_t)(s->start + s->size - addr);
	return read_at(c->files[m->file].fd, m->offset + (addr - m->start), buf, len) ?
		       -EFAULT :
		       (ssize_t)len;
}

static int read_memory(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct core_file *c = ctx;

	for (size_t done = 0; done < len;) {
		ssize_t n = addr + done < addr ?
				    -EFAULT :
				    read_part(c, addr + done, (char *)buf + done, len - done);

		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

/* ---- headers ------------------------------------------------------------------------------------ */

static int add_segment(struct core_file *c, const GElf_Phdr *p)
{
	struct core_segment s = { .start = p->p_vaddr,
				  .size = p->p_memsz,
				  .file_size = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz,
				  .offset = p->p_offset,
				  .writable = p->p_flags & PF_W,
				  .executable = p->p_flags & PF_X };

	/* A truncated core has less than it says. */
	if (s.offset > c->size || s.start + s.size < s.start)
		return 0;
	if (s.file_size > c->size - s.offset)
		s.file_size = c->size - s.offset;
	if (c->segment_cnt == CORE_SEGMENTS_MAX)
		return -E2BIG;
	if (vec_reserve(c->segments, c->segment_cap, c->segment_cnt + 1))
		return -ENOMEM;
	c->segments[c->segment_cnt++] = s;
	return 0;
}

static int add_notes(struct core_file *c, const GElf_Phdr *p)
{
	cleanup_free void *notes = NULL;

	if (p->p_filesz > CORE_NOTES_MAX)
		return -E2BIG;
	notes = malloc(p->p_filesz + 1);
	if (!notes)
		return -ENOMEM;
	if (read_at(c->fd, p->p_offset, notes, p->p_filesz))
		return -ENOEXEC;
	return core_notes_read(c, notes, p->p_filesz);
}

static int read_headers(struct core_file *c, Elf *elf)
{
	size_t cnt;
	int err = elf_getphdrnum(elf, &cnt) ? -ENOEXEC : 0;

	for (size_t i = 0; !err && i < cnt; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			err = -ENOEXEC;
		else if (p.p_type == PT_LOAD)
			err = add_segment(c, &p);
		else if (p.p_type == PT_NOTE)
			err = add_notes(c, &p);
	}
	return err;
}

static int compare_segments(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static const char *check(Elf *elf)
{
	GElf_Ehdr head;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
		return "it is not an ELF file";
	if (head.e_type != ET_CORE)
		return "it is not a core file";
	if (gelf_getclass(elf) != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_machine != ARCH_ELF_MACHINE)
		return "it is from another kind of machine";
	return NULL;
}

int core_file_open(struct core_file *c, int fd, char *why, size_t why_size)
{
	const char *wrong;
	struct stat st;
	Elf *elf;
	int err;

	*c = (struct core_file){ .fd = fd, .memory = { .read = read_memory, .ctx = c } };
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(why, why_size, "it is not a regular file");
		return -ENOEXEC;
	}
	c->size = (__u64)st.st_size;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	wrong = check(elf);
	err = wrong ? -ENOEXEC : read_headers(c, elf);
	if (!wrong && !err && !c->thread_cnt)
		wrong = "it has no threads";
	if (err && !wrong)
		wrong = err == -ENOMEM ? "out of memory" :
			err == -E2BIG  ? "it is larger than krait takes" :
					 "its notes are malformed";
	elf_end(elf);
	if (wrong) {
		snprintf(why, why_size, "%s", wrong);
		core_file_close(c);
		return -ENOEXEC;
	}
	if (c->segment_cnt)
		qsort(c->segments, c->segment_cnt, sizeof(*c->segments), compare_segments);
	if (c->mapping_cnt)
		qsort(c->mappings, c->mapping_cnt, sizeof(*c->mappings), compare_mappings);
	return 0;
}

void core_file_close(struct core_file *c)
{
	for (__u32 i = 0; i < c->file_cnt; i++)
		cleanup_close_(&c->files[i].fd);
	free(c->segments);
	free(c->mappings);
	free(c->files);
	free(c->threads);
	free(c->names);
	*c = (struct core_file){ .fd = -1 };
}

__u32 core_file_code(const struct core_file *c, __u32 *at, struct core_mapping *ret, __u32 cnt)
{
	__u32 found = 0;

	for (; *at < c->mapping_cnt && found < cnt; ++*at) {
		const struct core_segment *s = find_segment(c, c->mappings[*at].start);

		/* gdb omits unmodified parts of files, including code. */
		if (!s || s->executable)
			ret[found++] = c->mappings[*at];
	}
	return found;
}

int core_file_give(struct core_file *c, __u32 file, int fd)
{
	__u8 ours[FIRST_PAGE], theirs[FIRST_PAGE];
	const struct core_segment *s;
	int copy;

	if (file >= c->file_cnt || c->files[file].fd >= 0)
		return -EINVAL;
	s = find_segment(c, c->files[file].base);
	/* The core lacks the beginning of the mapped file, so nothing proves that this is it. */
	if (!s || s->start + s->file_size - c->files[file].base < sizeof(ours) ||
	    c->files[file].base - s->start >= s->file_size ||
	    c->memory.read(c, c->files[file].base, ours, sizeof(ours)) ||
	    read_at(fd, 0, theirs, sizeof(theirs)) || memcmp(ours, theirs, sizeof(ours)))
		return -ESTALE;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	c->files[file].fd = copy;
	return 0;
}
