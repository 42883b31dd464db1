/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile.c - ids, interning and the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "profile/strtab.h"
#include "support_profile.h"
#include "util/quota.h"

static void equal_strings_have_one_id_and_keep_their_address(void **state)
{
	struct profile *p = profile__new();
	const char *first;
	char text[32];
	__u32 id, i;

	assert_int_equal(profile__string(p, ""), 0);
	assert_string_equal(profile__text(p, 0), "");
	id = profile__string(p, "hello");
	first = profile__text(p, id);
	assert_int_not_equal(id, 0);
	for (i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		assert_int_equal(profile__string(p, text), id + 1 + i);
	}
	assert_int_equal(profile__string(p, "hello"), id);
	assert_int_equal(profile__string(p, "string 777"), id + 778);
	assert_ptr_equal(profile__text(p, id), first);
	assert_string_equal(profile__text(p, 0xffffffff), "");
	profile__free(p);
}

static void a_string_may_be_a_prefix_of_another_or_very_long(void **state)
{
	static char text[200000];
	struct strtab t;
	__u32 whole, half;

	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(strtab_init(&t), 0);
	whole = strtab_add(&t, text, sizeof(text) - 1);
	half = strtab_add(&t, text, sizeof(text) / 2);
	assert_int_not_equal(whole, half);
	assert_int_equal(strlen(strtab_text(&t, half)), sizeof(text) / 2);
	assert_int_equal(strtab_add(&t, text, sizeof(text) - 1), whole);
	strtab_free(&t);
}

static void frames_differ_by_any_member(void **state)
{
	struct profile *p = profile__new();
	const struct profile_frame base = { .kind = FRAME_PYTHON,
					    .name = 1,
					    .file = 2,
					    .first_line = 3,
					    .line = 4,
					    .end_line = 5,
					    .column = 6,
					    .end_column = 7,
					    .pid = 8,
					    .tid = 9 };
	struct profile_frame f[10];
	__u32 id = profile__frame(p, &base), i, j;

	for (i = 0; i < 10; i++)
		f[i] = base;
	f[0].kind = FRAME_MARK;
	f[1].name = f[2].file = 99;
	f[3].first_line = f[4].line = f[5].end_line = f[6].column = 99;
	f[7].end_column = f[8].pid = f[9].tid = -1;
	assert_int_equal(profile__frame(p, &base), id);
	for (i = 0; i < 10; i++) {
		assert_int_equal(profile__frame(p, &f[i]), id + 1 + i);
		for (j = 0; j <= i; j++)
			assert_int_equal(profile__frame(p, &f[j]), id + 1 + j);
	}
	assert_int_equal(profile__frame_cnt(p), 11);
	assert_memory_equal(profile__frame_at(p, id), &base, sizeof(base));
	profile__free(p);
}

static void parents_come_before_their_children(void **state)
{
	struct profile *p = large_profile(5000);
	__u32 i;

	for (i = 1; i <= profile__node_cnt(p); i++) {
		const struct profile_node *n = profile__node_at(p, i);

		assert_true(n->parent < i);
		assert_int_equal(n->depth, profile__node_at(p, n->parent)->depth + 1);
		assert_int_equal(profile__child(p, n->parent, n->frame), i);
	}
	profile__free(p);
}

static void self_counts_sum_up_to_the_samples_added(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "f.py", 1, 1), node = push(p, push(p, 0, f), f);

	profile__add(p, node, 7);
	profile__add_many(p, node, 10, 70);
	profile__add(p, 0, 1);
	profile__add(p, 12345, 1); /* a node that is none counts at the root */
	assert_int_equal(sample_cnt(p), 13);
	assert_int_equal(profile__node_at(p, node)->self, 11);
	assert_int_equal(profile__node_at(p, node)->self_weight, 77);
	profile__free(p);
}

static const struct event_spec faults = { .name = "faults", .type = 1, .config = 2 };

