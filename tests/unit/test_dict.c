/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dict.c - ids, interning, the tree, and limits on its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "profile/frames.h"
#include "profile/strtab.h"
#include "support_profile.h"
#include "base/share/quota.h"

static void equal_strings_have_one_id_and_keep_their_address(void **state)
{
	struct profile *p = profile__new();
	const char *first;
	char text[32];
	__u32 id, i;

	assert_int_equal(dict__string(p->dict, ""), 0);
	assert_string_equal(dict__text(p->dict, 0), "");
	id = dict__string(p->dict, "hello");
	first = dict__text(p->dict, id);
	assert_int_not_equal(id, 0);
	for (i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		assert_int_equal(dict__string(p->dict, text), id + 1 + i);
	}
	assert_int_equal(dict__string(p->dict, "hello"), id);
	assert_int_equal(dict__string(p->dict, "string 777"), id + 778);
	assert_ptr_equal(dict__text(p->dict, id), first);
	assert_string_equal(dict__text(p->dict, 0xffffffff), "");
	profile__free(p);
}

static void a_thread_keeps_its_node_when_it_is_renamed(void **state)
{
	struct profile *p = profile__new();
	__u32 process = dict__named_child(p->dict, 0, FRAME_PROCESS, "app", 7, 0);
	__u32 node = dict__thread_child(p->dict, process, 1, "python3", 7, 8), frame;

	frame = dict__node_at(p->dict, node)->frame;
	assert_int_equal(dict__thread_child(p->dict, process, 1, "worker", 7, 8), node);
	assert_string_equal(dict__text(p->dict, dict__frame_at(p->dict, frame)->name), "worker");
	assert_int_equal(dict__renamed_cnt(p->dict), 1);
	assert_int_equal(dict__name_frame(p->dict, frame, "other", false), 0);
	assert_string_equal(dict__text(p->dict, dict__frame_at(p->dict, frame)->name), "other");
	assert_int_equal(dict__renamed_cnt(p->dict), 2);
	/* Names of native code are as they were. */
	assert_int_equal(dict__named_cnt(p->dict), 0);
	/* Another one may have its id, and its name. */
	assert_int_not_equal(dict__thread_child(p->dict, process, 2, "other", 7, 8), node);
	profile__free(p);
}

static void a_string_may_be_a_prefix_of_another_or_very_long(void **state)
{
	static char text[200000];
	struct strtab t;
	__u32 whole, half;

	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(strtab_init(&t), 0);
	whole = strtab_add(&t, text, sizeof(text) - 1, 0);
	half = strtab_add(&t, text, sizeof(text) / 2, 0);
	assert_int_not_equal(whole, half);
	assert_int_equal(strlen(strtab_text(&t, half)), sizeof(text) / 2);
	assert_int_equal(strtab_add(&t, text, sizeof(text) - 1, 0), whole);
	strtab_free(&t);
}

static void long_texts_are_cut_between_characters(void **state)
{
	static const char euros[] = "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac";
	struct dict *d = dict__new(profile_limits_default());
	char text[1000];
	__u64 bytes;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	dict__cut_texts(d, 20);
	assert_string_equal(dict__text(d, dict__string(d, text)), "xxxxxxxxxxxxxxxxx\u2026");
	assert_string_equal(dict__text(d, dict__string(d, euros)),
			    "\u20ac\u20ac\u20ac\u20ac\u20ac\u2026");
	assert_string_equal(dict__text(d, dict__string(d, "twenty bytes are ok.")),
			    "twenty bytes are ok.");
	bytes = dict__bytes_added(d);
	assert_true(bytes > 0);
	text[30] = 'y';
	dict__string(d, text);
	assert_int_equal(dict__bytes_added(d), bytes);
	dict__free(d);
}

static void frames_differ_by_any_member(void **state)
{
	struct profile *p = profile__new();
	const struct profile_frame base = { .kind = FRAME_PYTHON,
					    .name = 1,
					    .file = 2,
					    .first_line = 3,
					    .line = 4,
					    .column = 6,
					    .pid = 8,
					    .tid = 9 };
	struct profile_frame f[9];
	__u32 id = dict__frame(p->dict, &base), i, j;

	for (i = 0; i < 9; i++)
		f[i] = base;
	f[0].kind = FRAME_MARK;
	f[1].name = f[2].file = 99;
	f[3].first_line = f[4].line = f[5].column = 99;
	f[6].pid = f[7].tid = -1;
	f[8].unknown = true;
	assert_int_equal(dict__frame(p->dict, &base), id);
	for (i = 0; i < 9; i++) {
		assert_int_equal(dict__frame(p->dict, &f[i]), id + 1 + i);
		for (j = 0; j <= i; j++)
			assert_int_equal(dict__frame(p->dict, &f[j]), id + 1 + j);
	}
	assert_int_equal(dict__frame_cnt(p->dict), 10);
	assert_memory_equal(dict__frame_at(p->dict, id), &base, sizeof(base));
	profile__free(p);
}

