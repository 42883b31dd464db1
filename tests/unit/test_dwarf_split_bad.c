/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_split_bad.c - split DWARF that is missing, belongs to another library, or is damaged:
 * lines remain, and answers come in bounded time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_split.h"
#include "symbol/dwo_file.h"
#include "symbol/elf_symbols.h"
#include "util/cleanup.h"

static void assert_lines_only(struct source *split, unsigned halves, int err)
{
	__u64 start = 0, end = 0;
	unsigned lines = 0;

	split_code("split", &start, &end);
	split->symbols = split_open("split");
	for (__u64 at = start; at < end; at++) {
		struct source_frame frames[SOURCE_FRAMES_MAX];
		unsigned cnt = source_ask(split, at, frames);

		assert_in_range(cnt, 0, 1);
		lines += cnt && frames[0].line;
	}
	assert_true(lines > 100);
	assert_int_equal(split->halves, halves);
	assert_int_equal(split->err, err);
	elf_symbols__free(split->symbols);
}

/* Requested once and then left alone. */
static void files_that_are_not_there(void **state)
{
	struct source split = { 0 };

	if (!split_build("gcc", 5) || !split_run("rm split-*.dwo"))
		skip();
	assert_lines_only(&split, 2, 0);
}

/* Debug information of another build of the very same source does not count. */
static void files_of_other_units_are_refused(void **state)
{
	struct source split = { 0 };

	if (!split_build("gcc", 5) ||
	    !split_run(
		    "mv split-first.dwo x && mv split-second.dwo split-first.dwo && mv x split-second.dwo"))
		skip();
	assert_lines_only(&split, 2, -ESTALE);
}

static void files_that_are_none_are_refused(void **state)
{
	struct source split = { .instead = "split.so" };

	if (!split_build("gcc", 5))
		skip();
	assert_lines_only(&split, 2, -ENOEXEC);
}

/* Overwrites part of a section in a file. */
static void put_over(const char *name, const char *section, __u64 at, const void *bytes, size_t len)
{
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	Elf_Scn *found = NULL;
	GElf_Shdr place = { 0 };
	size_t names;
	Elf *elf;

	snprintf(path, sizeof(path), "%s/%s", split_folder, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	do {
		found = elf_nextscn(elf, found);
		assert_non_null(gelf_getshdr(found, &place));
	} while (strcmp(elf_strptr(elf, names, place.sh_name), section));
	assert_true(at + len <= place.sh_size);
	assert_int_equal(pwrite(fd, bytes, len, (off_t)(place.sh_offset + at)), len);
	elf_end(elf);
}

/* Whatever the file contains, there are answers. */
static void assert_bounded(struct source *split)
{
	__u64 start = 0, end = 0;

	split_code("split", &start, &end);
	split->symbols = split_open("split");
	for (__u64 i = start; i < end; i += 41) {
		struct source_frame frames[SOURCE_FRAMES_MAX];

		assert_in_range(source_ask(split, i, frames), 0, SOURCE_FRAMES_MAX);
	}
	elf_symbols__free(split->symbols);
}

/*
 * Corrupts the unit's length, in the 32-bit and 64-bit forms, its version, and the offset of its
 * abbreviations.
 */
static void lengths_that_cannot_be(void **state)
{
	static const struct {
		__u64 at, value;
		size_t size;
	} cases[] = {
		{ 0, 0xffffffef, 4 }, { 0, ~0ULL, 8 },	    { 0, 0, 4 },
		{ 4, 0x4444, 2 },     { 8, 0xfffffff0, 4 },
	};

	if (!split_build("gcc", 5))
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct source split = { .instead = "x.dwo" };

		assert_true(split_run("cp split-first.dwo x.dwo"));
		put_over("x.dwo", ".debug_info.dwo", cases[i].at, &cases[i].value, cases[i].size);
		assert_bounded(&split);
		assert_int_equal(split.halves, 2);
	}
}

