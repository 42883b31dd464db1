/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_symbols.c - names of code by file offset: of this program, and of files that are invalid
 * or barely ELF.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_elf.h"
#include "native/names/elf_symbols.h"
#include "base/data/cleanup.h"

#define SELF "/proc/self/exe"
#define SPOILED_RUNS 300

static int open_symbols(struct elf_symbols **ret, const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : elf_symbols__new(ret, fd, -1);
}

/* The name of the symbol that covers the offset, or NULL. */
static const char *symbol_at(struct elf_symbols *s, __u64 offset, __u64 *ret_start)
{
	struct elf_place place;

	elf_symbols__place(s, offset, &place);
	if (place.name)
		*ret_start = place.symbol_start;
	return place.name;
}

static void code_is_covered_from_its_beginning(void **state)
{
	struct elf_symbols *s = NULL;
	__u64 entry = elf_entry_offset(SELF), start = 0;

	assert_int_equal(open_symbols(&s, SELF), 0);
	assert_string_equal(symbol_at(s, entry, &start), "_start");
	assert_int_equal(start, entry);
	start = 0;
	assert_string_equal(symbol_at(s, entry + 5, &start), "_start");
	assert_int_equal(start, entry);
	elf_symbols__free(s);
}

static void offsets_without_code_have_no_symbol(void **state)
{
	const __u64 offsets[] = { 0, 1, 64, 1ULL << 40, 1ULL << 63, ~0ULL };
	struct elf_symbols *s = NULL;
	__u64 start;

	assert_int_equal(open_symbols(&s, SELF), 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		assert_null(symbol_at(s, offsets[i], &start));
	elf_symbols__free(s);
	elf_symbols__free(NULL);
}

/*
 * One answer covers all addresses between two boundaries of symbols: the order of questions does
 * not matter.
 */
static void answers_do_not_depend_on_the_order_of_questions(void **state)
{
	struct elf_symbols *up = NULL, *down = NULL;
	struct stat st;
	int named = 0;

	assert_int_equal(stat(SELF, &st), 0);
	assert_int_equal(open_symbols(&up, SELF), 0);
	assert_int_equal(open_symbols(&down, SELF), 0);
	for (__u64 offset = (__u64)st.st_size; offset-- > 0;)
		if (offset % 17 == 0)
			symbol_at(down, offset, &(__u64){ 0 });
	for (__u64 offset = 0; offset < (__u64)st.st_size; offset += 17) {
		__u64 a = 0, b = 0;
		const char *x = symbol_at(up, offset, &a);
		const char *y = symbol_at(down, offset, &b);

		assert_int_equal(!x, !y);
		assert_int_equal(a, b);
		if (!x)
			continue;
		named++;
		assert_string_equal(x, y);
		assert_true(a <= offset);
	}
	assert_true(named > 100);
	elf_symbols__free(up);
	elf_symbols__free(down);
}

static char *read_self(size_t *ret_size)
{
	cleanup_close int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;

	assert_int_equal(fstat(fd, &st), 0);
	data = malloc((size_t)st.st_size);
	assert_non_null(data);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = pread(fd, data + at, (size_t)(st.st_size - at), at);

		assert_true(n > 0);
		at += n;
	}
	*ret_size = (size_t)st.st_size;
	return data;
}

/* Returns offset and size of a section of this program, whose addresses equal its file offsets. */
static Elf64_Shdr section(const char *wanted)
{
	size_t size;
	cleanup_free char *file = read_self(&size);
	const Elf64_Ehdr *e = (void *)file;
	const Elf64_Shdr *sections = (void *)(file + e->e_shoff);

	for (int i = 0; i < e->e_shnum; i++)
		if (!strcmp(file + sections[e->e_shstrndx].sh_offset + sections[i].sh_name, wanted))
			return sections[i];
	return (Elf64_Shdr){ .sh_size = 0 };
}

/* Sections that may contain stubs; which of them exist depends on how the program was linked. */
static const char *const stub_sections[] = { ".plt", ".plt.sec", ".plt.got" };
#define STUB_SECTIONS (sizeof(stub_sections) / sizeof(stub_sections[0]))

