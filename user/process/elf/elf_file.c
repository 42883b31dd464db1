/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define ELF_DATA_NATIVE ELFDATA2LSB
#else
#define ELF_DATA_NATIVE ELFDATA2MSB
#endif

int elf_file_read(struct elf_file *f, __u64 off, void *buf, size_t len)
{
	size_t done = 0;

	if (off > f->size || len > f->size - off)
		return -ENODATA;
	if (f->budget < len + ELF_READ_COST)
		return -E2BIG;
	f->budget -= len + ELF_READ_COST;
	while (done < len) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(off + done));

		if (n > 0)
			done += (size_t)n;
		else if (n == 0)
			return -ENODATA; /* truncated since we asked for its size */
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static bool header_is_ours(const Elf64_Ehdr *e)
{
	return !memcmp(e->e_ident, ELFMAG, SELFMAG) && e->e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->e_ident[EI_DATA] == ELF_DATA_NATIVE &&
	       (e->e_type == ET_EXEC || e->e_type == ET_DYN) &&
	       e->e_phentsize == sizeof(Elf64_Phdr) && e->e_phnum > 0 &&
	       e->e_phnum <= ELF_PHDRS_MAX;
}

int elf_file_init(struct elf_file *ret, int fd)
{
	struct stat st;
	int r;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	ret->fd = fd;
	ret->size = (__u64)st.st_size;
	ret->budget = ELF_READ_BUDGET;
	r = elf_file_read(ret, 0, &ret->ehdr, sizeof(ret->ehdr));
	if (r)
		return r == -ENODATA ? -ENOEXEC : r;
	if (!header_is_ours(&ret->ehdr))
		return -ENOEXEC;
	ret->phdr_cnt = ret->ehdr.e_phnum;
	r = elf_file_read(ret, ret->ehdr.e_phoff, ret->phdrs,
			  ret->phdr_cnt * sizeof(ret->phdrs[0]));
	return r == -ENODATA ? -ENOEXEC : r;
}

const Elf64_Phdr *elf_file_segment(const struct elf_file *f, __u64 vaddr)
{
	for (unsigned i = 0; i < f->phdr_cnt; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_memsz)
			return p;
	}
	return NULL;
}

bool elf_file_offset(const struct elf_file *f, __u64 vaddr, __u64 *ret_off, __u64 *ret_len)
{
	const Elf64_Phdr *p = elf_file_segment(f, vaddr);
	__u64 rel;

	if (!p)
		return false;
	rel = vaddr - p->p_vaddr;
	if (rel >= p->p_filesz || p->p_offset > f->size || rel >= f->size - p->p_offset)
		return false;
	*ret_off = p->p_offset + rel;
	*ret_len = p->p_filesz - rel;
	if (*ret_len > f->size - *ret_off)
		*ret_len = f->size - *ret_off;
	return true;
}

int elf_file_read_vaddr(struct elf_file *f, __u64 vaddr, void *buf, size_t len)
{
	__u64 off, have;

	if (!elf_file_offset(f, vaddr, &off, &have) || have < len)
		return -ENODATA;
	return elf_file_read(f, off, buf, len);
}

int elf_file_section(struct elf_file *f, unsigned i, Elf64_Shdr *ret)
{
	if (i >= f->ehdr.e_shnum || f->ehdr.e_shentsize != sizeof(*ret) ||
	    f->ehdr.e_shoff > f->size)
		return -ENODATA;
	return elf_file_read(f, f->ehdr.e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

bool elf_file_string_is(struct elf_file *f, __u64 off, const char *s)
{
	size_t len = strlen(s) + 1;
	char buf[256];

	return len <= sizeof(buf) && !elf_file_read(f, off, buf, len) && !memcmp(buf, s, len);
}

int elf_file_section_named(struct elf_file *f, const char *name, unsigned *i, Elf64_Shdr *ret)
{
	Elf64_Shdr names;
	int r = elf_file_section(f, f->ehdr.e_shstrndx, &names);

	if (r)
		return r == -ENODATA ? -ENOENT : r; /* section headers are stripped */
	while (*i < f->ehdr.e_shnum) {
		r = elf_file_section(f, (*i)++, ret);
		if (r)
			return r;
		if (ret->sh_name < names.sh_size &&
		    elf_file_string_is(f, names.sh_offset + ret->sh_name, name))
			return 0;
	}
	return -ENOENT;
}