/* Two events over one tree: neither is ever in the other's counts, whichever is selected. */
static void events_are_counted_apart(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "f.py", 1, 1), node = push(p, push(p, 0, f), f);
	__u64 samples, weight;

	assert_int_equal(profile__event_cnt(p), 1);
	assert_int_equal(profile__set_event(p, 1, &faults), 0);
	assert_int_equal(profile__event_cnt(p), 2);
	profile__count(p, 0, node, 7);
	profile__count(p, 1, node, 1);
	profile__count(p, 1, 0, 1);
	profile__event_accounts(p, 1)->interrupts = 2;
	assert_int_equal(profile__node_at(p, node)->self, 1);
	assert_int_equal(profile__node_at(p, node)->self_weight, 7);
	assert_int_equal(profile__accounts_of(p)->interrupts, 0);
	for (unsigned selected = 0; selected < 4; selected++) {
		assert_int_equal(profile__select(p, selected % 2), 0);
		profile__counts(p, node, 0, &samples, &weight);
		assert_int_equal(samples, 1 + selected / 2);
		assert_int_equal(weight, 7 + 7 * (selected / 2));
		profile__counts(p, node, 1, &samples, &weight);
		assert_int_equal(samples, 1);
		assert_int_equal(weight, 1);
		/* A node that is new counts for whoever is not selected, too. */
		node = selected == 1 ? push(p, node, f) : node;
		if (selected == 1) {
			profile__count(p, 0, node, 14);
			profile__count(p, 0, node, 0);
			profile__count(p, 1, node, 1);
		}
	}
	assert_int_equal(profile__selected(p), 1);
	assert_int_equal(sample_cnt(p), 3);
	assert_int_equal(profile__accounts_of(p)->interrupts, 2);
	assert_int_equal(profile__event_at(p, 0)->samples, 3);
	assert_int_equal(profile__event_at(p, 0)->weight, 21);
	assert_int_equal(profile__set_event(p, PROFILE_MAX_EVENTS, &faults), -E2BIG);
	profile__free(p);
}

/* Sampling by frequency: a sample stands for more or fewer events, and shares are of these. */
static void samples_of_different_weight_count_by_weight(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "f.py", 1, 1), node = push(p, 0, f);

	assert_int_equal(profile__set_event(p, 0, &faults), 0);
	profile__add(p, node, 5);
	profile__add_many(p, node, 2, 10);
	assert_string_equal(profile__unit(p), "samples");
	assert_int_equal(profile__self(p, node), 3);
	profile__add(p, node, 6);
	assert_string_equal(profile__unit(p), "events");
	assert_int_equal(profile__self(p, node), 21);
	assert_int_equal(sample_cnt(p), 4);
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

/* A chain of new nodes until one is refused; how many there were. */
static unsigned fill(struct profile *p, unsigned owner, __u32 frame)
{
	__u32 node = 0, next;
	unsigned cnt = 0;

	profile__begin(p, owner);
	while ((next = profile__child(p, node, frame))) {
		node = next;
		cnt++;
	}
	assert_true(profile__refused(p));
	return cnt;
}

static void a_full_profile_says_so(void **state)
{
	struct profile *p = profile__new_limited(&few);
	__u32 f = add_function(p, "f", "f.py", 1, 1);

	profile__begin(p, OWNER_ROOT);
	assert_int_not_equal(profile__child(p, 0, f), 0);
	assert_false(profile__refused(p));
	assert_int_equal(fill(p, OWNER_ROOT, f), 1000);
	assert_int_equal(profile__node_cnt(p), 1000);
	assert_int_equal(quota__held(profile__quota(p, PROFILE_NODES), OWNER_ROOT), 1000);
	assert_int_equal(quota__refused(profile__quota(p, PROFILE_NODES), OWNER_ROOT), 1);
	/* What is there already needs no room. */
	profile__begin(p, OWNER_ROOT);
	assert_int_equal(profile__child(p, 0, f), 1);
	assert_false(profile__refused(p));
	profile__free(p);
}