/* Native code may be named later: before and after, it is one frame. */
static void a_frame_with_a_place_is_named_later(void **state)
{
	struct profile *p = profile__new();
	struct dict *d = p->dict;
	struct native_place place = {
		.name = "[a.so]", .path = "/lib/a.so", .address = 0x1000, .number = 7
	};
	__u32 frame = frame_native(d, &place), plain, node = dict__child(d, 0, frame);

	assert_int_equal(dict__name_frame(d, frame, "f", true), 0);
	assert_string_equal(dict__text(d, dict__frame_at(d, frame)->name), "f");
	assert_true(dict__frame_at(d, frame)->wrapper);
	assert_int_equal(dict__named_cnt(d), 1);
	assert_int_equal(frame_native(d, &place), frame);
	place.number = 8;
	assert_int_not_equal(frame_native(d, &place), frame);
	place.number = 0;
	plain = frame_native(d, &place);
	assert_int_not_equal(plain, frame);
	/* A frame without a place keeps its original name. */
	assert_int_equal(dict__name_frame(d, plain, "g", false), 0);
	assert_string_equal(dict__text(d, dict__frame_at(d, plain)->name), "[a.so]");
	assert_int_equal(dict__name_frame(d, 0, "g", false), 0);
	assert_int_equal(dict__name_frame(d, 99, "g", false), 0);
	assert_int_equal(dict__named_cnt(d), 1);

	profile__count(p, 0, node, 1);
	assert_int_equal(dict__forget(d), 0);
	place.number = 7;
	frame = frame_native(d, &place);
	assert_int_equal(frame, 1);
	assert_string_equal(dict__text(d, dict__frame_at(d, frame)->name), "f");
	profile__free(p);
}

/* Its owner pays for a name; another owner that is adding things does not notice. */
static void a_name_without_room_changes_nothing(void **state)
{
	const struct profile_limits limits = {
		.max = { [PROFILE_NODES] = 100, [PROFILE_FRAMES] = 100, [PROFILE_STRING_BYTES] = 400 }
	};
	const struct native_place place = { .name = "[a]", .path = "/a", .address = 1, .number = 1 };
	struct dict *d = dict__new(&limits);
	static char name[1000];
	__u32 frame;

	memset(name, 'n', sizeof(name) - 1);
	dict__begin(d, 0);
	frame = frame_native(d, &place);
	assert_int_not_equal(frame, 0);
	assert_int_equal(dict__name_frame(d, frame, name, true), -EDQUOT);
	assert_int_not_equal(dict__child(d, 0, frame), 0);
	assert_string_equal(dict__text(d, dict__frame_at(d, frame)->name), "[a]");
	assert_false(dict__frame_at(d, frame)->wrapper);
	assert_int_equal(dict__named_cnt(d), 0);
	dict__free(d);
}

static void parents_come_before_their_children(void **state)
{
	struct profile *p = large_profile(5000);
	__u32 i;

	for (i = 1; i <= dict__node_cnt(p->dict); i++) {
		const struct profile_node *n = dict__node_at(p->dict, i);

		assert_true(n->parent < i);
		assert_int_equal(n->depth, dict__node_at(p->dict, n->parent)->depth + 1);
		assert_int_equal(dict__child(p->dict, n->parent, n->frame), i);
	}
	profile__free(p);
}

/* ---- room ------------------------------------------------------------------------------------- */

static const struct profile_limits few = { {
	[PROFILE_NODES] = 1000,
	[PROFILE_FRAMES] = 1000,
	[PROFILE_CODES] = 10,
	[PROFILE_LINE_BYTES] = 100,
	[PROFILE_STRING_BYTES] = 100000,
} };

/* Adds a chain of new nodes until one is refused. Returns how many there were. */
static unsigned fill(struct profile *p, unsigned owner, __u32 frame)
{
	__u32 node = 0, next;
	unsigned cnt = 0;

	dict__begin(p->dict, owner);
	while ((next = dict__child(p->dict, node, frame))) {
		node = next;
		cnt++;
	}
	return cnt;
}

static void a_full_profile_says_so(void **state)
{
	struct profile *p = profile__new_limited(&few);
	__u32 f = add_function(p, "f", "f.py", 1, 1);

	dict__begin(p->dict, OWNER_ROOT);
	assert_int_not_equal(dict__child(p->dict, 0, f), 0);
	assert_int_equal(fill(p, OWNER_ROOT, f), 1000);
	assert_int_equal(dict__node_cnt(p->dict), 1000);
	assert_int_equal(quota__held(dict__quota(p->dict, PROFILE_NODES), OWNER_ROOT), 1000);
	assert_int_equal(quota__refused(dict__quota(p->dict, PROFILE_NODES), OWNER_ROOT), 1);
	/* What exists already needs no room. */
	dict__begin(p->dict, OWNER_ROOT);
	assert_int_equal(dict__child(p->dict, 0, f), 1);
	profile__free(p);
}

