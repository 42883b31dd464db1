/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_version.c - user/process/elf/elf_version.c: version strings, and files that contain several.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/elf/elf_file.h"
#include "process/elf/elf_version.h"
#include "base/data/cleanup.h"

#define HEADERS (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define MICRO_UNKNOWN(minor) (0x0300fff0U | (minor) << 16)

/* Makes an ELF file with one read-only segment: pad other bytes, then these. */
static __u32 version_of(const char *bytes, size_t len, size_t pad)
{
	cleanup_close int fd = memfd_create("elf", MFD_CLOEXEC);
	const Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_offset = HEADERS,
		.p_vaddr = HEADERS,
		.p_filesz = pad + len,
		.p_memsz = pad + len,
	};
	struct elf_file f;

	assert_int_equal(pwrite(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	assert_int_equal(pwrite(fd, &phdr, sizeof(phdr), sizeof(ehdr)), sizeof(phdr));
	assert_int_equal(pwrite(fd, bytes, len, (off_t)(HEADERS + pad)), len);
	assert_int_equal(elf_file_init(&f, fd), 0);
	return elf_version_find(&f);
}

#define VERSION_OF(text) version_of(text, sizeof(text), 0)

static void versions_are_parsed_as_cpython_writes_them(void **state)
{
	static const struct {
		const char *text;
		__u32 version;
	} cases[] = {
		{ "3.8.18", 0x030812f0 },
		{ "3.12.0", 0x030c00f0 },
		{ "3.11.2+", 0x030b02f0 },
		{ "3.9.0a5", 0x030900a5 },
		{ "3.10.0b4", 0x030a00b4 },
		{ "3.13.0rc1+", 0x030d00c1 },
		{ "3.8", 0 },
		{ "3.8.", 0 },
		{ "3..1", 0 },
		{ "3.8.1x", 0 },
		{ "3.8.0rc", 0 },
		{ "2.7.18", 0 },
		{ "3.8.123", 0 },
		{ "3.8.1++", 0 },
		{ "", 0 },
		{ "3.123.1", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(elf_version_parse(cases[i].text, strlen(cases[i].text)),
				 cases[i].version);
}

static void tag_and_version_agree(void **state)
{
	assert_int_equal(VERSION_OF("x\0cpython-38\0y\0003.8.18\0"), 0x030812f0);
	assert_int_equal(VERSION_OF("3.12.1\0cpython-312"), 0x030c01f0);
	/* The tail of a longer string, as linkers merge them. */
	assert_int_equal(VERSION_OF("cpython-310\0/opt/python/3.10.13\0"), 0x030a0df0);
	/* A whole string is better than a tail. */
	assert_int_equal(VERSION_OF("cpython-39\0/opt/3.9.1\0003.9.18\0/opt/3.9.2\0"), 0x030912f0);
	/* Other minors do not count: SQLite also had a version 3.8.11. */
	assert_int_equal(VERSION_OF("cpython-39\0003.8.11\0003.9.18\0003.45.1\0"), 0x030912f0);
}

static void what_is_not_certain_is_unknown(void **state)
{
	assert_int_equal(VERSION_OF("3.8.18\0"), 0);
	assert_int_equal(VERSION_OF("cpython-38\0cpython-39\0003.8.18\0003.9.18"), 0);
	assert_int_equal(VERSION_OF("cpython-38\0"), MICRO_UNKNOWN(8U));
	assert_int_equal(VERSION_OF("cpython-38\0003.8.1\0003.8.2\0"), MICRO_UNKNOWN(8U));
	assert_int_equal(VERSION_OF("cpython-38-x86_64\0xcpython-38\0 3.8.1\0"), 0);
	assert_int_equal(VERSION_OF("cpython-38\0v3.8.1\0x.3.8.1\0003.8.1x\0"), MICRO_UNKNOWN(8U));
	assert_int_equal(VERSION_OF("cpython-99\0003.99.1\0"), 0);
}

/* Strings at all positions around the end of one read. */
static void strings_across_a_read_are_seen(void **state)
{
	static const char text[] = "\0cpython-38\0"
				   "3.8.18\0";

	for (size_t pad = 65536 - 64; pad < 65536 + 8; pad++)
		assert_int_equal(version_of(text, sizeof(text), pad), 0x030812f0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_parsed_as_cpython_writes_them),
		cmocka_unit_test(tag_and_version_agree),
		cmocka_unit_test(what_is_not_certain_is_unknown),
		cmocka_unit_test(strings_across_a_read_are_seen),
	};

	return cmocka_run_group_tests_name("user/process/elf/elf_version.c", tests, NULL, NULL);
}
