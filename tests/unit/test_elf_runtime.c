/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "py_debug_tables.h"
#include "support_elf.h"
#include "process/elf/elf_runtime.h"

#define RUNTIME_VADDR (ELF_OFF_TABLE + ELF_DATA_SHIFT)

static struct elf_spec spec_with_table(void)
{
	return (struct elf_spec){
		.section = true,
		.table = py_debug_table_3_14_10,
		.table_len = sizeof(py_debug_table_3_14_10),
		.build_id = 0xab,
	};
}

static int read_image(const void *image, size_t len, struct elf_runtime *ret)
{
	int fd = elf_image_fd(image, len), r = elf_runtime_read(fd, ret);

	close(fd);
	return r;
}

static int read_spec(const struct elf_spec *spec, struct elf_runtime *ret)
{
	__u8 *image = elf_image_new(spec);
	int r = read_image(image, ELF_IMAGE_SIZE, ret);

	free(image);
	return r;
}

static void check_found(const struct elf_spec *spec)
{
	struct elf_runtime e;

	assert_int_equal(read_spec(spec, &e), 0);
	assert_int_equal(e.runtime_vaddr, spec->vaddr + RUNTIME_VADDR);
	assert_int_equal(e.load_vaddr, spec->vaddr);
	assert_int_equal(e.code_vaddr, spec->vaddr);
	assert_int_equal(e.table_len, PY_TABLE_MAX);
	assert_memory_equal(e.table, py_debug_table_3_14_10, sizeof(py_debug_table_3_14_10));
	assert_int_equal(e.build_id_len, 20);
	assert_int_equal(e.build_id[19], 0xab);
}

static void a_shared_object_is_found_by_its_section(void **state)
{
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;

	check_found(&spec);
	assert_int_equal(read_spec(&spec, &e), 0);
	assert_int_equal(elf_runtime_addr(&e, 0x7f0000000000), 0x7f0000000000 + RUNTIME_VADDR);
}

static void a_fixed_executable_runs_where_it_was_linked(void **state)
{
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;

	spec.vaddr = 0x400000;
	check_found(&spec);
	assert_int_equal(read_spec(&spec, &e), 0);
	assert_int_equal(elf_runtime_addr(&e, 0x400000), 0x400000 + RUNTIME_VADDR);
}

static void a_stripped_file_is_found_by_each_hash_of_dynamic_symbols(void **state)
{
	struct elf_spec spec = spec_with_table();

	spec.section = false;
	spec.no_sections = true;
	spec.hash = ELF_HASH_GNU;
	check_found(&spec);
	spec.hash = ELF_HASH_SYSV;
	check_found(&spec);
	spec.vaddr = 0x400000;
	check_found(&spec);
}

static void a_local_symbol_table_is_searched(void **state)
{
	struct elf_spec spec = spec_with_table();

	spec.section = false;
	spec.symtab = true;
	check_found(&spec);
}

static void a_file_without_runtime_is_refused(void **state)
{
	struct elf_spec spec = { .build_id = 1 };
	struct elf_runtime e;

	assert_int_equal(read_spec(&spec, &e), -ENOENT);
	spec.no_sections = true;
	assert_int_equal(read_spec(&spec, &e), -ENOENT);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct elf_spec spec = spec_with_table();
	__u8 *image = elf_image_new(&spec);
	struct elf_runtime e;
	int fd;

	assert_int_equal(read_image("#!/bin/sh\n", 10, &e), -ENOEXEC);
	assert_int_equal(read_image(image, 0, &e), -ENOEXEC);
	assert_int_equal(read_image(image, sizeof(Elf64_Ehdr) - 1, &e), -ENOEXEC);
	image[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_image(image, ELF_IMAGE_SIZE, &e), -ENOEXEC);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_runtime_read(fd, &e), -ENOEXEC);
	close(fd);
	free(image);
}

static void a_runtime_outside_the_file_is_told_without_bytes(void **state)
{
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;

	spec.bss = true;
	assert_int_equal(read_spec(&spec, &e), 0);
	assert_int_equal(e.runtime_vaddr, RUNTIME_VADDR);
	assert_int_equal(e.table_len, 0);
}

static void the_version_of_an_older_python_is_read(void **state)
{
	struct elf_spec spec = { .section = true, .hash = ELF_HASH_GNU, .py_version = 0x030c01f0 };
	struct elf_runtime e;

	assert_int_equal(read_spec(&spec, &e), 0);
	assert_int_equal(e.py_version, 0x030c01f0);
	assert_false(py_debug_table_has_cookie(e.table, e.table_len));
}

static void any_truncation_ends_well(void **state)
{
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;
	__u8 *image;

	spec.hash = ELF_HASH_GNU;
	image = elf_image_new(&spec);
	for (size_t len = 0; len < ELF_IMAGE_SIZE; len += 13) {
		int r = read_image(image, len, &e);

		/* If the section headers are truncated, the symbol remains. */
		if (r)
			assert_true(r == -ENOEXEC || r == -ENOENT || r == -ENODATA);
		else
			assert_true(e.table_len <= len);
	}
	free(image);
}

