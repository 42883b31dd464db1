/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_core_file.c - a handmade core: reading it, reading from a file what the core lacks, and
 * cores with each byte changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "look/core/core_file.h"

#define BASE 0x400000ULL
#define HEAP 0x900000ULL

/* Notes, then a file's first page, then four bytes of a page of heap. */
struct made {
	Elf64_Ehdr head;
	Elf64_Phdr phdrs[4];
	struct {
		Elf64_Nhdr head;
		char name[8];
		struct elf_prstatus status;
	} __attribute__((packed)) threads[2];
	struct {
		Elf64_Nhdr head;
		char name[8];
		__u64 cnt, page, words[6];
		char names[12];
	} __attribute__((packed)) files;
	char first_page[4096];
	char heap[8];
};

static void make(struct made *m)
{
	*m = (struct made){
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_CORE,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct made, phdrs),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 4 },
		.phdrs = { { .p_type = PT_NOTE,
			     .p_offset = offsetof(struct made, threads),
			     .p_filesz = sizeof(m->threads) + sizeof(m->files) },
			   { .p_type = PT_LOAD,
			     .p_flags = PF_R,
			     .p_vaddr = BASE,
			     .p_offset = offsetof(struct made, first_page),
			     .p_filesz = sizeof(m->first_page),
			     .p_memsz = 2 * 4096 },
			   { .p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W,
			     .p_vaddr = BASE + 2 * 4096,
			     .p_memsz = 4096 },
			   { .p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W,
			     .p_vaddr = HEAP,
			     .p_offset = offsetof(struct made, heap),
			     .p_filesz = sizeof(m->heap),
			     .p_memsz = 4096 } },
		.files = { .head = { 5, 8 * 8 + 12, NT_FILE },
			   .name = "CORE",
			   .cnt = 2,
			   .page = 4096,
			   .words = { BASE, BASE + 2 * 4096, 0, BASE + 2 * 4096, BASE + 3 * 4096,
				      2 },
			   .names = "/a/b\0/a/b" },
		.heap = "heap",
	};
	for (int i = 0; i < 2; i++) {
		m->threads[i].head = (Elf64_Nhdr){ 5, sizeof(struct elf_prstatus), NT_PRSTATUS };
		memcpy(m->threads[i].name, "CORE", 5);
		m->threads[i].status.pr_pid = 100 + i;
		m->threads[i].status.pr_cursig = i ? 0 : SIGSEGV;
		m->threads[i].status.pr_reg[15] = i ? 202 : ~0ULL; /* orig_rax */
	}
	for (size_t i = 0; i < sizeof(m->first_page); i++)
		m->first_page[i] = (char)(i * 7);
}