static void one_owners_flood_leaves_room_for_others(void **state)
{
	struct profile *p = profile__new_limited(&few);
	__u32 f = add_function(p, "f", "f.py", 1, 1), g = add_function(p, "g", "f.py", 2, 2);
	unsigned flood = fill(p, 5, f);

	assert_in_range(flood, 600, 850);
	assert_true(fill(p, 6, g) > 10);
	profile__begin(p, OWNER_ROOT);
	assert_int_not_equal(profile__child(p, profile__child(p, 0, g), f), 0);
	assert_false(profile__refused(p));
	profile__begin(p, 5);
	assert_int_equal(profile__child(p, profile__node_cnt(p), f), 0);
	assert_true(profile__refused(p));
	profile__free(p);
}

/* A frame without its name would be another function: neither the one nor the other. */
static void a_name_without_room_makes_no_frame(void **state)
{
	struct profile *p = profile__new_limited(&few);
	char name[50000];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	profile__begin(p, 5);
	assert_int_not_equal(profile__string(p, name), 0);
	name[0] = 'y';
	assert_int_equal(profile__plain_frame(p, FRAME_NATIVE, name, "", 0), 0);
	assert_true(profile__refused(p));
	assert_int_equal(profile__frame_cnt(p), 0);
	profile__begin(p, OWNER_ROOT);
	assert_int_not_equal(profile__plain_frame(p, FRAME_NATIVE, "short", "", 0), 0);
	profile__free(p);
}

/* Lines and code objects are left out, which makes no stack a wrong one. */
static void code_without_room_is_no_loss(void **state)
{
	struct profile *p = profile__new_limited(&few);
	static const __u8 lines[200];
	struct profile_code code = { .lines = lines, .lines_size = sizeof(lines) };
	__u32 id;

	profile__begin(p, 5);
	id = profile__code(p, &code);
	assert_int_not_equal(id, 0);
	assert_int_equal(profile__code_at(p, id)->lines_size, 0);
	for (code.first_line = 1; profile__code(p, &code); code.first_line++)
		;
	assert_in_range(profile__code_cnt(p), 5, 9);
	assert_false(profile__refused(p));
	profile__free(p);
}

static void children_of_unknown_nodes_and_frames_are_refused(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "f.py", 1, 1);

	assert_int_equal(profile__child(p, 0, 0), 0);
	assert_int_equal(profile__child(p, 0, f + 1), 0);
	assert_int_equal(profile__child(p, 5, f), 0);
	assert_int_equal(profile__node_cnt(p), 0);
	profile__free(p);
}

static void a_plain_frame_is_in_no_place_and_made_once(void **state)
{
	struct profile *p = profile__new();
	__u32 id = profile__plain_frame(p, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 0);
	const struct profile_frame *f = profile__frame_at(p, id);

	assert_int_not_equal(id, 0);
	assert_int_equal(f->kind, FRAME_NATIVE);
	assert_string_equal(profile__text(p, f->name), "memcpy");
	assert_string_equal(profile__text(p, f->file), "/lib/libc.so.6");
	assert_int_equal(f->first_line, -1);
	assert_int_equal(f->line, -1);
	assert_int_equal(f->column, -1);
	assert_int_equal(f->unit, -1);
	assert_int_equal(profile__plain_frame(p, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 0), id);
	assert_int_not_equal(profile__plain_frame(p, FRAME_MARK, "memcpy", "", 0), id);
	assert_int_not_equal(profile__plain_frame(p, FRAME_NATIVE, "memcpy", "/lib/libc.so.6", 16),
			     id);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_frame_is_in_no_place_and_made_once),
		cmocka_unit_test(equal_strings_have_one_id_and_keep_their_address),
		cmocka_unit_test(a_string_may_be_a_prefix_of_another_or_very_long),
		cmocka_unit_test(frames_differ_by_any_member),
		cmocka_unit_test(parents_come_before_their_children),
		cmocka_unit_test(self_counts_sum_up_to_the_samples_added),
		cmocka_unit_test(events_are_counted_apart),
		cmocka_unit_test(samples_of_different_weight_count_by_weight),
		cmocka_unit_test(a_full_profile_says_so),
		cmocka_unit_test(one_owners_flood_leaves_room_for_others),
		cmocka_unit_test(a_name_without_room_makes_no_frame),
		cmocka_unit_test(code_without_room_is_no_loss),
		cmocka_unit_test(children_of_unknown_nodes_and_frames_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