static void one_owners_flood_leaves_room_for_others(void **state)
{
	struct profile *p = profile__new_limited(&few);
	__u32 f = add_function(p, "f", "f.py", 1, 1), g = add_function(p, "g", "f.py", 2, 2);
	unsigned flood = fill(p, 5, f);

	assert_in_range(flood, 600, 850);
	assert_true(fill(p, 6, g) > 10);
	dict__begin(p->dict, OWNER_ROOT);
	assert_int_not_equal(dict__child(p->dict, dict__child(p->dict, 0, g), f), 0);
	dict__begin(p->dict, 5);
	assert_int_equal(dict__child(p->dict, dict__node_cnt(p->dict), f), 0);
	profile__free(p);
}

/* A frame without its name would be a different function, so no frame is made. */
static void a_name_without_room_makes_no_frame(void **state)
{
	struct profile *p = profile__new_limited(&few);
	char name[50000];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	dict__begin(p->dict, 5);
	assert_int_not_equal(dict__string(p->dict, name), 0);
	name[0] = 'y';
	assert_int_equal(dict__plain_frame(p->dict, FRAME_NATIVE, name, "", 0), 0);
	assert_int_equal(dict__frame_cnt(p->dict), 0);
	dict__begin(p->dict, OWNER_ROOT);
	assert_int_not_equal(dict__plain_frame(p->dict, FRAME_NATIVE, "short", "", 0), 0);
	profile__free(p);
}

/* Lines and code objects are left out, which makes no stack wrong. */
static void code_without_room_is_no_loss(void **state)
{
	struct profile *p = profile__new_limited(&few);
	static const __u8 lines[200];
	struct profile_code code = { .lines = lines, .lines_size = sizeof(lines) };
	__u32 id;

	dict__begin(p->dict, 5);
	id = dict__code(p->dict, &code);
	assert_int_not_equal(id, 0);
	assert_int_equal(dict__code_at(p->dict, id)->lines_size, 0);
	for (code.first_line = 1; dict__code(p->dict, &code); code.first_line++)
		;
	assert_in_range(quota__held(dict__quota(p->dict, PROFILE_CODES), 5), 5, 9);
	assert_int_not_equal(dict__plain_frame(p->dict, FRAME_NATIVE, "short", "", 0), 0);
	profile__free(p);
}

static void children_of_unknown_nodes_and_frames_are_refused(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "f.py", 1, 1);

	assert_int_equal(dict__child(p->dict, 0, 0), 0);
	assert_int_equal(dict__child(p->dict, 0, f + 1), 0);
	assert_int_equal(dict__child(p->dict, 5, f), 0);
	assert_int_equal(dict__node_cnt(p->dict), 0);
	profile__free(p);
}

static void a_plain_frame_is_in_no_place_and_made_once(void **state)
{
	struct profile *p = profile__new();
	__u32 id = dict__plain_frame(p->dict, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 0);
	const struct profile_frame *f = dict__frame_at(p->dict, id);

	assert_int_not_equal(id, 0);
	assert_int_equal(f->kind, FRAME_NATIVE);
	assert_string_equal(dict__text(p->dict, f->name), "memcpy");
	assert_string_equal(dict__text(p->dict, f->file), "/lib/libc.so.6");
	assert_int_equal(f->first_line, -1);
	assert_int_equal(f->line, -1);
	assert_int_equal(f->column, -1);
	assert_int_equal(f->unit, -1);
	assert_int_equal(dict__plain_frame(p->dict, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 0),
			 id);
	assert_int_not_equal(dict__plain_frame(p->dict, FRAME_MARK, "memcpy", "", 0), id);
	assert_int_not_equal(
		dict__plain_frame(p->dict, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 16), id);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_frame_is_in_no_place_and_made_once),
		cmocka_unit_test(equal_strings_have_one_id_and_keep_their_address),
		cmocka_unit_test(a_thread_keeps_its_node_when_it_is_renamed),
		cmocka_unit_test(a_string_may_be_a_prefix_of_another_or_very_long),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(frames_differ_by_any_member),
		cmocka_unit_test(a_frame_with_a_place_is_named_later),
		cmocka_unit_test(a_name_without_room_changes_nothing),
		cmocka_unit_test(parents_come_before_their_children),
		cmocka_unit_test(a_full_profile_says_so),
		cmocka_unit_test(one_owners_flood_leaves_room_for_others),
		cmocka_unit_test(a_name_without_room_makes_no_frame),
		cmocka_unit_test(code_without_room_is_no_loss),
		cmocka_unit_test(children_of_unknown_nodes_and_frames_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