/* This program calls the C library's memfd_create(); directly only with -fno-plt. */
static void stubs_have_the_name_of_what_they_call(void **state)
{
	struct elf_symbols *s = NULL;
	int named = 0, known = 0;

	assert_int_equal(open_symbols(&s, SELF), 0);
	for (size_t i = 0; i < STUB_SECTIONS; i++) {
		Elf64_Shdr plt = section(stub_sections[i]);

		for (__u64 at = plt.sh_offset; at < plt.sh_offset + plt.sh_size; at++) {
			__u64 start = 0;
			const char *name = symbol_at(s, at, &start);

			if (!name || !strstr(name, "@plt"))
				continue;
			named++;
			assert_true(start <= at && at - start < 24);
			known += at == start && !strcmp(name, "memfd_create@plt");
		}
	}
	elf_symbols__free(s);
	if (!named)
		skip();
	assert_int_equal(known, 1);
	assert_true(named >= 8 * 16);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	static const struct {
		const char *path;
		int err;
	} files[] = {
		{ "/nonexistent", -ENOENT }, { "/tmp", -ENOEXEC },
		{ "/dev/zero", -ENOEXEC },   { "/dev/null", -ENOEXEC },
		{ "/etc/passwd", -ENOEXEC }, { "/proc/self/maps", -ENOEXEC },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct elf_symbols *s = NULL;

		assert_int_equal(open_symbols(&s, files[i].path), files[i].err);
		assert_null(s);
	}
}

static int write_file(const void *data, size_t size, char path[64])
{
	int fd = memfd_create("krait-test", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* Larger than any library: krait does not even open it. */
static void a_huge_file_is_not_read(void **state)
{
	char path[64];
	cleanup_close int fd = write_file(ELFMAG, SELFMAG, path);
	struct elf_symbols *s = NULL;

	assert_int_equal(ftruncate(fd, 5LL << 30), 0);
	assert_int_equal(open_symbols(&s, path), -ENOEXEC);
}

/* Any answer is fine. */
static void ask(const char *path)
{
	struct elf_symbols *s = NULL;
	__u8 id[BUILD_ID_MAX];
	__u64 start;

	if (open_symbols(&s, path))
		return;
	/* As in the undamaged file. */
	for (size_t i = 0; i < STUB_SECTIONS; i++) {
		Elf64_Shdr plt = section(stub_sections[i]);

		for (__u64 at = 0; at < plt.sh_size; at += 16)
			symbol_at(s, plt.sh_offset + at, &start);
	}
	for (__u64 offset = 0; offset < 1 << 16; offset += 4099)
		symbol_at(s, offset, &start);
	assert_in_range(elf_symbols__build_id(s, id), 0, BUILD_ID_MAX);
	elf_symbols__free(s);
}

/* The ELF header, the program headers and the section headers contain sizes and positions. */
static void spoiled_headers_do_no_harm(void **state)
{
	size_t size;
	cleanup_free char *data = read_self(&size);
	Elf64_Ehdr *e = (Elf64_Ehdr *)data;
	size_t sections = e->e_shoff, sections_size = (size_t)e->e_shnum * e->e_shentsize;

	srand(1);
	for (int i = 0; i < SPOILED_RUNS; i++) {
		bool front = i % 2;
		size_t at = front ? SELFMAG + 4 + (size_t)rand() % 800 :
				    sections + (size_t)rand() % sections_size;
		char was = data[at], path[64];
		int fd;

		data[at] = (char)rand();
		fd = write_file(data, size, path);
		ask(path);
		close(fd);
		data[at] = was;
	}
}

/* Stubs get their names from these. */
static void spoiled_relocations_do_no_harm(void **state)
{
	static const char *const names[] = { ".rela.plt", ".rela.dyn", ".dynsym", ".dynstr",
					     ".plt",	  ".plt.sec",  ".plt.got" };
	size_t size;
	cleanup_free char *data = read_self(&size);

	srand(2);
	for (int i = 0; i < SPOILED_RUNS; i++) {
		Elf64_Shdr spoiled = section(names[(size_t)i % (sizeof(names) / sizeof(names[0]))]);
		char was[64], path[64];
		size_t at;
		int fd;

		if (spoiled.sh_size < sizeof(was))
			continue;
		at = spoiled.sh_offset + (size_t)rand() % (spoiled.sh_size - sizeof(was) + 1);
		memcpy(was, data + at, sizeof(was));
		for (size_t k = 0; k < sizeof(was); k++)
			data[at + k] = (char)(i % 3 ? rand() : 0xff);
		fd = write_file(data, size, path);
		ask(path);
		close(fd);
		memcpy(data + at, was, sizeof(was));
	}
}

static void a_file_cut_anywhere_does_no_harm(void **state)
{
	size_t size;
	cleanup_free char *data = read_self(&size);

	for (size_t cut = 0; cut < size; cut += size / 50 + 1) {
		char path[64];
		cleanup_close int fd = write_file(data, cut, path);

		ask(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_covered_from_its_beginning),
		cmocka_unit_test(offsets_without_code_have_no_symbol),
		cmocka_unit_test(answers_do_not_depend_on_the_order_of_questions),
		cmocka_unit_test(stubs_have_the_name_of_what_they_call),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(a_huge_file_is_not_read),
		cmocka_unit_test(spoiled_headers_do_no_harm),
		cmocka_unit_test(spoiled_relocations_do_no_harm),
		cmocka_unit_test(a_file_cut_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests_name("user/native/names/elf_symbols.c", tests, NULL, NULL);
}
