/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_waits.c - time off the CPU belongs to who waits: sums stay, and what does not end in a wait is as before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/frames.h"
#include "profile/waits.h"
#include "profile/stack_filter.h"
#include "support_profile.h"

static __u32 code(struct profile *p, enum frame_kind kind, const char *name, const char *file)
{
	const struct profile_frame f = { .kind = kind,
					 .name = dict__string(p->dict, name),
					 .file = dict__string(p->dict, file),
					 .line = -1,
					 .column = -1,
					 .end_column = -1,
					 .unit = -1 };

	return dict__frame(p->dict, &f);
}

static const char *leaf_name(const struct counts *c, __u32 node)
{
	return dict__text(c->dict,
			  dict__frame_at(c->dict, dict__node_at(c->dict, node)->frame)->name);
}

/* How much ends at nodes of that name. */
static __u64 self_of(const struct counts *c, const char *name)
{
	__u64 sum = 0;

	for (__u32 node = 1; node < c->cnt; node++) {
		if (!strcmp(leaf_name(c, node), name))
			sum += counts__at(c, node).weight;
	}
	return sum;
}

static __u64 label_of(const struct counts *c, const char *name, const char *label)
{
	__u32 cnt;
	const struct label_count *labels = counts__labelled(c, &cnt);
	__u64 sum = 0;

	for (__u32 i = 1; i <= cnt; i++) {
		if (!strcmp(dict__text(c->dict, labels[i].label), label) &&
		    !strcmp(leaf_name(c, labels[i].node), name))
			sum += labels[i].n.weight;
	}
	return sum;
}

struct stacks {
	struct profile *p;
	struct counts *c;
	__u32 native_only, nothing, kernel_wait;
};

static void set_up(struct stacks *s)
{
	struct profile *p = profile__new();
	struct event_spec event;
	__u32 root, get, futex, kernel, other;

	event_off_cpu(&event, 1);
	assert_int_equal(profile__set_event(p, 0, &event), 0);
	root = push(p, push(p, 0, add_process(p, "x", 1)), add_thread(p, "t", 1, 1));
	get = push(p, root, add_function(p, "get", "queue.py", 1, 2));
	futex = push(p, get, code(p, FRAME_NATIVE, "futex_wait", "libc.so"));
	kernel = push(p, push(p, futex, code(p, FRAME_KERNEL, "do_futex", "[kernel.kallsyms]")),
		      code(p, FRAME_KERNEL, "__schedule", "[kernel.kallsyms]"));
	s->kernel_wait = push(p, kernel, add_mark(p, "[lock]"));
	other = push(p, root, code(p, FRAME_NATIVE, "pool_thread", "libx.so"));
	s->native_only =
		push(p, push(p, other, code(p, FRAME_KERNEL, "__schedule", "[kernel.kallsyms]")),
		     add_mark(p, "[io: read pipe]"));
	s->nothing = push(p, push(p, root, add_mark(p, "[finalizing]")), add_mark(p, "[runnable]"));
	s->p = p;
	s->c = profile__counts(p, 0);
	counts__add(s->c, s->kernel_wait, 2, 500);
	counts__add(s->c, push(p, get, add_mark(p, "[gil]")), 1, 70);
	counts__add(s->c, s->native_only, 1, 30);
	counts__add(s->c, s->nothing, 1, 8);
	/* Not a wait. */
	counts__add(s->c, kernel, 1, 5);
}

static void a_wait_belongs_to_the_function_that_waits(void **state)
{
	struct stacks s;
	struct counts *own;

	set_up(&s);
	assert_true(waits_are_in(s.c));
	own = waits__new_of_functions(s.c);
	assert_int_equal(own->weight, s.c->weight);
	assert_int_equal(own->samples, s.c->samples);
	assert_int_equal(self_of(own, "get"), 570);
	assert_int_equal(label_of(own, "get", "[lock]"), 500);
	assert_int_equal(label_of(own, "get", "[gil]"), 70);
	/* Without Python: who called the kernel, or what the whole stack is called. */
	assert_int_equal(self_of(own, "pool_thread"), 30);
	assert_int_equal(label_of(own, "pool_thread", "[io: read pipe]"), 30);
	assert_int_equal(self_of(own, "[finalizing]"), 8);
	assert_int_equal(self_of(own, "__schedule"), 5);
	assert_int_equal(self_of(own, "[lock]"), 0);
	assert_false(waits_are_in(own));
	counts__free(own);
	profile__free(s.p);
}

static void a_mark_follows_who_called_the_kernel(void **state)
{
	struct stacks s;
	struct counts *own;
	__u64 found = 0;

	set_up(&s);
	own = waits__new_without_kernel(s.c);
	assert_int_equal(own->weight, s.c->weight);
	assert_int_equal(self_of(own, "[lock]"), 500);
	assert_int_equal(self_of(own, "__schedule"), 5);
	for (__u32 node = 1; node < own->cnt; node++) {
		if (counts__at(own, node).weight == 500) {
			assert_string_equal(leaf_name(own, dict__node_at(own->dict, node)->parent),
					    "futex_wait");
			found++;
		}
	}
	assert_int_equal(found, 1);
	counts__free(own);
	profile__free(s.p);
}

/* "[lock]" is a set of letters as a pattern, and "take[0]" does not match itself. */
static void a_name_is_taken_literally(void **state)
{
	assert_true(frame_matches("[lock]", PATTERN_LITERAL, FRAME_MARK, "[lock]", ""));
	assert_true(frame_matches("lock", PATTERN_LITERAL, FRAME_MARK, "[lock]", ""));
	assert_true(frame_matches("io", PATTERN_LITERAL, FRAME_MARK, "[io: read pipe]", ""));
	assert_true(
		frame_matches("io: read pipe", PATTERN_LITERAL, FRAME_MARK, "[io: read pipe]", ""));
	assert_false(
		frame_matches("read pipe", PATTERN_LITERAL, FRAME_MARK, "[io: read pipe]", ""));
	assert_false(frame_matches("lock", PATTERN_LITERAL, FRAME_NATIVE, "[lock]", ""));
	assert_false(frame_matches("[lock]", PATTERN_LITERAL, FRAME_PYTHON, "k", ""));
	assert_true(frame_matches("[lock]", PATTERN_GLOB, FRAME_PYTHON, "k", ""));
	assert_true(frame_matches("take[0]", PATTERN_LITERAL, FRAME_NATIVE, "take[0]", "v.so"));
	assert_false(frame_matches("take[0]", PATTERN_GLOB, FRAME_NATIVE, "take[0]", "v.so"));
	assert_true(frame_matches("tot*", PATTERN_EITHER, FRAME_PYTHON, "Cart.total", "a/cart.py"));
	assert_true(
		frame_matches("cart.py", PATTERN_LITERAL, FRAME_PYTHON, "Cart.total", "a/cart.py"));
	assert_true(pattern_is_glob("take[0]"));
	assert_false(pattern_is_glob("Cart.total"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_belongs_to_the_function_that_waits),
		cmocka_unit_test(a_mark_follows_who_called_the_kernel),
		cmocka_unit_test(a_name_is_taken_literally),
	};

	return cmocka_run_group_tests_name("profile/waits", tests, NULL, NULL);
}
