/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_diff.c - krait diff as text: shares of both sides, and each side's time by its own period.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "output/text/diff.h"
#include "output/escape.h"
#include "support_profile.h"

#define MS 1000000ULL

/* Two functions below one: 60 and 40 samples before, 20 and 60 after. */
struct sides {
	struct profile *profile;
	struct counts *before, *after;
};

static struct sides sides_new(__u64 before_ns, __u64 after_ns)
{
	struct sides s = { .profile = profile__new() };
	struct profile *p = s.profile;
	const struct event_spec *event = &profile__counts(p, 0)->event;
	__u32 node = push(p, push(p, 0, add_process(p, "python3", 7)),
			  add_function(p, "<module>", "/app/main.py", 1, 9));
	__u32 pack = push(p, node, add_function(p, "pack", "/app/a.py", 3, 4));
	__u32 render = push(p, node, add_function(p, "render", "/app/b.py", 3, 4));

	s.before = counts__new(p->dict, event);
	s.after = counts__new(p->dict, event);
	assert_non_null(s.before);
	assert_non_null(s.after);
	counts__add(s.before, pack, 60, 60 * before_ns);
	counts__add(s.before, render, 40, 40 * before_ns);
	counts__add(s.after, pack, 20, 20 * after_ns);
	counts__add(s.after, render, 60, 60 * after_ns);
	return s;
}

static char *sides_print(struct sides s, struct diff_options o)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	o.name_a = "old";
	o.name_b = "new";
	o.min_points = 0.05;
	assert_non_null(out);
	assert_int_equal(diff_table(out, s.before, s.after, &o), 0);
	assert_int_equal(fclose(out), 0);
	counts__free(s.before);
	counts__free(s.after);
	profile__free(s.profile);
	return text;
}

static void assert_prints(struct sides s, struct diff_options o, const char *want)
{
	char *text = sides_print(s, o);

	assert_string_equal(text, want);
	free(text);
}

static void seconds_are_beside_shares(void **state)
{
	assert_prints(sides_new(10 * MS, MS), (struct diff_options){ 0 },
		      "A: old, 100 samples: 1.00 s of CPU time\n"
		      "B: new, 80 samples: 80 ms of CPU time\n"
		      "   Self        A       B     Time A    Time B"
		      "    Total        A       B     Time A    Time B  Function\n"
		      " -35.00   60.00%  25.00%     600 ms     20 ms"
		      "   -35.00   60.00%  25.00%     600 ms     20 ms  pack (a.py)\n"
		      " +35.00   40.00%  75.00%     400 ms     60 ms"
		      "   +35.00   40.00%  75.00%     400 ms     60 ms  render (b.py)\n");
}

static void a_narrow_terminal_has_what_rows_are_in_order_of(void **state)
{
	const char *words[] = { "   Self  ", "  Total  " };

	for (int by_total = 0; by_total < 2; by_total++) {
		char *text =
			sides_print(sides_new(10 * MS, MS),
				    (struct diff_options){ .width = 80, .by_total = by_total });
		char *rest = text, *line;

		assert_non_null(strstr(text, words[by_total]));
		assert_null(strstr(text, words[!by_total]));
		while ((line = strsep(&rest, "\n")))
			assert_true(text_width(line) <= 80);
		free(text);
	}
}

static void samples_where_that_is_asked_for(void **state)
{
	assert_prints(sides_new(10 * MS, MS),
		      (struct diff_options){ .samples = true, .width = 80, .limit = 1 },
		      "A: old, 100 samples: 1.00 s of CPU time\n"
		      "B: new, 80 samples: 80 ms of CPU time\n"
		      "   Self        A       B  Samples A Samples B  Function\n"
		      " -35.00   60.00%  25.00%         60        20  pack (a.py)\n"
		      "… 1 more\n");
}

/* Folded stacks count samples without saying for how long each stands. */
static void a_side_without_a_time_has_samples(void **state)
{
	assert_prints(sides_new(10 * MS, 1), (struct diff_options){ .width = 80, .limit = 1 },
		      "A: old, 100 samples: 1.00 s of CPU time\n"
		      "B: new, 80 samples\n"
		      "   Self        A       B     Time A Samples B  Function\n"
		      " -35.00   60.00%  25.00%     600 ms        20  pack (a.py)\n"
		      "… 1 more\n");
}

/* Both names exceed the terminal's width; the tag of an extension module tells nothing. */
static void long_names_keep_their_ends(void **state)
{
	struct sides s = { .profile = profile__new() };
	struct profile *p = s.profile;
	const struct event_spec *event = &profile__counts(p, 0)->event;
	__u32 root = push(p, 0, add_process(p, "python3", 7));
	__u32 last =
		push(p, root,
		     add_function(p, "Registry.of_all_handlers.<locals>.decorate.<locals>.wrapper",
				  "/app/a_module_whose_name_is_long_as_well.py", 3, 4));
	__u32 c = push(p, root,
		       add_function(p, "scan", "/x/_json.cpython-311-x86_64-linux-gnu.so", 0, 0));
	__u32 c_new = push(
		p, root, add_function(p, "scan", "/y/_json.cpython-315-x86_64-linux-gnu.so", 0, 0));
	char *text, *rest, *line;

	s.before = counts__new(p->dict, event);
	s.after = counts__new(p->dict, event);
	assert_non_null(s.before);
	assert_non_null(s.after);
	counts__add(s.before, last, 60, 60 * MS);
	counts__add(s.before, c, 40, 40 * MS);
	counts__add(s.after, c_new, 90, 90 * MS);
	counts__add(s.after, last, 10, 10 * MS);
	text = rest = sides_print(s, (struct diff_options){ .width = 80, .ascii = true });
	assert_non_null(
		strstr(text, " +50.00   40.00%  90.00%      40 ms     90 ms  scan (_json.so)\n"));
	assert_non_null(strstr(text, "  ~rs.decorate.wrapper (~s_well.py)\n"));
	while ((line = strsep(&rest, "\n")))
		assert_true(text_width(line) <= 80);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_beside_shares),
		cmocka_unit_test(a_narrow_terminal_has_what_rows_are_in_order_of),
		cmocka_unit_test(samples_where_that_is_asked_for),
		cmocka_unit_test(a_side_without_a_time_has_samples),
		cmocka_unit_test(long_names_keep_their_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
