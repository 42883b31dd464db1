/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_elf.h - handmade ELF files with a Python runtime, in a memory file.
 */
#ifndef KRAIT_TESTS_SUPPORT_ELF_H
#define KRAIT_TESTS_SUPPORT_ELF_H

#include <elf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define ELF_IMAGE_SIZE 0x4000
#define ELF_IMAGE_SHDR_CNT 5

/* File offsets. In memory, the data segment is 0x1000 further. */
#define ELF_OFF_NOTE 0x200
#define ELF_OFF_DYNSYM 0x240
#define ELF_OFF_DYNSTR 0x300
#define ELF_OFF_HASH 0x380
#define ELF_OFF_VERSION 0x480
#define ELF_OFF_DYNAMIC 0x1000
#define ELF_OFF_TABLE 0x1200
#define ELF_OFF_STRTAB 0x3000
#define ELF_OFF_SYMTAB 0x3100
#define ELF_OFF_SHSTRTAB 0x3200
#define ELF_OFF_SHDRS 0x3300
#define ELF_DATA_SHIFT 0x1000

enum elf_hash { ELF_HASH_NONE, ELF_HASH_GNU, ELF_HASH_SYSV };

struct elf_spec {
	__u64 vaddr; /* of file offset 0; 0 for shared objects and PIE */
	bool section; /* .PyRuntime */
	enum elf_hash hash; /* of the dynamic symbols; none: no dynamic segment */
	bool symtab; /* .symtab */
	bool no_sections; /* section headers stripped */
	bool bss; /* the runtime is in .bss, not in the file */
	const void *table; /* at the runtime's beginning, or NULL */
	size_t table_len;
	__u32 py_version; /* Py_Version */
	__u8 build_id; /* value of all its 20 bytes */
};

/* ELF_IMAGE_SIZE bytes; the caller frees them. */
__u8 *elf_image_new(const struct elf_spec *spec);

/* Makes a memory file with these bytes, or fails the test. */
int elf_image_fd(const void *image, size_t len);

/* Returns the file offset of a program's first instruction, or fails the test. */
__u64 elf_entry_offset(const char *path);

#endif /* KRAIT_TESTS_SUPPORT_ELF_H */
