/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_native_files.c - names of native code by file and offset, on this very program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support_roles.h"
#include "proc/modules.h"
#include "symbol/native_files.h"
#include "target/maps.h"
#include "util/cleanup.h"

#define SELF "/proc/self/exe"

int a_function_of_this_file(int n);
int __attribute__((noinline)) a_function_of_this_file(int n)
{
	return n + 1;
}

/* Where in its file the code at that address is. */
static __u64 offset_of(const void *code)
{
	__u64 addr = (__u64)(uintptr_t)code;
	cleanup_maps struct maps maps = { .fd = -1 };
	struct maps_line m;

	assert_int_equal(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &m) > 0) {
		if (addr >= m.start && addr < m.end)
			return addr - m.start + m.offset;
	}
	fail_msg("the code is mapped nowhere");
	return 0;
}

static struct module *open_self(struct native_files *files)
{
	const char *const paths[] = { SELF };
	struct module *file =
		modules__get(native_files__modules(files), SELF, "/opt/app/program", 0);

	assert_non_null(file);
	assert_true(native_files__is_closed(files, file));
	native_files__open(files, file, paths, 1, NULL);
	assert_false(native_files__is_closed(files, file));
	return file;
}

static void a_function_has_one_symbol_for_all_its_code(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);
	__u64 offset = offset_of((void *)a_function_of_this_file);
	struct native_symbol *s = native_files__find(files, file, offset);

	assert_string_equal(s->name, "a_function_of_this_file");
	assert_ptr_equal(s->module, file);
	assert_ptr_equal(native_files__find(files, file, offset + 1), s);
	native_files__free(files);
	modules__free(modules);
}

static void code_without_a_name_is_one_entry_of_its_file(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);
	struct native_symbol *s = native_files__find(files, file, 0); /* the ELF header */

	assert_string_equal(s->name, "[program]");
	assert_ptr_equal(native_files__find(files, file, 16), s);
	assert_ptr_equal(native_files__find(files, file, ~0ULL), s);
	native_files__free(files);
	modules__free(modules);
}

static void what_is_no_file_has_its_own_name(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *vdso = modules__get(native_files__modules(files), "", "[vdso]", 0);
	struct module *nothing = modules__get(native_files__modules(files), "", "", 0);

	assert_string_equal(native_files__find(files, vdso, 0x800)->name, "[vdso]");
	assert_string_equal(native_files__find(files, nothing, 0x800)->name, "[anonymous]");
	native_files__free(files);
	modules__free(modules);
}

static void two_processes_share_a_file(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);

	assert_ptr_equal(modules__get(native_files__modules(files), "/proc/self/exe",
				      "/elsewhere/program", 0),
			 file);
	native_files__free(files);
	modules__free(modules);
}

static void the_interpreter_needs_no_names_where_it_is_folded(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);

	native_files__skip_interpreter(files);
	module__set_interpreter(file);
	assert_string_equal(
		native_files__find(files, file, offset_of((void *)a_function_of_this_file))->name,
		"[program]");
	native_files__free(files);
	modules__free(modules);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_one_symbol_for_all_its_code),
		cmocka_unit_test(code_without_a_name_is_one_entry_of_its_file),
		cmocka_unit_test(what_is_no_file_has_its_own_name),
		cmocka_unit_test(two_processes_share_a_file),
		cmocka_unit_test(the_interpreter_needs_no_names_where_it_is_folded),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
