/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_greenlet_image.h - two pages of a process with greenlet, made of bytes: its module as the dynamic linker leaves it
 * (headers, dynamic section, relocations, the type), and behind that an interpreter with two threads, of which the second one has
 * asked for its greenlet.
 *
 * Header only: fuzzers are linked without the tests' library.
 */
#ifndef KRAIT_TESTS_SUPPORT_GREENLET_IMAGE_H
#define KRAIT_TESTS_SUPPORT_GREENLET_IMAGE_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/arch.h"
#include "base/data/memory.h"

#define GI_ADDR 0x7f0000000000ULL
#define GI_MODULE_SIZE 4096 /* what is mapped of its file */
#define GI_SIZE 8192

static const struct gi_table {
	__u32 entry;
	__s32 count, at;
} gi_tables[] = TLS_TABLES; /* glibc, musl */

/* Positions from GI_ADDR on. */
enum {
	GI_HEADERS = 64, /* program headers: the TLS block, the dynamic section */
	GI_DYNAMIC = 256,
	GI_RELOCATIONS = 512,
	GI_NUMBER = 1024, /* where the dynamic linker stored the module's number */
	GI_NAME = 1040,
	GI_NAME_OF_TYPE = 1064,
	GI_TYPE = 1088, /* greenlet.greenlet */
	GI_TYPE_OF_TYPE = 1408,
	GI_RUNTIME = 4096,
	GI_INTERP = 4104,
	GI_THREADS = 4160, /* two of them */
	GI_THREAD_SIZE = 48,
	GI_POINTERS = 4288, /* what surrounds the targets of their thread pointers */
	GI_POINTER_AT = 8,
	GI_POINTER_SIZE = 24,
	GI_TABLES = 4368, /* tables of TLS blocks */
	GI_TABLE_SIZE = 128,
	GI_TABLE_HEAD = 16,
	GI_BLOCK = 4640,
	GI_BLOCK_SIZE = 32,
	GI_STATE_AT = 16, /* within the block */
	GI_STATE = 4672,
	GI_MAIN = 4736, /* greenlets and their C++ objects */
	GI_MAIN_IMPL = 4800,
	GI_CURRENT = 5056,
	GI_CURRENT_IMPL = 5120,
};

#define GI_MODULE 3
#define GI_STACK_AT 40 /* after the first part of a C++ object */
#define GI_END 160 /* where its last part begins */
#define GI_RELOCATION_CNT 3
#define GI_OTHER_RELOC (TLS_RELOC_MODULE + 1)

struct greenlet_image {
	bool musl; /* that C library's tables and addresses; otherwise glibc's */
	bool self_first; /* greenlet 3.1 and later */
	struct memory memory;
	struct py_offsets offsets;
	unsigned long reads; /* reads so far */
	__u8 bytes[GI_SIZE];
};

static inline void gi_put(struct greenlet_image *x, __u32 at, __u64 value)
{
	memcpy(x->bytes + at, &value, sizeof(value));
}

static inline int gi_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	struct greenlet_image *x = ctx;

	x->reads++;
	if (addr < GI_ADDR || addr - GI_ADDR > GI_SIZE || len > GI_SIZE - (addr - GI_ADDR))
		return -EFAULT;
	memcpy(buf, x->bytes + (addr - GI_ADDR), len);
	return 0;
}

/* Returns where a C++ object has the stack's members. */
static inline __u32 gi_stack(const struct greenlet_image *x)
{
	return GI_STACK_AT + (x->self_first ? 16 : 8);
}

static inline void gi_put_module(struct greenlet_image *x)
{
	const Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
			       .e_phoff = GI_HEADERS,
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = 2 };
	const Elf64_Phdr headers[] = { { .p_type = PT_TLS, .p_memsz = GI_BLOCK_SIZE },
				       { .p_type = PT_DYNAMIC, .p_vaddr = GI_DYNAMIC } };
	/* glibc has relocated this address. */
	const Elf64_Dyn dynamic[] = {
		{ DT_RELASZ, { GI_RELOCATION_CNT * sizeof(Elf64_Rela) } },
		{ DT_RELA, { GI_RELOCATIONS + (x->musl ? 0 : GI_ADDR) } },
		{ DT_NULL, { 0 } },
	};
	const Elf64_Rela relocations[GI_RELOCATION_CNT] = {
		{ GI_TYPE, ELF64_R_INFO(0, GI_OTHER_RELOC), 0 },
		{ GI_NUMBER, ELF64_R_INFO(0, TLS_RELOC_MODULE), 0 },
		{ GI_TYPE + 8, ELF64_R_INFO(0, GI_OTHER_RELOC), 0 },
	};

	memcpy(x->bytes, &e, sizeof(e));
	memcpy(x->bytes + GI_HEADERS, headers, sizeof(headers));
	memcpy(x->bytes + GI_DYNAMIC, dynamic, sizeof(dynamic));
	memcpy(x->bytes + GI_RELOCATIONS, relocations, sizeof(relocations));
	gi_put(x, GI_NUMBER, GI_MODULE);
	memcpy(x->bytes + GI_NAME, "greenlet.greenlet", sizeof("greenlet.greenlet"));
	memcpy(x->bytes + GI_NAME_OF_TYPE, "type", sizeof("type"));
	gi_put(x, GI_TYPE + 8, GI_ADDR + GI_TYPE_OF_TYPE);
	gi_put(x, GI_TYPE + 24, GI_ADDR + GI_NAME);
	gi_put(x, GI_TYPE + 32, 40);
	gi_put(x, GI_TYPE_OF_TYPE + 24, GI_ADDR + GI_NAME_OF_TYPE);
}