static void huge_counts_end_well(void **state)
{
	static const struct {
		size_t off;
		unsigned width;
	} places[] = {
		{ offsetof(Elf64_Ehdr, e_phnum), 2 },
		{ offsetof(Elf64_Ehdr, e_phoff), 8 },
		{ offsetof(Elf64_Ehdr, e_shnum), 2 },
		{ offsetof(Elf64_Ehdr, e_shoff), 8 },
		{ offsetof(Elf64_Ehdr, e_shstrndx), 2 },
		{ 64 + offsetof(Elf64_Phdr, p_filesz), 8 },
		{ 64 + offsetof(Elf64_Phdr, p_memsz), 8 },
		{ 64 + offsetof(Elf64_Phdr, p_offset), 8 },
		{ 64 + 56 + offsetof(Elf64_Phdr, p_filesz), 8 },
		{ 64 + 56 + offsetof(Elf64_Phdr, p_offset), 8 },
		{ 64 + 112 + offsetof(Elf64_Phdr, p_filesz), 8 },
		{ 64 + 168 + offsetof(Elf64_Phdr, p_filesz), 8 },
		{ ELF_OFF_NOTE, 4 },
		{ ELF_OFF_NOTE + 4, 4 },
		{ ELF_OFF_HASH, 4 },
		{ ELF_OFF_HASH + 4, 4 },
		{ ELF_OFF_HASH + 8, 4 },
		{ ELF_OFF_HASH + 12, 4 },
		{ ELF_OFF_HASH + 24, 4 },
		{ ELF_OFF_SHDRS + 2 * 64 + offsetof(Elf64_Shdr, sh_size), 8 },
		{ ELF_OFF_SHDRS + 3 * 64 + offsetof(Elf64_Shdr, sh_size), 8 },
	};
	static const __u64 values[] = { 0, 1, 0x7fff, 0xffff, 0x7fffffff, ~0U, 1ULL << 63, ~0ULL };
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;

	spec.section = false;
	spec.symtab = true;
	for (int hash = ELF_HASH_NONE; hash <= ELF_HASH_SYSV; hash++)
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
				__u8 *image;
				int r;

				spec.hash = (enum elf_hash)hash;
				image = elf_image_new(&spec);
				memcpy(image + places[i].off, &values[j], places[i].width);
				r = read_image(image, ELF_IMAGE_SIZE, &e);
				assert_true(r <= 0);
				free(image);
			}
}

/* An endless chain, in a sparse file that has room for it. */
static void an_endless_hash_chain_ends_by_budget(void **state)
{
	struct elf_spec spec = spec_with_table();
	struct elf_runtime e;
	__u64 huge = 1ULL << 32;
	__u8 *image;
	int fd;

	spec.section = false;
	spec.no_sections = true;
	spec.hash = ELF_HASH_GNU;
	image = elf_image_new(&spec);
	/* The first segment covers the file's sparse rest; no chain word ends the chain. */
	memcpy(image + 64 + offsetof(Elf64_Phdr, p_filesz), &huge, 8);
	memcpy(image + 64 + offsetof(Elf64_Phdr, p_memsz), &huge, 8);
	memset(image + ELF_OFF_HASH + 28, 0, 12);
	memset(image + ELF_OFF_VERSION, 0, 8);
	memset(image + ELF_OFF_DYNAMIC + 5 * sizeof(Elf64_Dyn), 0, 64);
	fd = elf_image_fd(image, ELF_OFF_TABLE);
	assert_int_equal(ftruncate(fd, 1L << 32), 0);
	assert_true(elf_runtime_read(fd, &e) < 0);
	close(fd);
	free(image);
}

static void random_damage_ends_well(void **state)
{
	struct elf_spec spec = spec_with_table();
	unsigned seed = 1;
	struct elf_runtime e;

	spec.section = false;
	spec.symtab = true;
	for (int round = 0; round < 3000; round++) {
		__u8 *image;

		spec.hash = (enum elf_hash)(round % 3);
		spec.section = round % 2;
		image = elf_image_new(&spec);
		for (int i = 0; i < 8; i++) {
			size_t off = (size_t)rand_r(&seed) % 0x700;

			image[off < 0x500 ? off : off - 0x500 + ELF_OFF_SHDRS] =
				(__u8)rand_r(&seed);
		}
		assert_true(read_image(image, ELF_IMAGE_SIZE, &e) <= 0);
		free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shared_object_is_found_by_its_section),
		cmocka_unit_test(a_fixed_executable_runs_where_it_was_linked),
		cmocka_unit_test(a_stripped_file_is_found_by_each_hash_of_dynamic_symbols),
		cmocka_unit_test(a_local_symbol_table_is_searched),
		cmocka_unit_test(a_file_without_runtime_is_refused),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(a_runtime_outside_the_file_is_told_without_bytes),
		cmocka_unit_test(the_version_of_an_older_python_is_read),
		cmocka_unit_test(any_truncation_ends_well),
		cmocka_unit_test(huge_counts_end_well),
		cmocka_unit_test(an_endless_hash_chain_ends_by_budget),
		cmocka_unit_test(random_damage_ends_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
