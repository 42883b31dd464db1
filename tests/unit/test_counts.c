/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_counts.c - measures over one dictionary, which may be added to which, and forgetting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/identities.h"
#include "support_profile.h"
#include "base/share/quota.h"

static const struct event_spec faults = { .name = "faults", .type = 1, .config = 2 };
static const struct event_spec switches = { .name = "cs", .type = 1, .config = 3 };

/* Returns a node for a function of that name below its caller. */
static __u32 call(struct profile *p, __u32 caller, const char *name)
{
	return push(p, caller, add_function(p, name, "f.py", 1, 1));
}

static void self_counts_sum_up_to_the_samples_added(void **state)
{
	struct profile *p = profile__new();
	struct counts *c = profile__counts(p, 0);
	__u32 node = call(p, call(p, 0, "f"), "f");

	profile__count(p, 0, node, 7);
	counts__add(c, node, 10, 70);
	counts__add(c, 0, 1, 1);
	counts__add(c, 12345, 1, 1); /* an invalid node counts at the root */
	assert_int_equal(sample_cnt(p), 13);
	assert_int_equal(c->samples, 13);
	assert_int_equal(c->weight, 79);
	assert_int_equal(counts__at(c, node).samples, 11);
	assert_int_equal(counts__at(c, node).weight, 77);
	assert_int_equal(counts__at(c, ~0U).samples, 0);
	profile__free(p);
}

/* Two events over one dictionary: neither affects the other's counts. */
static void events_are_counted_apart(void **state)
{
	struct profile *p = profile__new();
	__u32 node = call(p, 0, "f"), later;
	struct counts *first, *second;

	assert_int_equal(p->event_cnt, 1);
	assert_int_equal(profile__set_event(p, 1, &faults), 0);
	assert_int_equal(p->event_cnt, 2);
	first = profile__counts(p, 0);
	second = profile__counts(p, 1);
	profile__count(p, 0, node, 7);
	profile__count(p, 1, node, 1);
	profile__count(p, 1, 0, 1);
	second->accounts.interrupts = 2;
	for (int i = 0; i < 1000; i++)
		later = call(p, i ? later : node, "f");
	profile__count(p, 1, later, 3);
	assert_int_equal(counts__at(first, node).samples, 1);
	assert_int_equal(counts__at(first, node).weight, 7);
	assert_int_equal(counts__at(first, later).samples, 0);
	assert_int_equal(counts__at(second, later).weight, 3);
	assert_int_equal(first->accounts.interrupts, 0);
	assert_int_equal(first->samples, 1);
	assert_int_equal(second->samples, 3);
	assert_ptr_equal(profile__counts(p, 2), first);
	assert_int_equal(profile__set_event(p, PROFILE_MAX_EVENTS, &faults), -E2BIG);
	profile__free(p);
}

/*
 * Sampling by frequency: samples stand for different numbers of events, and shares are shares of
 * events.
 */
static void samples_of_different_weight_count_by_weight(void **state)
{
	struct profile *p = profile__new();
	struct counts *c = profile__counts(p, 0);
	__u32 node = call(p, 0, "f");

	assert_int_equal(profile__set_event(p, 0, &faults), 0);
	profile__count(p, 0, node, 5);
	counts__add(c, node, 2, 10);
	assert_string_equal(counts__share_unit(c), "samples");
	assert_int_equal(counts__self(c, node), 3);
	profile__count(p, 0, node, 6);
	assert_string_equal(counts__share_unit(c), "events");
	assert_int_equal(counts__self(c, node), 21);
	assert_int_equal(sample_cnt(p), 4);
	event_off_cpu(&c->event, 0);
	assert_string_equal(counts__share_unit(c), "nanoseconds");
	profile__free(p);
}

/* Time on the CPU and task time are both nanoseconds: their sum is wall clock. */
static void equal_units_may_be_added(void **state)
{
	struct profile *p = profile__new();
	struct counts *wall = profile__counts(p, 0), *task;
	struct event_spec clock = { .type = 1, .config = 1, .name = "task-clock" };
	__u32 f = call(p, 0, "f"), g = call(p, f, "g");

	assert_int_equal(profile__set_event(p, 1, &clock), 0);
	task = profile__counts(p, 1);
	counts__add(wall, f, 2, 20);
	counts__add_labelled(task, f, dict__string(p->dict, "waiting"), 1, 7);
	counts__add(task, g, 1, 9);
	task->accounts = (struct accounts){ .interrupts = 3, .reasons[REASON_PYTHON] = 2 };
	task->from_ns = 50;
	task->to_ns = 80;
	assert_int_equal(counts__merge(wall, task), 0);
	assert_int_equal(counts__at(wall, f).samples, 3);
	assert_int_equal(counts__at(wall, f).weight, 27);
	assert_int_equal(counts__at(wall, g).weight, 9);
	assert_int_equal(wall->samples, 4);
	assert_int_equal(wall->weight, 36);
	assert_int_equal(wall->accounts.interrupts, 3);
	assert_int_equal(wall->accounts.reasons[REASON_PYTHON], 2);
	assert_int_equal(wall->from_ns, 50);
	assert_int_equal(wall->to_ns, 80);
	assert_false(wall->uneven);
	task->from_ns = 70;
	task->to_ns = 90;
	assert_int_equal(counts__merge(wall, task), 0);
	assert_int_equal(wall->from_ns, 50);
	assert_int_equal(wall->to_ns, 90);
	/* The added counts are unchanged. */
	assert_int_equal(task->samples, 2);
	profile__free(p);
}

