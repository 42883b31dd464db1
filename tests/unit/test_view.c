/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_view.c - invariants of a view, and the meaning of its options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/view.h"
#include "support_profile.h"

static struct view *view_of(const struct profile *p, struct view_options options)
{
	struct view *v = NULL;

	assert_int_equal(view__new(&v, profile__counts(p, 0), &options), 0);
	return v;
}

/* Checks the invariants of view.h, the slow way. */
static void check_view(const struct view *v)
{
	__u64 self = 0, frames = 0;
	__u32 i, child;

	for (i = 0; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		__u64 below = n->self;

		assert_true(n->end > i && n->end <= v->node_cnt);
		for (child = i + 1; child < n->end; child = v->nodes[child].end) {
			assert_int_equal(v->nodes[child].parent, i);
			assert_int_equal(v->nodes[child].depth, n->depth + 1);
			below += v->nodes[child].total;
		}
		assert_int_equal(child, n->end);
		assert_int_equal(n->total, below);
		self += n->self;
	}
	for (i = 0; i < v->frame_cnt; i++) {
		frames += v->sums[i].self;
		assert_true(v->sums[i].total >= v->sums[i].self);
		assert_true(v->sums[i].total <= v->nodes[0].total);
	}
	assert_int_equal(self, v->counts->samples);
	assert_int_equal(v->nodes[0].total, self);
	assert_int_equal(frames, self);
}

static void all_views_of_all_profiles_hold_the_invariants(void **state)
{
	struct profile *profiles[] = { small_profile(), hostile_profile(), deep_profile(2000),
				       large_profile(4000), profile__new() };
	size_t i;
	int bits;

	profile__count(profiles[4], 0, 0, 1);
	for (i = 0; i < 5; i++) {
		for (bits = 0; bits < 32; bits++) {
			struct view *v =
				view_of(profiles[i],
					(struct view_options){ .lines = bits & 1,
							       .processes = bits & 2,
							       .threads = bits & 4,
							       .ids = bits & 8,
							       .order = bits & 16 ? VIEW_BY_COUNT :
										    VIEW_BY_NAME });

			check_view(v);
			view__free(v);
		}
		profile__free(profiles[i]);
	}
}

static __u32 find(const struct view *v, const char *name)
{
	__u32 i;

	for (i = 1; i < v->frame_cnt; i++)
		if (!strcmp(view_name(v, &v->frames[i]), name))
			return i;
	fail_msg("no frame %s", name);
	return 0;
}

static void recursion_counts_once_in_total(void **state)
{
	struct profile *p = small_profile();
	struct view *v = view_of(p, (struct view_options){ 0 });

	assert_int_equal(v->sums[find(v, "walk")].total, 145);
	assert_int_equal(v->sums[find(v, "walk")].self, 145);
	assert_int_equal(v->sums[find(v, "<module>")].total, 850);
	assert_int_equal(v->sums[find(v, "<module>")].self, 0);
	view__free(v);
	profile__free(p);
}

static void two_calls_side_by_side_both_count(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "x.py", 1, 1), g = add_function(p, "g", "x.py", 2, 2);
	__u32 top = push(p, 0, g);
	struct view *v;

	add_samples(p, push(p, push(p, 0, f), f), 3);
	add_samples(p, push(p, top, f), 4);
	add_samples(p, push(p, push(p, top, f), g), 5);
	v = view_of(p, (struct view_options){ 0 });
	assert_int_equal(v->sums[find(v, "f")].total, 12);
	assert_int_equal(v->sums[find(v, "f")].self, 7);
	assert_int_equal(v->sums[find(v, "g")].total, 9);
	view__free(v);
	profile__free(p);
}

/* Of other events, or of those that nobody asked for. */
static void stacks_without_counts_are_left_out(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "x.py", 1, 1), g = add_function(p, "g", "x.py", 2, 2);
	__u32 none = add_function(p, "none", "y.py", 3, 3), top = push(p, 0, f);
	struct view *v;

	push(p, push(p, 0, none), g);
	push(p, top, none);
	add_samples(p, push(p, top, g), 3);
	v = view_of(p, (struct view_options){ .nodes = true });
	assert_int_equal(v->node_cnt, 3);
	assert_int_equal(v->frame_cnt, 3);
	assert_int_equal(v->sums[find(v, "f")].total, 3);
	assert_int_equal(v->sums[find(v, "g")].self, 3);
	assert_int_equal(v->node_of[top], 1);
	assert_int_equal(v->node_of[push(p, top, none)], 0);
	view__free(v);
	profile__free(p);
}

