/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_windows.c - one recording in windows, as an agent exports it: each window is counts over the
 * same dictionary, emitted when its time is over; the next one starts empty. Between two windows,
 * what only earlier ones had is forgotten, so memory does not grow however long that goes on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "bpf/abi.h"
#include "bpf/share.h"
#include "support_profile.h"

#define WINDOWS 200

static const struct profile_limits few = { {
	[PROFILE_NODES] = 2000,
	[PROFILE_FRAMES] = 2000,
	[PROFILE_CODES] = 10,
	[PROFILE_LINE_BYTES] = 100,
	[PROFILE_STRING_BYTES] = 100000,
} };

/* Formats written at the end: one for each way to count. */
static const char *const formats[] = { "folded", "html", "pprof", "callgrind" };

static __u32 stack(struct profile *p, const char *leaf)
{
	__u32 node = push(p, 0, add_process(p, "python3", 7));

	node = push(p, node, add_function(p, "main", "m.py", 1, 2));
	return push(p, node, add_function(p, leaf, "m.py", 10, 11));
}

static void assert_folded(const struct profile *p, const char *expected)
{
	struct emit_options options = { 0 };
	char *text = emit_text("folded", p, &options);

	assert_string_equal(text, expected);
	free(text);
}

static void a_window_has_what_was_counted_in_it(void **state)
{
	struct profile *recording = profile__new();
	struct profile *first = profile__new_beside(recording), *second;
	__u32 a = stack(first, "a"), b;

	profile__count(first, 0, a, 10);
	profile__count(first, 0, a, 10);
	profile__count(first, 0, stack(first, "b"), 10);
	assert_folded(first, "python3;main (m.py);a (m.py) 2\npython3;main (m.py);b (m.py) 1\n");
	profile__free(first);

	second = profile__new_beside(recording);
	assert_int_equal(profile__counts(second, 0)->samples, 0);
	/* It has kept its number: nothing is named or looked up again. */
	assert_int_equal(stack(second, "a"), a);
	b = stack(second, "b");
	profile__count(second, 0, b, 10);
	assert_folded(second, "python3;main (m.py);b (m.py) 1\n");
	profile__free(second);
	profile__free(recording);
}

/* The next one begins before the last one is written, as an export takes time. */
static void two_windows_may_be_open(void **state)
{
	struct profile *recording = profile__new();
	struct profile *first = profile__new_beside(recording);
	struct profile *second = profile__new_beside(recording);

	profile__count(first, 0, stack(first, "a"), 10);
	profile__count(second, 0, stack(second, "c"), 10);
	profile__count(second, 0, stack(second, "a"), 10);
	assert_folded(first, "python3;main (m.py);a (m.py) 1\n");
	assert_folded(second, "python3;main (m.py);a (m.py) 1\npython3;main (m.py);c (m.py) 1\n");
	profile__free(first);
	assert_folded(second, "python3;main (m.py);a (m.py) 1\npython3;main (m.py);c (m.py) 1\n");
	profile__free(second);
	profile__free(recording);
}

static void every_format_writes_a_window_as_it_writes_a_recording(void **state)
{
	struct emit_options options = { 0 };

	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct profile *alone = profile__new(), *recording = profile__new(), *window;
		char *expected, *text;

		profile__count(alone, 0, stack(alone, "b"), 10);
		expected = emit_text(formats[i], alone, &options);
		window = profile__new_beside(recording);
		profile__count(window, 0, stack(window, "a"), 10);
		profile__free(window);
		assert_int_equal(dict__forget(recording->dict), 0);
		window = profile__new_beside(recording);
		profile__count(window, 0, stack(window, "b"), 10);
		text = emit_text(formats[i], window, &options);
		assert_string_equal(text, expected);
		free(text);
		free(expected);
		profile__free(window);
		profile__free(recording);
		profile__free(alone);
	}
}

/* New code in each window, ten times as much in all as there is room for. */
static void memory_does_not_grow_from_window_to_window(void **state)
{
	struct profile *recording = profile__new_limited(&few);
	__u64 tag = 0;

	for (unsigned i = 0; i < WINDOWS; i++) {
		struct profile *window = profile__new_beside(recording);
		char name[32], expected[128];
		__u32 node;

		for (unsigned k = 0; k < 100; k++) {
			snprintf(name, sizeof(name), "f%u_%u", i, k);
			dict__begin(window->dict, OWNER_ROOT);
			node = stack(window, name);
			assert_int_not_equal(node, 0);
			if (!k)
				profile__count(window, 0, node, 10);
		}
		/* A cache filled in the last window notices that its number is outdated. */
		assert_true(!i || !dict__tagged(window->dict, tag));
		tag = dict__tag(window->dict, node);
		assert_int_equal(dict__tagged(window->dict, tag), node);
		snprintf(expected, sizeof(expected), "python3;main (m.py);f%u_0 (m.py) 1\n", i);
		assert_folded(window, expected);
		profile__free(window);
		assert_int_equal(dict__forget(recording->dict), 0);
		assert_int_equal(dict__node_cnt(recording->dict), 0);
	}
	profile__free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_what_was_counted_in_it),
		cmocka_unit_test(two_windows_may_be_open),
		cmocka_unit_test(every_format_writes_a_window_as_it_writes_a_recording),
		cmocka_unit_test(memory_does_not_grow_from_window_to_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
