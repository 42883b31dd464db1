/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_halves.c - files of split DWARF that a parser requests: where krait looks for them,
 * and that each unused one is counted, with a real parser and with hostile answers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "proc/modules.h"
#include "support_folder.h"
#include "support_roles.h"
#include "symbol/source_halves.h"
#include "symbol/symbol_reader.h"

#define SELF "/proc/self/exe"

static char folder[TEST_FOLDER_MAX];
static struct modules *modules;
static struct module *module;
static struct symbol_reader *reader;
static struct symbol_file file;
static struct source_halves *halves;
static struct parser_sources answer;

static int setup(void **state)
{
	char name[TEST_FOLDER_MAX + 16];

	test_folder_make(folder);
	snprintf(name, sizeof(name), "%s/lib.so", folder);
	modules = modules__new();
	module = modules__get(modules, SELF, name, 0);
	reader = symbol_reader__new();
	symbol_reader__prepare(reader);
	halves = source_halves__new(reader);
	file = (struct symbol_file){ .fd = open(SELF, O_RDONLY | O_CLOEXEC), .debug_fd = -1 };
	return file.fd < 0 || !halves;
}

static int teardown(void **state)
{
	symbol_reader__close(reader, &file);
	source_halves__free(halves);
	symbol_reader__free(reader);
	modules__free(modules);
	test_folder_remove(folder);
	return 0;
}

/* Answers a parser's request: for a unit compiled in that folder, by that name. */
static void give(const char *made_in, const char *name, __u32 *asked)
{
	answer.half = PARSER_HALF_UNIT;
	answer.folder = 0;
	answer.name = (__u32)strlen(made_in) + 1;
	memcpy(answer.names, made_in, answer.name);
	memcpy(answer.names + answer.name, name, strlen(name) + 1);
	answer.names_size = answer.name + (__u32)strlen(name) + 1;
	assert_int_equal(source_halves__give(halves, &file, module, &answer, asked), 0);
}

static void put(const char *name, mode_t mode)
{
	char path[TEST_FOLDER_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	test_file_put(path, "no ELF file");
	assert_int_equal(chmod(path, mode), 0);
}

static void each_that_is_not_used_is_counted(void **state)
{
	const struct source_half_counts *c = source_halves__counts(halves);
	__u32 asked = 0;

	give("/nonexistent", "a.dwo", &asked);
	assert_int_equal(c->missing, 1);
	put("b.dwo", 0646);
	give(folder, "b.dwo", &asked);
	give("/", "/dev/zero", &asked);
	assert_int_equal(c->refused, 2);
	/* The parser has no such unit, and would not find it there. */
	put("c.dwo", 0644);
	give(folder, "c.dwo", &asked);
	assert_int_equal(c->unreadable, 1);
	assert_int_equal(asked, 4);
	assert_int_equal(c->used + c->stale + c->beyond, 0);
}

/*
 * In the folder of compilation, or else beside the program's file, with or without the path that
 * leads there.
 */
static void places(void **state)
{
	const struct source_half_counts *c = source_halves__counts(halves);
	char inner[TEST_FOLDER_MAX + 16];
	__u32 asked = 0;

	snprintf(inner, sizeof(inner), "%s/obj", folder);
	assert_int_equal(mkdir(inner, 0755), 0);
	put("obj/a.dwo", 0644);
	put("b.dwo", 0644);
	give(folder, "obj/a.dwo", &asked);
	give("/nonexistent", "obj/a.dwo", &asked);
	give("/nonexistent", "made/b.dwo", &asked);
	give("/nonexistent", "/nonexistent/b.dwo", &asked);
	assert_int_equal(c->unreadable, 4);
	assert_int_equal(c->missing, 0);
}

/* A file may name a million: only some are opened, and the others counted. */
static void a_file_with_a_million(void **state)
{
	const struct source_half_counts *c = source_halves__counts(halves);
	__u32 asked = SOURCE_HALVES_MAX - 1;

	put("a.dwo", 0644);
	for (int i = 0; i < 3; i++)
		give(folder, "a.dwo", &asked);
	assert_int_equal(c->unreadable, 1);
	assert_int_equal(c->beyond, 2);
}

#define LIBRARIES 20

/* Each keeps as many halves open as possible; they share a folder, and so one set of .dwo files. */
static bool build_libraries(void)
{
	char command[TEST_FOLDER_MAX + 512];

	snprintf(
		command, sizeof(command),
		"exec >/dev/null 2>&1; export CCACHE_DISABLE=1; cd %s && for i in 1 2 3 4 5 6 7 8; do "
		"echo \"unsigned f$i(unsigned a) { return a * $i; }\" > $i.c && "
		"gcc -g -gsplit-dwarf -O2 -fPIC -c $i.c || exit 1; done; "
		"gcc -shared -nostdlib -o 0.so ?.o && for i in $(seq %d); do cp 0.so $i.so || exit 1; done",
		folder, LIBRARIES - 1);
	return !system(command);
}

/* Asks about every fourth byte of that code section. */
static void read_all(struct symbol_file *f, __u64 start, __u64 end)
{
	const struct parser_sources *a;
	__u32 asked = 0;

	for (__u64 at = start; at < end;) {
		assert_int_equal(symbol_reader__sources(reader, f, &at, 1, &a), 0);
		if (a->cnt)
			at += 4;
		else
			assert_int_equal(source_halves__give(halves, f, module, a, &asked), 0);
	}
}

static void many_files_at_once(void **state)
{
	const struct source_half_counts *c = source_halves__counts(halves);
	struct symbol_file files[LIBRARIES];
	char path[TEST_FOLDER_MAX + 32];

	if (!build_libraries())
		skip();
	for (unsigned i = 0; i < LIBRARIES; i++) {
		snprintf(path, sizeof(path), "%s/%u.so", folder, i);
		files[i] = (struct symbol_file){ .fd = open(path, O_RDONLY | O_CLOEXEC),
						 .debug_fd = -1 };
		read_all(&files[i], 0x1000, 0x1080);
	}
	assert_int_equal(c->used, 8 * LIBRARIES);
	assert_int_equal(c->missing + c->refused + c->stale + c->unreadable, 0);
	for (unsigned i = 0; i < LIBRARIES; i++)
		symbol_reader__close(reader, &files[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(each_that_is_not_used_is_counted),
		TEST(places),
		TEST(a_file_with_a_million),
		TEST(many_files_at_once),
	};

	become_worker(argv);
	return cmocka_run_group_tests_name("wanted files of split DWARF", tests, NULL, NULL);
}
