/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_elf.h"

#include <stdarg.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/data/cleanup.h"

/*
 * Both string tables have the names at the same offsets; the runtime's name is also the tail of
 * another.
 */
static const char strings[] = "\0my_PyRuntime\0_PyRuntime\0Py_Version";
#define NAME_DECOY 1
#define NAME_RUNTIME 14
#define NAME_VERSION 25
#define SYM_CNT 4

static const char section_names[] = "\0.PyRuntime\0.symtab\0.strtab\0.shstrtab";

static void put(__u8 *image, size_t off, const void *data, size_t len)
{
	memcpy(image + off, data, len);
}

static __u32 gnu_hash(const char *s)
{
	__u32 h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static void put_headers(__u8 *image, const struct elf_spec *spec)
{
	__u64 data = spec->vaddr + ELF_OFF_DYNAMIC + ELF_DATA_SHIFT;
	Elf64_Ehdr ehdr = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = spec->vaddr ? ET_EXEC : ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 4,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr phdrs[4] = {
		{ PT_LOAD, PF_R | PF_X, 0, spec->vaddr, 0, 0x1000, 0x1000, 0x1000 },
		{ PT_LOAD, PF_R | PF_W, ELF_OFF_DYNAMIC, data, 0, spec->bss ? 0x200 : 0x2000,
		  0x3000, 0x1000 },
		{ PT_NULL, PF_R, ELF_OFF_DYNAMIC, data, 0, 0x100, 0x100, 8 },
		{ PT_NOTE, PF_R, ELF_OFF_NOTE, spec->vaddr + ELF_OFF_NOTE, 0, 36, 36, 4 },
	};
	Elf64_Nhdr note = { 4, 20, NT_GNU_BUILD_ID };

	if (spec->hash != ELF_HASH_NONE)
		phdrs[2].p_type = PT_DYNAMIC;
	if (!spec->no_sections) {
		ehdr.e_shoff = ELF_OFF_SHDRS;
		ehdr.e_shnum = ELF_IMAGE_SHDR_CNT;
		ehdr.e_shstrndx = ELF_IMAGE_SHDR_CNT - 1;
	}
	put(image, 0, &ehdr, sizeof(ehdr));
	put(image, sizeof(ehdr), phdrs, sizeof(phdrs));
	put(image, ELF_OFF_NOTE, &note, sizeof(note));
	put(image, ELF_OFF_NOTE + sizeof(note), "GNU", 4);
	memset(image + ELF_OFF_NOTE + sizeof(note) + 4, spec->build_id, 20);
}

static void put_symbols(__u8 *image, size_t off, const struct elf_spec *spec)
{
	__u64 runtime = spec->vaddr + ELF_OFF_TABLE + ELF_DATA_SHIFT;
	unsigned char info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	Elf64_Sym syms[SYM_CNT] = {
		{ 0 },
		{ NAME_DECOY, info, 0, 1, spec->vaddr + ELF_OFF_VERSION, 8 },
		{ NAME_RUNTIME, info, 0, 1, runtime, 0x1000 },
		{ NAME_VERSION, info, 0, 1, spec->vaddr + ELF_OFF_VERSION, 8 },
	};

	put(image, off, syms, sizeof(syms));
}

static void put_hash(__u8 *image, enum elf_hash hash)
{
	__u32 sysv[] = { 1, SYM_CNT, 1, 0, 2, 3, 0 };
	struct {
		__u32 head[4];
		__u64 bloom;
		__u32 bucket, chain[SYM_CNT - 1];
	} gnu = {
		.head = { 1, 1, 1, 6 },
		.bloom = ~0ULL,
		.bucket = 1,
		.chain = { gnu_hash("my_PyRuntime") & ~1U, gnu_hash("_PyRuntime") & ~1U,
			   gnu_hash("Py_Version") | 1 },
	};

	if (hash == ELF_HASH_GNU)
		put(image, ELF_OFF_HASH, &gnu, sizeof(gnu));
	else
		put(image, ELF_OFF_HASH, sysv, sizeof(sysv));
}

static void put_dynamic(__u8 *image, const struct elf_spec *spec)
{
	Elf64_Dyn dyn[] = {
		{ DT_SYMTAB, { spec->vaddr + ELF_OFF_DYNSYM } },
		{ DT_STRTAB, { spec->vaddr + ELF_OFF_DYNSTR } },
		{ DT_STRSZ, { sizeof(strings) } },
		{ spec->hash == ELF_HASH_GNU ? DT_GNU_HASH : DT_HASH,
		  { spec->vaddr + ELF_OFF_HASH } },
		{ DT_NULL, { 0 } },
	};

	put_symbols(image, ELF_OFF_DYNSYM, spec);
	put(image, ELF_OFF_DYNSTR, strings, sizeof(strings));
	put_hash(image, spec->hash);
	put(image, ELF_OFF_DYNAMIC, dyn, sizeof(dyn));
}

static void put_sections(__u8 *image, const struct elf_spec *spec)
{
	Elf64_Shdr shdrs[ELF_IMAGE_SHDR_CNT] = {
		{ 0 },
		{ .sh_name = spec->section ? 1 : 0,
		  .sh_type = spec->bss ? SHT_NOBITS : SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_WRITE,
		  .sh_addr = spec->vaddr + ELF_OFF_TABLE + ELF_DATA_SHIFT,
		  .sh_offset = ELF_OFF_TABLE,
		  .sh_size = 0x1000 },
		{ .sh_name = 12,
		  .sh_type = spec->symtab ? SHT_SYMTAB : SHT_NULL,
		  .sh_offset = ELF_OFF_SYMTAB,
		  .sh_size = SYM_CNT * sizeof(Elf64_Sym),
		  .sh_link = 3,
		  .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = 20,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = ELF_OFF_STRTAB,
		  .sh_size = sizeof(strings) },
		{ .sh_name = 28,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = ELF_OFF_SHSTRTAB,
		  .sh_size = sizeof(section_names) },
	};

	put_symbols(image, ELF_OFF_SYMTAB, spec);
	put(image, ELF_OFF_STRTAB, strings, sizeof(strings));
	put(image, ELF_OFF_SHSTRTAB, section_names, sizeof(section_names));
	put(image, ELF_OFF_SHDRS, shdrs, sizeof(shdrs));
}

__u8 *elf_image_new(const struct elf_spec *spec)
{
	__u64 version = spec->py_version;
	__u8 *image = calloc(1, ELF_IMAGE_SIZE);

	if (!image)
		abort();
	put_headers(image, spec);
	if (spec->hash != ELF_HASH_NONE)
		put_dynamic(image, spec);
	if (!spec->no_sections)
		put_sections(image, spec);
	if (spec->table)
		put(image, ELF_OFF_TABLE, spec->table, spec->table_len);
	put(image, ELF_OFF_VERSION, &version, sizeof(version));
	return image;
}

int elf_image_fd(const void *image, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, image, len) != (ssize_t)len)
		abort();
	return fd;
}

__u64 elf_entry_offset(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr e;
	Elf64_Phdr p;

	assert_int_equal(pread(fd, &e, sizeof(e), 0), sizeof(e));
	for (int i = 0; i < e.e_phnum; i++) {
		assert_int_equal(pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * sizeof(p))),
				 sizeof(p));
		if (p.p_type == PT_LOAD && e.e_entry - p.p_vaddr < p.p_filesz)
			return e.e_entry - p.p_vaddr + p.p_offset;
	}
	fail_msg("no code at the entry point");
	return 0;
}