static inline void gi_put_threads(struct greenlet_image *x)
{
	gi_put(x, GI_RUNTIME, GI_ADDR + GI_INTERP);
	gi_put(x, GI_INTERP + 8, GI_ADDR + GI_THREADS);
	for (__u32 i = 0; i < 2; i++) {
		__u32 thread = GI_THREADS + i * GI_THREAD_SIZE,
		      pointer = GI_POINTERS + GI_POINTER_AT + i * GI_POINTER_SIZE;
		const struct gi_table *form = &gi_tables[x->musl];
		__u32 table = GI_TABLES + i * GI_TABLE_SIZE + GI_TABLE_HEAD;

		gi_put(x, thread, i ? GI_ADDR + GI_THREADS : 0);
		gi_put(x, thread + 8, i ? 0 : GI_ADDR + GI_THREADS + GI_THREAD_SIZE);
		gi_put(x, thread + 16, GI_ADDR + GI_INTERP);
		gi_put(x, thread + 24, GI_ADDR + pointer);
		gi_put(x, pointer + (__u32)form->at, GI_ADDR + table);
		gi_put(x, table + (__u32)form->count, GI_MODULE + 2);
		/* The first thread has no block yet: TLS_DTV_UNALLOCATED. */
		gi_put(x, table + GI_MODULE * form->entry, i ? GI_ADDR + GI_BLOCK : ~0ULL);
	}
	gi_put(x, GI_BLOCK, 1);
	gi_put(x, GI_BLOCK + GI_STATE_AT, GI_ADDR + GI_STATE);
}

static inline void gi_put_greenlet(struct greenlet_image *x, __u32 at, __u32 impl, __u64 stop)
{
	gi_put(x, at + 8, GI_ADDR + GI_TYPE);
	gi_put(x, at + 32, GI_ADDR + impl);
	gi_put(x, impl + (x->self_first ? 8 : GI_END), GI_ADDR + at);
	gi_put(x, impl + gi_stack(x), 0x7ff000000000);
	gi_put(x, impl + gi_stack(x) + 8, stop);
}

static inline void gi_begin(struct greenlet_image *x, bool musl, bool self_first)
{
	*x = (struct greenlet_image){
		.musl = musl,
		.self_first = self_first,
		.memory = { .read = gi_read, .ctx = x },
		.offsets = { .version = 0x030d00f0,
			     .interp = { .next = 0, .threads_head = 8, .id = 16 },
			     .thread = { .prev = 0,
					 .next = 8,
					 .interp = 16,
					 .thread_id = 24,
					 .native_thread_id = 32 },
			     .frame = { .previous = 8, .instr_ptr = 56 },
			     .object = { .ob_type = 8, .tp_name = 24 } },
	};
	gi_put_module(x);
	gi_put_threads(x);
	gi_put(x, GI_STATE, GI_ADDR + GI_MAIN);
	gi_put(x, GI_STATE + 8, GI_ADDR + GI_CURRENT);
	gi_put_greenlet(x, GI_MAIN, GI_MAIN_IMPL, ~0ULL);
	gi_put(x, GI_MAIN_IMPL + GI_END, GI_ADDR + GI_MAIN);
	gi_put(x, GI_MAIN_IMPL + GI_END + 8, GI_ADDR + GI_STATE);
	gi_put_greenlet(x, GI_CURRENT, GI_CURRENT_IMPL, 0x7ff000001000);
	gi_put(x, GI_CURRENT_IMPL + GI_END + (self_first ? 16 : 24), GI_ADDR + GI_MAIN);
}

/*
 * Makes a folder that stands for /proc/PID, whose maps contain the module. Stores its name in path,
 * which ends in XXXXXX. Returns -1 with errno on failure.
 */
static inline int gi_folder(char *path, const char *module)
{
	char line[256];
	int dir, fd, len;

	if (!mkdtemp(path))
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir, "maps", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	len = snprintf(line, sizeof(line), "%llx-%llx rw-p 00000000 08:01 77 %s\n", GI_ADDR,
		       GI_ADDR + GI_MODULE_SIZE, module);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		return -1;
	close(fd);
	return dir;
}

static inline void gi_remove_folder(int dir, const char *path)
{
	unlinkat(dir, "maps", 0);
	rmdir(path);
	close(dir);
}

#endif /* KRAIT_TESTS_SUPPORT_GREENLET_IMAGE_H */
