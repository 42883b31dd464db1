/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_late_names.c - native places that are named after they were met, in this very program.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support_roles.h"
#include "support_self.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "record/samples/late_names.h"
#include "native/names/native.h"
#include "native/names/native_files.h"

#define FOR_EVER ~0ULL

int one_function(int n);
int __attribute__((noinline)) one_function(int n)
{
	return n + 1;
}

int another_function(int n);
int __attribute__((noinline)) another_function(int n)
{
	return n + 2;
}

static struct modules *modules;
static struct native_files *files;
static struct space *space;
static struct native *native;
static struct profile *profile;
static struct late_names *late;

static int setup(void **state)
{
	modules = modules__new();
	files = native_files__new(modules);
	space = space__new(&(struct space_config){ .modules = modules, .pid = getpid() });
	native = native__new(files, space);
	profile = profile__new();
	late = late_names__new(files, profile->dict, false);
	return !late || space__read(space, 0) < 0;
}

static int teardown(void **state)
{
	late_names__free(late);
	profile__free(profile);
	native__free(native);
	space__free(space);
	native_files__free(files);
	modules__free(modules);
	return 0;
}

/* As when a sample meets it. */
static __u32 meet(const void *code)
{
	__u64 ip = (__u64)(uintptr_t)code, offset;
	struct module *module = native__meet(native, ip, 0, &offset);
	struct native_place place = { .path = "/opt/program", .address = ip, .number = 1 };
	__u32 frame;

	assert_non_null(module);
	assert_int_equal(offset, self_offset_of(code));
	place.name = native_files__unnamed(files, module)->name;
	frame = frame_native(profile->dict, &place);
	late_names__add(late, frame, native, module, offset);
	return frame;
}

static const char *name_of(__u32 frame)
{
	return dict__text(profile->dict, dict__frame_at(profile->dict, frame)->name);
}

static void a_place_is_named_when_there_is_time(void **state)
{
	__u32 one = meet(one_function), another = meet(another_function);

	assert_string_equal(name_of(one), "[test_late_names]");
	late_names__resolve(late, 0);
	assert_string_equal(name_of(one), "[test_late_names]");
	assert_int_equal(late_names__unnamed(late), 2);
	late_names__resolve(late, FOR_EVER);
	assert_string_equal(name_of(one), "one_function");
	assert_string_equal(name_of(another), "another_function");
	assert_int_equal(late_names__unnamed(late), 0);
	/* Later ones, too. */
	another = meet((const char *)another_function + 1);
	late_names__resolve(late, FOR_EVER);
	assert_string_equal(name_of(another), "another_function");
}

/* More than one request holds, and several in one function. */
static void all_places_are_named(void **state)
{
	__u32 frames[300];

	for (unsigned i = 0; i < 300; i++)
		frames[i] = meet((const char *)one_function + i % 2);
	late_names__resolve(late, FOR_EVER);
	for (unsigned i = 0; i < 300; i++)
		assert_string_equal(name_of(frames[i]), "one_function");
	assert_int_equal(late_names__unnamed(late), 0);
}

/* Its files are open, so even an ended process gets names. */
static void a_process_that_has_gone_leaves_its_files(void **state)
{
	__u32 one = meet(one_function);

	late_names__forget(late, NULL);
	late_names__forget(late, native);
	native__free(native);
	native = NULL;
	late_names__resolve(late, FOR_EVER);
	assert_string_equal(name_of(one), "one_function");
}

/* Code without a file keeps its initial name. */
static void code_without_a_file_keeps_its_name(void **state)
{
	struct module *none = modules__get(modules, "", "", 0);
	const struct native_place place = {
		.name = "[anonymous]", .path = "", .address = 1, .number = 9
	};
	__u32 frame = frame_native(profile->dict, &place);

	late_names__add(late, frame, native, none, 1);
	late_names__resolve(late, FOR_EVER);
	assert_string_equal(name_of(frame), "[anonymous]");
	assert_int_equal(late_names__unnamed(late), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_place_is_named_when_there_is_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(all_places_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_has_gone_leaves_its_files, setup,
						teardown),
		cmocka_unit_test_setup_teardown(code_without_a_file_keeps_its_name, setup,
						teardown),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