static void lines_of_a_function_merge_unless_asked_for(void **state)
{
	struct profile *p = small_profile();
	struct view *merged = view_of(p, (struct view_options){ 0 });
	struct view *lines = view_of(p, (struct view_options){ .lines = true });

	assert_int_equal(merged->sums[find(merged, "Cart.total")].total, 413);
	assert_int_equal(merged->frames[find(merged, "Cart.total")].line, -1);
	assert_int_equal(lines->frames[find(lines, "Cart.total")].line, 58);
	assert_int_equal(lines->sums[find(lines, "Cart.total")].total, 373);
	assert_true(lines->node_cnt > merged->node_cnt);
	view__free(lines);
	view__free(merged);
	profile__free(p);
}

static void levels_and_ids_are_kept_or_merged(void **state)
{
	struct profile *p = profile__new();
	__u32 f = add_function(p, "f", "x.py", 1, 1);
	struct view *v;
	int pid, tid;

	for (pid = 1; pid <= 2; pid++) {
		for (tid = 1; tid <= 3; tid++) {
			__u32 node = push(p, 0, add_process(p, "py", pid));

			add_samples(p, push(p, push(p, node, add_thread(p, "t", pid, tid)), f), 1);
		}
	}
	static const struct {
		struct view_options options;
		__u32 nodes;
	} cases[] = {
		{ { 0 }, 2 },
		{ { .processes = true }, 3 },
		{ { .processes = true, .threads = true }, 4 },
		{ { .processes = true, .ids = true }, 5 },
		{ { .threads = true, .ids = true }, 13 },
		{ { .processes = true, .threads = true, .ids = true }, 15 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		v = view_of(p, cases[i].options);
		assert_int_equal(v->node_cnt, cases[i].nodes);
		assert_int_equal(v->sums[find(v, "f")].total, 6);
		view__free(v);
	}
	profile__free(p);
}

static void children_are_in_the_order_asked_for(void **state)
{
	struct profile *p = large_profile(3000);
	struct view *name = view_of(p, (struct view_options){ .order = VIEW_BY_NAME });
	struct view *count = view_of(p, (struct view_options){ .order = VIEW_BY_COUNT });
	__u32 i, next;

	for (i = 1; i < name->node_cnt; i++) {
		const struct view_node *n = &name->nodes[i];

		next = n->end;
		if (next < name->node_cnt && name->nodes[next].parent == n->parent)
			assert_true(view_frame_compare(name, &name->frames[n->frame],
						       &name->frames[name->nodes[next].frame]) < 0);
		next = count->nodes[i].end;
		if (next < count->node_cnt && count->nodes[next].parent == count->nodes[i].parent)
			assert_true(count->nodes[i].total >= count->nodes[next].total);
	}
	view__free(name);
	view__free(count);
	profile__free(p);
}

static void order_does_not_depend_on_when_frames_were_met(void **state)
{
	struct profile *p = profile__new(), *q = profile__new();
	struct view *v, *w;

	add_samples(p, push(p, 0, add_function(p, "b", "x.py", 1, 1)), 2);
	add_samples(p, push(p, 0, add_function(p, "a", "x.py", 1, 1)), 2);
	add_samples(q, push(q, 0, add_function(q, "a", "x.py", 1, 1)), 2);
	add_samples(q, push(q, 0, add_function(q, "b", "x.py", 1, 1)), 2);
	v = view_of(p, (struct view_options){ .order = VIEW_BY_COUNT });
	w = view_of(q, (struct view_options){ .order = VIEW_BY_COUNT });
	assert_string_equal(view_name(v, &v->frames[v->nodes[1].frame]), "a");
	assert_string_equal(view_name(w, &w->frames[w->nodes[1].frame]), "a");
	view__free(v);
	view__free(w);
	profile__free(p);
	profile__free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_views_of_all_profiles_hold_the_invariants),
		cmocka_unit_test(recursion_counts_once_in_total),
		cmocka_unit_test(two_calls_side_by_side_both_count),
		cmocka_unit_test(stacks_without_counts_are_left_out),
		cmocka_unit_test(lines_of_a_function_merge_unless_asked_for),
		cmocka_unit_test(levels_and_ids_are_kept_or_merged),
		cmocka_unit_test(children_are_in_the_order_asked_for),
		cmocka_unit_test(order_does_not_depend_on_when_frames_were_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