/* No id matches the unit, no slot is free, and no row is where it should be. */
static void indexes_without_an_end(void **state)
{
	struct source split = { .package = "split.dwp" };
	__u32 slots = 1U << 30, units = 1U << 29;
	__u8 full[64];

	memset(full, 0x11, sizeof(full));
	if (!split_has("llvm-dwp") || !split_build("clang", 5) ||
	    !split_run("llvm-dwp -o split.dwp split-first.dwo split-second.dwo && rm split-*.dwo"))
		skip();
	put_over("split.dwp", ".debug_cu_index", 16, full, sizeof(full));
	assert_lines_only(&split, 2, 0);
	split = (struct source){ .package = "split.dwp" };
	put_over("split.dwp", ".debug_cu_index", 12, &slots, sizeof(slots));
	put_over("split.dwp", ".debug_cu_index", 8, &units, sizeof(units));
	assert_lines_only(&split, 2, 0);
}

/*
 * An empty compressed section, then another with the same name: nothing of the first is taken for
 * the second.
 */
static void sections_of_one_name(void **state)
{
	enum { SECTIONS_AT = 64, TEXT_AT = 1024, NAMES_AT = 6144, FILE_SIZE = 8192 };
	static const char names[] = "\0.debug_info.dwo\0.debug_abbrev.dwo\0.debug_str.dwo\0.names";
	/* A header, all zero except for the kind, and zlib's stream of nothing. */
	static const __u8 nothing[32] = {
		[0] = ELFCOMPRESS_ZLIB, [16] = 1, [24] = 0x78, 0x9c, 3, 0, 0, 0, 0, 1
	};
	const Elf64_Ehdr file = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT },
				  .e_type = ET_REL,
				  .e_machine = EM_X86_64,
				  .e_version = EV_CURRENT,
				  .e_ehsize = sizeof(file),
				  .e_shoff = SECTIONS_AT,
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 6,
				  .e_shstrndx = 5 };
	const Elf64_Shdr sections[6] = {
		[1] = { 35, SHT_PROGBITS, SHF_COMPRESSED, 0, 512, sizeof(nothing), 0, 0, 8, 0 },
		[2] = { 35, SHT_PROGBITS, 0, 0, TEXT_AT, 4096, 0, 0, 1, 0 },
		[3] = { 1, SHT_PROGBITS, 0, 0, TEXT_AT, 16, 0, 0, 1, 0 },
		[4] = { 17, SHT_PROGBITS, 0, 0, TEXT_AT, 16, 0, 0, 1, 0 },
		[5] = { 53, SHT_STRTAB, 0, 0, NAMES_AT, sizeof(names), 0, 0, 1, 0 },
	};
	__u8 image[FILE_SIZE] = { 0 };
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	cleanup_free char *text = NULL;
	struct dwo_file dwo;

	memcpy(image, &file, sizeof(file));
	memcpy(image + SECTIONS_AT, sections, sizeof(sections));
	memcpy(image + 512, nothing, sizeof(nothing));
	strcpy((char *)image + TEXT_AT + 3000, "of the second");
	memcpy(image + NAMES_AT, names, sizeof(names));
	snprintf(path, sizeof(path), "%s/names.dwo", split_folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, image, sizeof(image)), sizeof(image));
	assert_int_equal(dwo_file_open(&dwo, fd), 0);
	text = dwo_file_text(&dwo, 3000, 100);
	assert_non_null(text);
	assert_string_equal(text, "of the second");
	dwo_file_close(&dwo);
}

/* Replaces each byte of a .dwo file or package in turn: no crash and no endless answer. */
static void damage(const char *name, const char *package)
{
	struct source split = { .package = package };
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	off_t size;

	snprintf(path, sizeof(path), "%s/%s", split_folder, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 0);
	for (off_t at = 0; at < size; at += 7) {
		__u8 byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = at % 2 ? 0xff : (__u8)(byte ^ 0x80);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_bounded(&split);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
}

static void damaged_files(void **state)
{
	if (!split_build("gcc", 5))
		skip();
	damage("split-first.dwo", NULL);
}

static void damaged_packages(void **state)
{
	if (!split_has("dwp") || !split_build("gcc", 4) ||
	    !split_run("dwp -o split.dwp split-first.dwo split-second.dwo"))
		skip();
	damage("split.dwp", "split.dwp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(files_of_other_units_are_refused),
		cmocka_unit_test(files_that_are_none_are_refused),
		cmocka_unit_test(lengths_that_cannot_be),
		cmocka_unit_test(indexes_without_an_end),
		cmocka_unit_test(sections_of_one_name),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(damaged_packages),
	};

	return cmocka_run_group_tests_name("split DWARF that is of no use", tests, split_setup,
					   split_teardown);
}