static void other_units_are_refused(void **state)
{
	struct profile *p = profile__new(), *q = profile__new();
	struct counts *c = profile__counts(p, 0);
	__u32 f = call(p, 0, "f");

	assert_int_equal(profile__set_event(p, 1, &faults), 0);
	assert_int_equal(profile__set_event(p, 2, &switches), 0);
	assert_int_equal(profile__set_event(p, 3, &faults), 0);
	for (unsigned i = 0; i < 4; i++)
		profile__count(p, i, f, 1);
	assert_int_equal(counts__merge(c, profile__counts(p, 1)), -EINVAL);
	assert_int_equal(counts__merge(profile__counts(p, 1), c), -EINVAL);
	assert_int_equal(counts__merge(profile__counts(p, 1), profile__counts(p, 2)), -EINVAL);
	/* Nodes of another dictionary are different nodes. */
	assert_int_equal(counts__merge(c, profile__counts(q, 0)), -EINVAL);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(profile__counts(p, i)->samples, 1);
	assert_int_equal(counts__merge(profile__counts(p, 1), profile__counts(p, 3)), 0);
	assert_int_equal(counts__at(profile__counts(p, 1), f).samples, 2);
	profile__free(p);
	profile__free(q);
}

/* A sample of one event and one of ten: shares are shares of eleven. */
static void what_is_added_may_be_uneven(void **state)
{
	struct profile *p = profile__new();
	__u32 f = call(p, 0, "f");

	assert_int_equal(profile__set_event(p, 0, &faults), 0);
	assert_int_equal(profile__set_event(p, 1, &faults), 0);
	profile__count(p, 0, f, 1);
	profile__count(p, 1, f, 10);
	assert_int_equal(counts__merge(profile__counts(p, 0), profile__counts(p, 1)), 0);
	assert_true(profile__counts(p, 0)->uneven);
	assert_int_equal(counts__self(profile__counts(p, 0), f), 11);
	profile__free(p);
}

/* 3 ms on a CPU in f, 5 ms waiting in it and 2 ms below; besides, a fault and a second clock. */
static void time_on_and_off_the_cpu_is_one_measure(void **state)
{
	struct event_spec off, second = { .name = "task-clock", .type = 1, .config = 1 };
	struct profile *p = profile__new(), *wall;
	__u32 f = call(p, 0, "f"), g = call(p, f, "g");
	const struct counts *c;

	event_off_cpu(&off, 1 << 20);
	assert_int_equal(profile__set_event(p, 1, &off), 0);
	assert_int_equal(profile__set_event(p, 2, &faults), 0);
	assert_int_equal(profile__set_event(p, 3, &second), 0);
	for (int i = 0; i < 3; i++)
		profile__count(p, 0, f, 1000000);
	profile__count(p, 1, f, 5000000);
	profile__count(p, 1, g, 2000000);
	profile__count(p, 2, g, 1);
	profile__count(p, 3, g, 1000000);
	assert_int_equal(profile__new_wall(&wall, p), 0);
	c = profile__counts(wall, 0);
	assert_int_equal(wall->event_cnt, 1);
	assert_string_equal(c->event.name, EVENT_WALL);
	assert_int_equal(c->weight, 10000000);
	assert_int_equal(counts__self(c, f), 8000000);
	assert_int_equal(counts__self(c, g), 2000000);
	profile__free(wall);
	assert_false(profile__in_wall(p, 2) || profile__in_wall(p, 3) || profile__in_wall(p, 4));
	profile__free(p);
}

static void without_time_there_is_no_sum_of_it(void **state)
{
	struct profile *p = profile__new(), *wall = NULL;

	assert_int_equal(profile__set_event(p, 0, &faults), 0);
	assert_int_equal(profile__new_wall(&wall, p), -ENODATA);
	assert_null(wall);
	profile__free(p);
}

