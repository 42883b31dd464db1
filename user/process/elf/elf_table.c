/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/elf/elf_table.h"

#include <errno.h>
#include <unistd.h>

#include "process/elf/elf_file.h"

int elf_load_vaddr(const struct elf_file *f, __u64 *ret)
{
	__u64 page = (__u64)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < f->phdr_cnt; i++) {
		const Elf64_Phdr *p = &f->phdrs[i];

		if (p->p_type == PT_LOAD && p->p_offset < page && p->p_filesz) {
			*ret = p->p_vaddr - p->p_offset;
			return 0;
		}
	}
	return -ENOENT;
}

int elf_section_find(struct elf_file *f, const char *name, __u64 *ret_vaddr)
{
	const __u64 wanted = SHF_ALLOC | SHF_WRITE;
	Elf64_Shdr shdr;
	unsigned i = 0;
	int r;

	while (!(r = elf_file_section_named(f, name, &i, &shdr))) {
		if ((shdr.sh_flags & wanted) == wanted) {
			*ret_vaddr = shdr.sh_addr;
			return 0;
		}
	}
	return r == -ENODATA ? -ENOENT : r;
}

int elf_table_read(int fd, enum published_kind kind, struct elf_table *ret)
{
	struct elf_file f;
	int r = elf_file_init(&f, fd);

	*ret = (struct elf_table){ .len = (__u32)published_infos[kind].size };
	if (!r)
		r = elf_section_find(&f, published_infos[kind].section, &ret->vaddr);
	if (!r)
		r = elf_load_vaddr(&f, &ret->load_vaddr);
	return r ? r : elf_file_read_vaddr(&f, ret->vaddr, ret->bytes, ret->len);
}
