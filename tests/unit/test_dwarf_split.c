/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_split.c - split DWARF says of every byte of a library what the same library says that has all in one file:
 * of gcc and clang, DWARF 4 and 5, in .dwo files and in packages, compressed and not.
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

#include "support_folder.h"
#include "symbol/dwo_file.h"
#include "symbol/elf_symbols.h"
#include "util/cleanup.h"

/* Functions inlined in each other, in blocks and in loops, of another file, and in several pieces (-ffunction-sections). */
static const char header[] =
	"static inline __attribute__((always_inline)) unsigned mix(unsigned a)\n"
	"{\n"
	"	for (unsigned i = 0; i < a % 7; i++)\n"
	"		a = a * 31 + (a >> 3);\n"
	"	return a;\n"
	"}\n";
static const char first[] =
	"#include \"mix.h\"\n"
	"extern int outside(unsigned);\n"
	"static inline __attribute__((always_inline)) unsigned twice(unsigned a)\n"
	"{\n"
	"	unsigned b = mix(a);\n"
	"	if (b & 1) {\n"
	"		unsigned c = mix(b + 3);\n"
	"		outside(c);\n"
	"		return c;\n"
	"	}\n"
	"	return b ^ mix(a + 1);\n"
	"}\n"
	"unsigned spin(unsigned n)\n"
	"{\n"
	"	unsigned s = 0;\n"
	"	while (n--) {\n"
	"		if (__builtin_expect(outside(s) < 0, 0))\n"
	"			__builtin_trap();\n"
	"		s += twice(n);\n"
	"	}\n"
	"	return s;\n"
	"}\n"
	"__attribute__((cold)) unsigned rare(unsigned n) { return twice(n) + spin(n); }\n";
static const char second[] =
	"#include \"mix.h\"\n"
	"namespace work {\n"
	"struct Mixer {\n"
	"	unsigned salt;\n"
	"	template <typename T> inline __attribute__((always_inline)) T twist(T a) { return mix(a) ^ salt; }\n"
	"	unsigned churn(unsigned n);\n"
	"};\n"
	"unsigned Mixer::churn(unsigned n) { return twist<unsigned>(n) + (unsigned)twist<long>(n + 1); }\n"
	"}\n"
	"extern \"C\" int outside(unsigned n) { work::Mixer m = { n }; return (int)m.churn(n); }\n";

static char folder[TEST_FOLDER_MAX];

static int setup(void **state)
{
	char path[TEST_FOLDER_MAX + 16];

	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/mix.h", folder);
	test_file_put(path, header);
	snprintf(path, sizeof(path), "%s/first.c", folder);
	test_file_put(path, first);
	snprintf(path, sizeof(path), "%s/second.cc", folder);
	test_file_put(path, second);
	return 0;
}

static int teardown(void **state)
{
	test_folder_remove(folder);
	return 0;
}

/* ---- libraries ---------------------------------------------------------------------------------- */

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *format, ...)
{
	char words[512], command[sizeof(words) + TEST_FOLDER_MAX + 64];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	/* A cache of what compilers made may have it of another folder. */
	snprintf(command, sizeof(command), "cd %s && export CCACHE_DISABLE=1 && %s >/dev/null 2>&1",
		 folder, words);
	return !system(command);
}

static bool has(const char *tool)
{
	return run("command -v %s", tool);
}

/* name.so of both sources; their .dwo files, if there are any, are name-first.dwo and name-second.dwo. */
static bool build(const char *name, const char *cc, const char *flags)
{
	return run("%s -O2 -fPIC -g %s -c first.c -o %s-first.o", cc, flags, name) &&
	       run("%s -O2 -fPIC -g %s -x c++ -c second.cc -o %s-second.o", cc, flags, name) &&
	       run("%s -shared -nostdlib -Wl,--build-id=none -o %s.so %s-first.o %s-second.o", cc,
		   name, name, name);
}

static struct elf_symbols *open_library(const char *name)
{
	char path[TEST_FOLDER_MAX + 64];
	struct elf_symbols *s = NULL;
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_symbols__new(&s, fd, -1), 0);
	return s;
}

