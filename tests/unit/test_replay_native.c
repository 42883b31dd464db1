/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_native.c - native frames of processes whose mappings change: as reported, as reread,
 * and not at all. Whatever is known of them, the Python frames are the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "profile/marks.h"
#include "profile/profile.h"
#include "replay_scene.h"
#include "record/anchors/anchoring.h"
#include "record/samples/native_part.h"
#include "process/proc/maps.h"

/* None of these frames is the interpreter's: how they were called is unknown. */
#define LEFT MARK_NATIVE_TRUNCATED ";"

#define LIB_INODE 7
#define OTHER_INODE 8
#define LIB 0x7f0000000000ULL
#define SIZE 0x10000ULL
#define PLUGIN (LIB + 2 * SIZE)
#define MADE (LIB + 4 * SIZE)

static const struct probe_mapping lib = { LIB, LIB + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 1 };
static const struct probe_mapping plugin = { PLUGIN, PLUGIN + SIZE, 0, MAPPING_READ | MAPPING_EXEC,
					     1 };
static const struct probe_mapping made = { MADE, MADE + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 0 };

static const __u64 in_lib[] = { LIB + 0x100, 0 }, in_plugin[] = { PLUGIN + 0x100, 0 },
		   in_made[] = { MADE + 0x100, 0 };

/* A process whose only library is known by then. */
static void begin(struct script *s, bool reported)
{
	const struct input_session session = {
		.event_cnt = 1,
		.native = true,
		.mappings_reported = reported,
		.anchors = ANCHOR_MODE_OFF,
	};

	script_begin(s);
	script_session(s, &session);
	script_look(s, 0, &python);
	script_maps(s, 1, &python, &lib, 1, LIB_INODE, "/usr/lib/libone.so");
	for (int inode = LIB_INODE; inode <= OTHER_INODE; inode++) {
		script_no_files(s, 0, &python, LIB, (__u64)inode, 20);
		script_no_files(s, 0, &python, PLUGIN, (__u64)inode, 20);
	}
	script_native_sample(s, 10, &python, "ab", in_lib);
}

static void end(struct script *s, const char *folded)
{
	scene_expect(s, false, folded, 0);
}

static void code_of_a_library_without_names_is_the_librarys(void **state)
{
	struct script s;

	begin(&s, true);
	end(&s, "old;a;b;" LEFT "[libone.so] 1\n");
}

/* Generated code is known once the kernel has reported it; nothing is reread. */
static void what_is_mapped_is_known_when_it_is_reported(void **state)
{
	struct script s;

	begin(&s, true);
	script_map(&s, 20, &python, &made, 0, false);
	script_native_sample(&s, 30, &python, "ab", in_made);
	/* The library again, elsewhere: its file is known. */
	script_map(&s, 40, &python, &plugin, LIB_INODE, false);
	script_native_sample(&s, 50, &python, "ab", in_plugin);
	end(&s, "old;a;b;" LEFT "[anonymous] 1\nold;a;b;" LEFT "[libone.so] 2\n");
}

/* A report does not suffice for a file not seen before: the mappings are reread. */
static void a_file_that_is_not_known_has_the_mappings_read_again(void **state)
{
	static const struct probe_mapping later[] = {
		{ LIB, LIB + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 1 },
		{ PLUGIN, PLUGIN + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 1 },
	};
	struct script s;

	begin(&s, true);
	script_map(&s, 20, &python, &plugin, OTHER_INODE, false);
	script_maps(&s, 21, &python, later, 2, OTHER_INODE, "/usr/lib/libother.so");
	script_native_sample(&s, 30, &python, "ab", in_plugin);
	end(&s, "old;a;b;" LEFT "[libone.so] 1\nold;a;b;" LEFT "[libother.so] 1\n");
}

/*
 * Without reports, an address outside known code triggers rereading; likewise after the reports
 * have ended.
 */
static void without_reports_an_unknown_address_has_them_read(void **state)
{
	static const struct probe_mapping later[] = {
		{ LIB, LIB + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 1 },
		{ PLUGIN, PLUGIN + SIZE, 0, MAPPING_READ | MAPPING_EXEC, 1 },
	};

	for (int ended = 0; ended < 2; ended++) {
		struct script s;

		begin(&s, ended);
		if (ended)
			script_map(&s, 20, &python, &lib, LIB_INODE, true);
		script_maps(&s, 150, &python, later, 2, LIB_INODE, "/usr/lib/libone.so");
		script_native_sample(&s, 300, &python, "ab", in_plugin);
		end(&s, "old;a;b;" LEFT "[libone.so] 2\n");
	}
}

/* A child has its parent's mappings until either maps something. */
static void what_a_child_maps_is_its_own(void **state)
{
	const struct actor child = { CHILD, START_NS + 500000000, "old", &old };
	struct script s;
	struct replay *r;

	begin(&s, true);
	script_fork(&s, 20, &child, PID);
	script_open(&s, 20, &child);
	script_no_files(&s, 0, &child, LIB, LIB_INODE, 20);
	script_native_sample(&s, 30, &child, "ab", in_lib);
	script_map(&s, 40, &child, &made, 0, false);
	script_native_sample(&s, 50, &child, "ab", in_made);
	script_native_sample(&s, 51, &python, "ab", in_made);
	r = scene_replay(&s, false);
	assert_non_null(strstr(scene_stacks(r), "old;a;b;" LEFT "[anonymous] 1\n"));
	assert_non_null(strstr(scene_stacks(r), "old;a;b;" LEFT "[libone.so] 2\n"));
	assert_int_equal(scene_accounted(r), s.sample_cnt);
	replay_free(r);
	script_free(&s);
}