static void labels_tell_samples_of_one_stack_apart(void **state)
{
	struct profile *p = profile__new();
	struct counts *c = profile__counts(p, 0);
	__u32 f = call(p, 0, "f"), lock = dict__string(p->dict, "lock"), cnt;
	__u32 disk = dict__string(p->dict, "disk");
	const struct label_count *l = counts__labelled(c, &cnt);

	assert_int_equal(cnt, 0);
	counts__add_labelled(c, f, lock, 1, 10);
	counts__add_labelled(c, f, disk, 2, 20);
	counts__add_labelled(c, f, lock, 1, 5);
	counts__add_labelled(c, f, 0, 1, 1);
	l = counts__labelled(c, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(l[1].label, lock);
	assert_int_equal(l[1].n.samples, 2);
	assert_int_equal(l[1].n.weight, 15);
	assert_int_equal(l[2].node, f);
	assert_int_equal(l[2].n.samples, 2);
	assert_int_equal(counts__at(c, f).samples, 5);
	assert_int_equal(c->samples, 5);
	assert_int_equal(c->unlabelled, 0);
	profile__free(p);
}

static void two_profiles_share_a_dictionary(void **state)
{
	struct profile *before = profile__new(), *after = profile__new_beside(before);
	__u32 f = call(before, 0, "f");

	assert_int_equal(call(after, 0, "f"), f);
	profile__count(before, 0, f, 1);
	counts__add(profile__counts(after, 0), f, 3, 3);
	assert_int_equal(sample_cnt(before), 1);
	assert_int_equal(sample_cnt(after), 3);
	profile__free(after);
	assert_string_equal(dict__text(before->dict, dict__frame_at(before->dict, 1)->name), "f");
	profile__free(before);
}

/* ---- forgetting ------------------------------------------------------------------------------- */

/* Lists the stacks with samples in order: they must survive, whatever their ids are. */
static char *stacks_text(const struct counts *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (__u32 i = 0; i <= dict__node_cnt(c->dict); i++) {
		if (!counts__at(c, i).samples)
			continue;
		for (__u32 node = i; node; node = dict__node_at(c->dict, node)->parent) {
			const struct profile_frame *f =
				dict__frame_at(c->dict, dict__node_at(c->dict, node)->frame);

			fprintf(out, "%s (%s:%d);", dict__text(c->dict, f->name),
				dict__text(c->dict, f->file), f->line);
		}
		fprintf(out, " %llu %llu\n", counts__at(c, i).samples, counts__at(c, i).weight);
	}
	fclose(out);
	return text;
}

static void what_nobody_counts_is_forgotten(void **state)
{
	struct profile *p = large_profile(20000), *window = profile__new_beside(p);
	__u32 all = dict__node_cnt(p->dict), frames = dict__frame_cnt(p->dict);
	char *before, *after;

	for (__u32 i = 1; i <= all; i += 97)
		profile__count(window, 0, i, i);
	before = stacks_text(profile__counts(window, 0));
	/* The profile still exists, so nothing is forgotten. */
	assert_int_equal(dict__forget(p->dict), 0);
	after = stacks_text(profile__counts(window, 0));
	assert_string_equal(before, after);
	free(after);
	counts__free(p->events[0]);
	p->event_cnt = 0;
	assert_int_equal(dict__forget(p->dict), 0);
	after = stacks_text(profile__counts(window, 0));
	assert_string_equal(before, after);
	assert_true(dict__node_cnt(p->dict) < all / 2);
	assert_true(dict__frame_cnt(p->dict) <= frames);
	for (__u32 i = 1; i <= dict__node_cnt(p->dict); i++) {
		const struct profile_node *n = dict__node_at(p->dict, i);

		assert_true(n->parent < i);
		assert_int_equal(dict__child(p->dict, n->parent, n->frame), i);
	}
	free(before);
	free(after);
	profile__free(window);
	profile__free(p);
}

static void room_is_given_back_to_its_owner(void **state)
{
	struct profile *p = profile__new();
	struct dict *d = p->dict;
	static const __u8 lines[100];
	struct profile_code code = { .lines = lines, .lines_size = sizeof(lines) };
	struct profile_frame f = { .kind = FRAME_PYTHON };
	__u32 kept;

	dict__begin(d, 7);
	kept = call(p, 0, "kept");
	dict__begin(d, 8);
	code.name = f.name = dict__string(d, "gone");
	f.code = dict__code(d, &code);
	push(p, kept, dict__frame(d, &f));
	profile__count(p, 0, kept, 1);
	assert_int_equal(quota__held(dict__quota(d, PROFILE_LINE_BYTES), 8), 100);
	assert_int_equal(dict__forget(d), 0);
	for (int i = 0; i < PROFILE_RESOURCE_CNT; i++)
		assert_int_equal(quota__held(dict__quota(d, i), 8), 0);
	assert_int_equal(quota__held(dict__quota(d, PROFILE_NODES), 7), 1);
	assert_int_equal(quota__held(dict__quota(d, PROFILE_FRAMES), 7), 1);
	assert_int_equal(dict__node_cnt(d), 1);
	/* It comes back as something new. */
	assert_int_equal(dict__string(d, "gone"), dict__string(d, "gone"));
	assert_int_equal(call(p, 0, "kept"), kept);
	profile__free(p);
}

/* Old tags are invalid, even if another thing has that id now. */
static void tags_from_before_are_none(void **state)
{
	struct profile *p = profile__new();
	__u32 gone = call(p, 0, "gone"), kept = call(p, 0, "kept");
	dict_tag a = dict__tag(p->dict, gone), b = dict__tag(p->dict, kept);

	profile__count(p, 0, kept, 1);
	assert_int_equal(dict__tagged(p->dict, a), gone);
	assert_int_equal(dict__tagged(p->dict, 0), 0);
	assert_int_equal(dict__forget(p->dict), 0);
	assert_int_equal(call(p, 0, "kept"), gone);
	assert_int_equal(dict__tagged(p->dict, a), 0);
	assert_int_equal(dict__tagged(p->dict, b), 0);
	assert_int_equal(dict__tagged(p->dict, 0), 0);
	assert_int_equal(dict__tag(p->dict, 0), 0);
	profile__free(p);
}

static void labels_survive(void **state)
{
	struct profile *p = profile__new();
	struct counts *c = profile__counts(p, 0);
	__u32 f, cnt;

	dict__string(p->dict, "in front");
	call(p, 0, "gone");
	f = call(p, 0, "f");
	counts__add_labelled(c, f, dict__string(p->dict, "lock"), 1, 10);
	assert_int_equal(dict__forget(p->dict), 0);
	f = call(p, 0, "f");
	counts__add_labelled(c, f, dict__string(p->dict, "lock"), 1, 10);
	assert_int_equal(counts__labelled(c, &cnt)[1].n.samples, 2);
	assert_int_equal(cnt, 1);
	assert_int_equal(counts__at(c, f).samples, 2);
	assert_int_equal(dict__node_cnt(p->dict), 1);
	profile__free(p);
}

/* Holders that write ids into a file while recording need them to stay. */
static void nothing_is_forgotten_below_one_who_cannot_follow(void **state)
{
	struct profile *p = profile__new();
	struct dict_holder h = { 0 };
	__u32 node = call(p, 0, "f");

	dict__hold(p->dict, &h);
	assert_int_equal(dict__forget(p->dict), -EBUSY);
	assert_int_equal(dict__node_cnt(p->dict), node);
	dict__release(p->dict, &h);
	assert_int_equal(dict__forget(p->dict), 0);
	assert_int_equal(dict__node_cnt(p->dict), 0);
	profile__free(p);
}

/* After a hundred windows with names of their own, memory use is as after the first. */
static void windows_without_end_need_bounded_room(void **state)
{
	struct profile *base = profile__new();
	struct dict *d = base->dict;
	__u64 held = 0;
	char name[32];

	for (int w = 0; w < 100; w++) {
		struct profile *window = profile__new_beside(base);

		for (int i = 0; i < 200; i++) {
			snprintf(name, sizeof(name), "window_%03d_%03d", w, i);
			profile__count(window, 0, call(window, call(window, 0, "main"), name), 1);
		}
		if (w)
			assert_int_equal(quota__held_by_all(dict__quota(d, PROFILE_STRING_BYTES)),
					 held);
		held = quota__held_by_all(dict__quota(d, PROFILE_STRING_BYTES));
		profile__free(window);
		assert_int_equal(dict__forget(d), 0);
		assert_int_equal(quota__held_by_all(dict__quota(d, PROFILE_STRING_BYTES)), 0);
	}
	profile__free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_counts_sum_up_to_the_samples_added),
		cmocka_unit_test(events_are_counted_apart),
		cmocka_unit_test(samples_of_different_weight_count_by_weight),
		cmocka_unit_test(equal_units_may_be_added),
		cmocka_unit_test(other_units_are_refused),
		cmocka_unit_test(what_is_added_may_be_uneven),
		cmocka_unit_test(time_on_and_off_the_cpu_is_one_measure),
		cmocka_unit_test(without_time_there_is_no_sum_of_it),
		cmocka_unit_test(labels_tell_samples_of_one_stack_apart),
		cmocka_unit_test(two_profiles_share_a_dictionary),
		cmocka_unit_test(what_nobody_counts_is_forgotten),
		cmocka_unit_test(room_is_given_back_to_its_owner),
		cmocka_unit_test(tags_from_before_are_none),
		cmocka_unit_test(labels_survive),
		cmocka_unit_test(nothing_is_forgotten_below_one_who_cannot_follow),
		cmocka_unit_test(windows_without_end_need_bounded_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