static int written(const void *data, size_t len)
{
	int fd = memfd_create("core", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	return fd;
}

static int read_8(struct core_file *c, __u64 addr, char ret[8])
{
	return memory_read(&c->memory, addr, ret, 8);
}

static void it_is_read(void **state)
{
	static struct made m;
	struct core_file c;
	char why[256], got[8];
	int fd;

	make(&m);
	fd = written(&m, sizeof(m));
	assert_int_equal(core_file_open(&c, fd, why, sizeof(why)), 0);
	assert_int_equal(c.thread_cnt, 2);
	assert_int_equal(c.threads[0].tid, 100);
	assert_int_equal(c.threads[0].signal, SIGSEGV);
	assert_int_equal(c.threads[0].syscall, -1);
	assert_int_equal(c.threads[1].syscall, 202);
	assert_int_equal(c.file_cnt, 1);
	assert_string_equal(c.files[0].name, "/a/b");
	assert_int_equal(c.files[0].base, BASE);
	assert_int_equal(read_8(&c, HEAP, got), 0);
	assert_memory_equal(got, "heap", 5);
	/* Neither beyond what the core has, nor across its end, nor in gaps. */
	assert_int_equal(read_8(&c, HEAP + 1, got), -EFAULT);
	assert_int_equal(read_8(&c, HEAP + 8, got), -EFAULT);
	assert_int_equal(read_8(&c, HEAP - 4, got), -EFAULT);
	assert_int_equal(read_8(&c, 0, got), -EFAULT);
	assert_int_equal(read_8(&c, ~0ULL - 3, got), -EFAULT);
	core_file_close(&c);
	close(fd);
}

static void a_file_says_the_rest(void **state)
{
	static struct made m;
	static char file[3 * 4096];
	struct core_file c;
	char why[256], got[8];
	int fd, mapped, other;

	make(&m);
	fd = written(&m, sizeof(m));
	memcpy(file, m.first_page, sizeof(m.first_page));
	memcpy(file + 4096, "constant", 8);
	memcpy(file + 2 * 4096, "variable", 8);
	mapped = written(file, sizeof(file));
	file[100]++;
	other = written(file, sizeof(file));
	assert_int_equal(core_file_open(&c, fd, why, sizeof(why)), 0);
	assert_int_equal(read_8(&c, BASE + 4096, got), -EFAULT);
	assert_int_equal(core_file_give(&c, 0, other), -ESTALE);
	assert_int_equal(core_file_give(&c, 1, mapped), -EINVAL);
	assert_int_equal(read_8(&c, BASE + 4096, got), -EFAULT);
	assert_int_equal(core_file_give(&c, 0, mapped), 0);
	assert_int_equal(read_8(&c, BASE + 4096, got), 0);
	assert_memory_equal(got, "constant", 8);
	/* Half from the core, half from the file. */
	assert_int_equal(read_8(&c, BASE + 4092, got), 0);
	assert_memory_equal(got, m.first_page + 4092, 4);
	assert_memory_equal(got + 4, "cons", 4);
	/* Writable memory may differ from the file. */
	assert_int_equal(read_8(&c, BASE + 2 * 4096, got), -EFAULT);
	core_file_close(&c);
	close(other);
	close(mapped);
	close(fd);
}

static void try(const void *data, size_t len)
{
	struct core_file c;
	char why[256] = "", got[8];
	int fd = written(data, len), err = core_file_open(&c, fd, why, sizeof(why));

	if (err) {
		assert_int_equal(err, -ENOEXEC);
		assert_true(*why);
	} else {
		for (__u64 addr = BASE - 8; addr < BASE + 4 * 4096; addr += 509)
			(void)!read_8(&c, addr, got);
		for (__u32 i = 0; i < c.file_cnt; i++) {
			assert_true(strlen(c.files[i].name) < 4096);
			(void)!core_file_give(&c, i, fd);
		}
		core_file_close(&c);
	}
	close(fd);
}

static void any_byte_may_be_another(void **state)
{
	static struct made m, changed;
	const size_t size = offsetof(struct made, first_page);

	make(&m);
	for (size_t i = 0; i < size; i++) {
		static const __u8 values[] = { 0, 1, 0x7f, 0x80, 0xff };

		for (size_t k = 0; k < sizeof(values); k++) {
			changed = m;
			((__u8 *)&changed)[i] = values[k];
			try(&changed, sizeof(changed));
		}
	}
	for (size_t len = 0; len < size; len += 3)
		try(&m, len);
}

static void others_are_refused(void **state)
{
	static struct made m;
	struct core_file c;
	char why[256];
	int fd;

	make(&m);
	m.head.e_type = ET_DYN;
	fd = written(&m, sizeof(m));
	assert_int_equal(core_file_open(&c, fd, why, sizeof(why)), -ENOEXEC);
	assert_string_equal(why, "it is not a core file");
	close(fd);
	make(&m);
	m.head.e_machine = EM_AARCH64;
	fd = written(&m, sizeof(m));
	assert_int_equal(core_file_open(&c, fd, why, sizeof(why)), -ENOEXEC);
	assert_string_equal(why, "it is from another kind of machine");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_read),
		cmocka_unit_test(a_file_says_the_rest),
		cmocka_unit_test(any_byte_may_be_another),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