/* The old image's mappings do not apply to the new one, which has other code at the same address. */
static void an_exec_has_mappings_of_its_own(void **state)
{
	const struct actor after = { PID, START_NS, "new", &new };
	struct script s;

	begin(&s, true);
	script_map(&s, 15, &python, &made, 0, false);
	script_exec(&s, 20, &after);
	script_look(&s, 20, &after);
	script_maps(&s, 21, &after, &lib, 1, OTHER_INODE, "/usr/lib/libtwo.so");
	script_native_sample(&s, 30, &after, "ab", in_lib);
	end(&s, "new;Na;Nb;" LEFT "[libtwo.so] 1\nold;a;b;" LEFT "[libone.so] 1\n");
}

/* Nobody could read them in time: a mark stands for the native code. */
static void without_mappings_a_mark_stands_for_native_code(void **state)
{
	const struct input_session session = {
		.event_cnt = 1,
		.native = true,
		.mappings_reported = true,
		.anchors = ANCHOR_MODE_OFF,
	};
	struct script s;

	script_begin(&s);
	script_session(&s, &session);
	script_look(&s, 0, &python);
	script_silent(&s, 2100, &python, PROBE_MAPS, -ETIMEDOUT);
	script_code(&s, 5, &python, 'a');
	script_code(&s, 5, &python, 'b');
	script_native_sample(&s, 10, &python, "ab", in_lib);
	script_exit(&s, 20, &python, 0);
	end(&s, "old;a;b;" MARK_NATIVE_UNKNOWN " 1\n");
}

/*
 * The same two Python frames three times, each in an activation of its own; native code between
 * them comes and goes, and so does the mark where the chain ends early. Each sample has what was
 * there at its time: nothing of the previous stack stays, and if nothing has changed the stack is
 * the same.
 */
static void what_is_between_kept_frames_is_of_each_sample(void **state)
{
	static const struct native_frame plain[] = {
		{ LIB + 0x100, 0x100 }, { LIB + 0x200, 0x280 }, { LIB + 0x300, 0x480 }, { 0 }
	};
	static const struct native_frame more[] = { { LIB + 0x100, 0x100 },
						    { LIB + 0x200, 0x280 },
						    { MADE + 0x100, 0x380 },
						    { LIB + 0x300, 0x480 },
						    { 0 } };
	static const struct native_frame cut[] = { { LIB + 0x100, 0x100 },
						   { LIB + 0x200, 0x280 },
						   { 0 } };
	static const struct native_frame *const turns[] = { more, plain, plain, cut,
							    more, cut,	 plain };
	struct script s;

	begin(&s, true);
	script_map(&s, 15, &python, &made, 0, false);
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		script_joined_sample(&s, 20 + 10 * (double)i, &python, "4a2b", turns[i]);
	end(&s, "old;a;b;" LEFT "[libone.so] 1\n"
		"old;a;" LEFT "[libone.so];b;[libone.so] 2\n"
		"old;[libone.so];a;[anonymous];[libone.so];b;[libone.so] 2\n"
		"old;[libone.so];a;[libone.so];b;[libone.so] 3\n");
}

/* Nothing is read now. Each frame counts, also those between frames that are the same as in the last stack: none is settled. */
static void each_frame_without_its_name_counts(void **state)
{
	static const struct native_frame natives[] = {
		{ LIB + 0x100, 0x100 }, { LIB + 0x200, 0x280 }, { LIB + 0x300, 0x480 }, { 0 }
	};
	struct replay *r;
	struct script s;

	begin(&s, true);
	for (int i = 0; i < 5; i++)
		script_joined_sample(&s, 20 + 10 * i, &python, "4a2b", natives);
	script_end(&s, 60000);
	r = replay_new(s.log, s.size, false);
	replay_starve_natives(r);
	replay_follow(r, PID);
	replay_run(r);
	assert_string_equal(scene_stacks(r), "old;a;b;" LEFT "[libone.so] 1\n"
					     "old;[libone.so];a;[libone.so];b;[libone.so] 5\n");
	assert_int_equal(replay_natives(r)->names_put_off, 1 + 5 * 3);
	replay_free(r);
	script_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_of_a_library_without_names_is_the_librarys),
		cmocka_unit_test(what_is_mapped_is_known_when_it_is_reported),
		cmocka_unit_test(a_file_that_is_not_known_has_the_mappings_read_again),
		cmocka_unit_test(without_reports_an_unknown_address_has_them_read),
		cmocka_unit_test(what_a_child_maps_is_its_own),
		cmocka_unit_test(an_exec_has_mappings_of_its_own),
		cmocka_unit_test(without_mappings_a_mark_stands_for_native_code),
		cmocka_unit_test(what_is_between_kept_frames_is_of_each_sample),
		cmocka_unit_test(each_frame_without_its_name_counts),
	};

	return cmocka_run_group_tests_name("replay: native frames", tests, scene_setup,
					   scene_teardown);
}
