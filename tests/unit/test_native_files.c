/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_native_files.c - names of native code by file and offset, on this very program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "support_roles.h"
#include "support_self.h"
#include "process/space/modules.h"
#include "profile/frames.h"
#include "profile/parts.h"
#include "profile/profile.h"
#include "record/samples/native_places.h"
#include "native/names/fetched_symbols.h"
#include "native/names/native_files.h"
#include "native/names/source_lines.h"
#include "base/data/cleanup.h"

#define SELF "/proc/self/exe"

int a_function_of_this_file(int n);
enum { FUNCTION_LINE = __LINE__ + 1 };
int __attribute__((noinline)) a_function_of_this_file(int n)
{
	return n + 1;
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
	__u64 offset = self_offset_of((void *)a_function_of_this_file);
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

static void no_server_is_asked_for_names_that_are_folded(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);

	assert_true(native_files__has_names(files, file));
	native_files__skip_interpreter(files);
	assert_true(native_files__has_names(files, file));
	module__note_interpreter(file);
	assert_false(native_files__has_names(files, file));
	native_files__free(files);
	modules__free(modules);
}

/* For this program. A file that is not open has none, and neither do offsets outside of functions. */
static void code_has_source_lines(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct source_lines *lines = source_lines__new(files);
	struct module *file = open_self(files);
	struct module *closed = modules__get(modules, "", "/nowhere", 0);
	const __u64 offsets[] = { self_offset_of((void *)a_function_of_this_file), 1 };
	struct source_frame frames[SOURCE_FRAMES_MAX];

	source_lines__prepare(lines);
	assert_int_equal(source_lines__find(lines, closed, offsets, 1), -ENOENT);
	assert_int_equal(source_lines__find(lines, file, offsets, 0), -EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(source_lines__find(lines, file, offsets, 2), 2);
		assert_int_equal(source_lines__at(lines, 1, frames), 0);
		assert_int_equal(source_lines__at(lines, 0, frames), 1);
		assert_non_null(strstr(frames[0].file, "test_native_files.c"));
		assert_in_range(frames[0].line, FUNCTION_LINE, FUNCTION_LINE + 3);
		assert_null(frames[0].name);
	}
	source_lines__free(lines);
	native_files__free(files);
	modules__free(modules);
}

/* krait does not fetch symbols that a file already has. */
static void symbols_that_are_there_are_not_fetched(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct module *file = open_self(files);
	struct fetched_symbols fetched = { 0 };

	fetched_symbols_add(&fetched, files, file);
	fetched_symbols_add(&fetched, files, modules__get(modules, "", "/nowhere", 0));
	assert_int_equal(fetched.spent_ns, 0);
	native_files__free(files);
	modules__free(modules);
}

/* Places met by a recording become frames with lines, and samples count there. */
static void places_of_a_recording_become_lines(void **state)
{
	struct modules *modules = modules__new();
	struct native_files *files = native_files__new(modules);
	struct native_places *places = native_places__new(files, true);
	struct module *file = open_self(files);
	struct profile *p = profile__new();
	const struct native_place place = { .name = "f", .path = "/opt/app/program", .address = 1 };
	__u32 frame = frame_native(p->dict, &place), node = dict__child(p->dict, 0, frame), parts;
	const struct profile_frame *f;
	const __u32 *list;

	native_places__prepare(places);
	profile__count(p, 0, node, 1);
	native_places__add(places, 0, file, 0);
	native_places__add(places, frame, file, self_offset_of((void *)a_function_of_this_file));
	native_places__add(places, frame, modules__get(modules, "", "/nowhere", 0), 0);
	native_places__resolve(places, p);
	list = parts_of(dict__parts(p->dict), frame, &parts);
	assert_int_equal(parts, 1);
	f = dict__frame_at(p->dict, list[0]);
	assert_non_null(strstr(dict__text(p->dict, f->source), "test_native_files.c"));
	assert_in_range(f->line, FUNCTION_LINE, FUNCTION_LINE + 3);
	assert_int_equal(counts__self(profile__counts(p, 0), node), 0);
	assert_int_equal(
		counts__self(profile__counts(p, 0), parts_node(dict__parts(p->dict), node)), 1);
	profile__free(p);
	native_places__free(places);
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
		cmocka_unit_test(code_has_source_lines),
		cmocka_unit_test(symbols_that_are_there_are_not_fetched),
		cmocka_unit_test(places_of_a_recording_become_lines),
		cmocka_unit_test(no_server_is_asked_for_names_that_are_folded),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
