/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf_split.c - for every byte of a library, split DWARF gives the same answer as the same
 * library with everything in one file: gcc and clang, DWARF 4 and 5, .dwo files and packages,
 * compressed and not.
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

/* The same at each byte of the code; how many have functions inlined, and pieces of a third one within. */
static void assert_alike(struct source *split, const char *plain, __u64 start, __u64 end)
{
	struct source whole = { .symbols = split_open(plain) };
	unsigned inlined = 0, deep = 0;

	for (__u64 at = start; at < end; at++) {
		struct source_frame want[SOURCE_FRAMES_MAX], got[SOURCE_FRAMES_MAX];
		unsigned cnt = source_ask(&whole, at, want);

		assert_int_equal(source_ask(split, at, got), cnt);
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
	/*
	 * spin() contains twice(), which contains mix(); churn() contains twist(), which contains
	 * mix(), too.
	 */
	assert_in_range(inlined, 10, end - start);
	assert_in_range(deep, 50, end - start);
	elf_symbols__free(whole.symbols);
}

static void check_files(const char *cc, unsigned version, const char *more)
{
	struct source split = { 0 };
	__u64 start = 0, end = 0;

	if (!split_build_both(cc, version, more))
		skip();
	split_code("split", &start, &end);
	split.symbols = split_open("split");
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

	if (!split_has(tool) || !split_build_both(cc, version, "") ||
	    !split_run("%s -o split.dwp split-first.dwo split-second.dwo", tool))
		skip();
	split_code("split", &start, &end);
	split.symbols = split_open("split");
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

/*
 * One object linked twice under different names: each unit has its own half, from the same file
 * with the same id.
 */
static void units_of_one_id(void **state)
{
	struct source split = { 0 };
	__u64 start = 0, end = 0;

	if (!split_has("objcopy") || !split_build_both("gcc", 5, ""))
		skip();
	assert_true(split_run(
		"for i in plain split; do "
		"objcopy --redefine-sym spin=spin_2 --redefine-sym rare=rare_2 $i-first.o $i-2.o && "
		"gcc -shared -nostdlib -Wl,--build-id=none -o $i.so $i-first.o $i-2.o $i-second.o || "
		"exit 1; done"));
	split_code("split", &start, &end);
	split.symbols = split_open("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.halves, 3);
	assert_int_equal(split.err, 0);
	elf_symbols__free(split.symbols);
}

/* A package of other units leads to the files that the units name. */
static void units_that_a_package_lacks_have_files(void **state)
{
	struct source split = { .package = "half.dwp" };
	__u64 start = 0, end = 0;

	if (!split_has("llvm-dwp") || !split_build_both("clang", 5, "") ||
	    !split_run("llvm-dwp -o half.dwp split-first.dwo"))
		skip();
	split_code("split", &start, &end);
	split.symbols = split_open("split");
	assert_alike(&split, "plain", start, end);
	assert_int_equal(split.halves, 1);
	elf_symbols__free(split.symbols);
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
		cmocka_unit_test(units_that_a_package_lacks_have_files),
	};

	return cmocka_run_group_tests_name("split DWARF", tests, split_setup, split_teardown);
}