/* Where its code is in the file, by its program headers. */
static void find_code(const char *name, __u64 *ret_start, __u64 *ret_end)
{
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	Elf64_Ehdr file;

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, &file, sizeof(file), 0), sizeof(file));
	for (unsigned i = 0; i < file.e_phnum; i++) {
		Elf64_Phdr p;

		assert_int_equal(pread(fd, &p, sizeof(p), (off_t)(file.e_phoff + i * sizeof(p))),
				 sizeof(p));
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		*ret_start = p.p_offset;
		*ret_end = p.p_offset + p.p_filesz;
	}
}

/* ---- answers ------------------------------------------------------------------------------------- */

/* What a library's answers are made of. */
struct source {
	struct elf_symbols *symbols;
	const char *package; /* its file's name; NULL none */
	const char *instead; /* the file of every unit; NULL: the one that it names */
	unsigned packages, halves; /* that were asked for */
	int err; /* the last thing that came of one */
};

static int open_in_folder(const char *in, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", in, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static unsigned ask(struct source *s, __u64 offset, struct source_frame *frames)
{
	for (unsigned i = 0; i < 100; i++) {
		struct dwarf_wanted wanted;
		unsigned cnt = elf_symbols__source(s->symbols, offset, frames, &wanted);
		cleanup_close int fd = -1;

		if (wanted.what == DWARF_WANT_NOTHING)
			return cnt;
		assert_int_equal(cnt, 0);
		if (wanted.what == DWARF_WANT_PACKAGE) {
			s->packages++;
			fd = s->package ? open_in_folder(folder, s->package) : -1;
			assert_true(!s->package || fd >= 0);
		} else {
			s->halves++;
			assert_string_equal(wanted.folder, folder);
			fd = s->instead ? open_in_folder(folder, s->instead) :
					  open_in_folder(wanted.folder, wanted.name);
		}
		s->err = elf_symbols__add(s->symbols, wanted.what, wanted.id, fd);
	}
	fail_msg("it wants ever more");
	return 0;
}

/* The same at each byte of the code; how many have functions inlined, and pieces of a third one within. */
static void assert_alike(struct source *split, const char *plain, __u64 start, __u64 end)
{
	struct source whole = { .symbols = open_library(plain) };
	unsigned inlined = 0, deep = 0;

	for (__u64 at = start; at < end; at++) {
		struct source_frame want[SOURCE_FRAMES_MAX], got[SOURCE_FRAMES_MAX];
		unsigned cnt = ask(&whole, at, want);

		assert_int_equal(ask(split, at, got), cnt);
		for (unsigned i = 0; i < cnt; i++) {
			assert_int_equal(got[i].line, want[i].line);
			assert_string_equal(got[i].name ? got[i].name : "",
					    want[i].name ? want[i].name : "");
			assert_string_equal(got[i].file ? got[i].file : "",
					    want[i].file ? want[i].file : "");
		}
		inlined += cnt == 2;
		deep += cnt > 2;
	}
	assert_int_equal(whole.packages + whole.halves, 0);
	/* spin() has twice(), which has mix(); churn() has twist(), which has it, too. */
	assert_in_range(inlined, 10, end - start);
	assert_in_range(deep, 50, end - start);
	elf_symbols__free(whole.symbols);
}

static bool build_both(const char *cc, unsigned version, const char *more)
{
	char flags[128];

	snprintf(flags, sizeof(flags), "-gdwarf-%u %s", version, more);
	if (!has(cc) || !build("plain", cc, flags))
		return false;
	snprintf(flags, sizeof(flags), "-gdwarf-%u -gsplit-dwarf %s", version, more);
	return build("split", cc, flags);
}

static bool build_split(const char *cc, unsigned version)
{
	char flags[64];

	snprintf(flags, sizeof(flags), "-gdwarf-%u -gsplit-dwarf", version);
	return has(cc) && build("split", cc, flags);
}

static void check_files(const char *cc, unsigned version, const char *more)
{
	struct source split = { 0 };
	__u64 start = 0, end = 0;

	if (!build_both(cc, version, more))
		skip();
	find_code("split", &start, &end);
	split.symbols = open_library("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.packages, 1);
	assert_int_equal(split.halves, 2);
	assert_int_equal(split.err, 0);
	elf_symbols__free(split.symbols);
}

/* The .dwo files are gone: nobody asks for them. */
static void check_package(const char *cc, unsigned version, const char *tool)
{
	struct source split = { .package = "split.dwp" };
	__u64 start = 0, end = 0;

	if (!has(tool) || !build_both(cc, version, "") ||
	    !run("%s -o split.dwp split-first.dwo split-second.dwo", tool))
		skip();
	find_code("split", &start, &end);
	split.symbols = open_library("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.halves, 0);
	elf_symbols__free(split.symbols);
}

static void gcc_4(void **state)
{
	check_files("gcc", 4, "");
}

static void gcc_5(void **state)
{
	check_files("gcc", 5, "");
}

static void gcc_5_compressed(void **state)
{
	check_files("gcc", 5, "-gz -ffunction-sections");
}

static void clang_4(void **state)
{
	check_files("clang", 4, "");
}

static void clang_5(void **state)
{
	check_files("clang", 5, "-ffunction-sections");
}

static void package_of_4(void **state)
{
	check_package("gcc", 4, "dwp");
}

static void package_of_5(void **state)
{
	check_package("clang", 5, "llvm-dwp");
}

/* One object that is linked twice, with other names: each unit has its own half, of one file and one id. */
static void units_of_one_id(void **state)
{
	struct source split = { 0 };
	__u64 start = 0, end = 0;

	if (!has("objcopy") || !build_both("gcc", 5, ""))
		skip();
	assert_true(run(
		"for i in plain split; do "
		"objcopy --redefine-sym spin=spin_2 --redefine-sym rare=rare_2 $i-first.o $i-2.o && "
		"gcc -shared -nostdlib -Wl,--build-id=none -o $i.so $i-first.o $i-2.o $i-second.o || "
		"exit 1; done"));
	find_code("split", &start, &end);
	split.symbols = open_library("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.halves, 3);
	assert_int_equal(split.err, 0);
	elf_symbols__free(split.symbols);
}

/* ---- what is of no use ---------------------------------------------------------------------------- */

static void assert_lines_only(struct source *split, unsigned halves, int err)
{
	__u64 start = 0, end = 0;
	unsigned lines = 0;

	find_code("split", &start, &end);
	split->symbols = open_library("split");
	for (__u64 at = start; at < end; at++) {
		struct source_frame frames[SOURCE_FRAMES_MAX];
		unsigned cnt = ask(split, at, frames);

		assert_in_range(cnt, 0, 1);
		lines += cnt && frames[0].line;
	}
	assert_true(lines > 100);
	assert_int_equal(split->halves, halves);
	assert_int_equal(split->err, err);
	elf_symbols__free(split->symbols);
}

/* Asked for once, and left alone. */
static void files_that_are_not_there(void **state)
{
	struct source split = { 0 };

	if (!build_split("gcc", 5) || !run("rm split-*.dwo"))
		skip();
	assert_lines_only(&split, 2, 0);
}

/* That of another build of the very same source is none. */
static void files_of_other_units_are_refused(void **state)
{
	struct source split = { 0 };

	if (!build_split("gcc", 5) ||
	    !run("mv split-first.dwo x && mv split-second.dwo split-first.dwo && mv x split-second.dwo"))
		skip();
	assert_lines_only(&split, 2, -ESTALE);
}

static void files_that_are_none_are_refused(void **state)
{
	struct source split = { .instead = "split.so" };

	if (!build_split("gcc", 5))
		skip();
	assert_lines_only(&split, 2, -ENOEXEC);
}

/* A package of other units leads to the files that the units name. */
static void units_that_a_package_lacks_have_files(void **state)
{
	struct source split = { .package = "half.dwp" };
	__u64 start = 0, end = 0;

	if (!has("llvm-dwp") || !build_both("clang", 5, "") ||
	    !run("llvm-dwp -o half.dwp split-first.dwo"))
		skip();
	find_code("split", &start, &end);
	split.symbols = open_library("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.halves, 1);
	elf_symbols__free(split.symbols);
}

/* Puts bytes over a section of a file, from there on. */
static void put_over(const char *name, const char *section, __u64 at, const void *bytes, size_t len)
{
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	Elf_Scn *found = NULL;
	GElf_Shdr place = { 0 };
	size_t names;
	Elf *elf;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
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

/* Whatever it is, there are answers. */
static void assert_bounded(struct source *split)
{
	__u64 start = 0, end = 0;

	find_code("split", &start, &end);
	split->symbols = open_library("split");
	for (__u64 i = start; i < end; i += 41) {
		struct source_frame frames[SOURCE_FRAMES_MAX];

		assert_in_range(ask(split, i, frames), 0, SOURCE_FRAMES_MAX);
	}
	elf_symbols__free(split->symbols);
}

/* Of the unit, in the usual form and in that for 64 bits; its version, and the offset of its abbreviations. */
static void lengths_that_cannot_be(void **state)
{
	static const struct {
		__u64 at, value;
		size_t size;
	} cases[] = {
		{ 0, 0xffffffef, 4 }, { 0, ~0ULL, 8 },	    { 0, 0, 4 },
		{ 4, 0x4444, 2 },     { 8, 0xfffffff0, 4 },
	};

	if (!build_split("gcc", 5))
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct source split = { .instead = "x.dwo" };

		assert_true(run("cp split-first.dwo x.dwo"));
		put_over("x.dwo", ".debug_info.dwo", cases[i].at, &cases[i].value, cases[i].size);
		assert_bounded(&split);
		assert_int_equal(split.halves, 2);
	}
}

/* No id is that of the unit, no slot is free, and no row is where it should be. */
static void indexes_without_an_end(void **state)
{
	struct source split = { .package = "split.dwp" };
	__u32 slots = 1U << 30, units = 1U << 29;
	__u8 full[64];

	memset(full, 0x11, sizeof(full));
	if (!has("llvm-dwp") || !build_split("clang", 5) ||
	    !run("llvm-dwp -o split.dwp split-first.dwo split-second.dwo && rm split-*.dwo"))
		skip();
	put_over("split.dwp", ".debug_cu_index", 16, full, sizeof(full));
	assert_lines_only(&split, 2, 0);
	split = (struct source){ .package = "split.dwp" };
	put_over("split.dwp", ".debug_cu_index", 12, &slots, sizeof(slots));
	put_over("split.dwp", ".debug_cu_index", 8, &units, sizeof(units));
	assert_lines_only(&split, 2, 0);
}

/* A compressed section of no bytes, and then another of its name: nothing of the first is taken for the second. */
static void sections_of_one_name(void **state)
{
	enum { SECTIONS_AT = 64, TEXT_AT = 1024, NAMES_AT = 6144, FILE_SIZE = 8192 };
	static const char names[] = "\0.debug_info.dwo\0.debug_abbrev.dwo\0.debug_str.dwo\0.names";
	/* A header, all zero but for the kind, and zlib's stream of nothing. */
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
	snprintf(path, sizeof(path), "%s/names.dwo", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, image, sizeof(image)), sizeof(image));
	assert_int_equal(dwo_file_open(&dwo, fd), 0);
	text = dwo_file_text(&dwo, 3000, 100);
	assert_non_null(text);
	assert_string_equal(text, "of the second");
	dwo_file_close(&dwo);
}

/* Each byte of a .dwo file and of a package in turn is something else: no crash, no answer without an end. */
static void damage(const char *name, const char *package)
{
	struct source split = { .package = package };
	char path[TEST_FOLDER_MAX + 64];
	cleanup_close int fd = -1;
	off_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
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
	if (!build_split("gcc", 5))
		skip();
	damage("split-first.dwo", NULL);
}

static void damaged_packages(void **state)
{
	if (!has("dwp") || !build_split("gcc", 4) ||
	    !run("dwp -o split.dwp split-first.dwo split-second.dwo"))
		skip();
	damage("split.dwp", "split.dwp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcc_4),
		cmocka_unit_test(gcc_5),
		cmocka_unit_test(gcc_5_compressed),
		cmocka_unit_test(clang_4),
		cmocka_unit_test(clang_5),
		cmocka_unit_test(package_of_4),
		cmocka_unit_test(package_of_5),
		cmocka_unit_test(units_of_one_id),
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(files_of_other_units_are_refused),
		cmocka_unit_test(files_that_are_none_are_refused),
		cmocka_unit_test(units_that_a_package_lacks_have_files),
		cmocka_unit_test(lengths_that_cannot_be),
		cmocka_unit_test(indexes_without_an_end),
		cmocka_unit_test(sections_of_one_name),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(damaged_packages),
	};

	return cmocka_run_group_tests_name("split DWARF", tests, setup, teardown);
}
