/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_script.c - perf-script text, read back by the rules of stackcollapse-perf.pl.
 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_profile.h"

static const struct emit_options options = {
	.recording.command_line = "krait record -o out.script",
	.recording.host = "ada-laptop",
	.recording.kernel = "6.18.5",
};

struct collapsed {
	unsigned samples;
	unsigned frames; /* of all samples */
	char last[65536]; /* of the last sample: "comm;root;...;leaf" */
};

/* Puts a name and ";" before the stack, which ends where its room does; returns where it begins now. */
static char *prepend(const char *room, char *stack, const char *name)
{
	size_t add = strlen(name) + 1;

	assert_true((size_t)(stack - room) > add);
	stack -= add;
	memcpy(stack, name, add - 1);
	stack[add - 1] = ';';
	return stack;
}

/* As the script does: ";" to ":", no quotes. "(" and "->", at which it would cut, must not occur. */
static void clean(char *symbol)
{
	char *from, *to, *offset = strstr(symbol, "+0x");

	if (offset)
		*offset = '\0';
	assert_null(strstr(symbol, "->"));
	assert_null(strchr(symbol, '('));
	assert_true(*symbol);
	for (from = to = symbol; *from; from++)
		if (*from != '"' && *from != '\'')
			*to++ = *from == ';' ? ':' : *from;
	*to = '\0';
}

/* "\t", blanks, an address, the name, which may have blanks, and a file in brackets, which has none: the name, and NULL for
 * any other line. A regular expression would take ten times as long. */
static char *frame_name(char *line)
{
	size_t size = strlen(line), digits;
	char *name, *file;

	if (*line != '\t' || line[size - 1] != ')')
		return NULL;
	line += 1 + strspn(line + 1, " ");
	digits = strspn(line, "0123456789abcdef");
	name = line + digits + 1;
	if (!digits || line[digits] != ' ')
		return NULL;
	file = strrchr(name, ' ');
	if (!file || file == name || file[1] != '(' || strchr(file, '\t'))
		return NULL;
	*file = '\0';
	return name;
}

/* Fails on a line that is no comment, header, frame or blank line. */
static void collapse(const char *text, struct collapsed *c)
{
	char *copy = strdup(text), *rest = copy, *line, comm[64] = "";
	char room[sizeof(c->last)], *const end = room + sizeof(room) - 1, *stack = end;
	regmatch_t m[4];
	regex_t header;
	bool inside = false;

	assert_int_equal(regcomp(&header,
				 "^([^ ]+) +([0-9]+)/([0-9]+) +\\[[0-9]+\\] +[0-9]+\\.[0-9]{6}: "
				 "+[0-9]+ [^ :]+: $",
				 REG_EXTENDED),
			 0);
	memset(c, 0, sizeof(*c));
	*end = '\0';
	while ((line = strsep(&rest, "\n"))) {
		char *name = frame_name(line);

		if (*line == '#')
			continue;
		if (!*line) {
			if (inside) {
				stack = prepend(room, stack, comm);
				strcpy(c->last, stack);
				c->last[end - stack - 1] = '\0';
				c->samples++;
			}
			inside = false;
			stack = end;
		} else if (name) {
			assert_true(inside);
			clean(name);
			stack = prepend(room, stack, name);
			c->frames++;
		} else if (!regexec(&header, line, 4, m, 0)) {
			assert_false(inside);
			inside = true;
			line[m[1].rm_eo] = '\0';
			snprintf(comm, sizeof(comm), "%s", line);
		} else {
			fail_msg("unrecognized line: %s", line);
		}
	}
	assert_false(inside);
	regfree(&header);
	free(copy);
}

static void a_sample_is_as_perf_prints_it(void **state)
{
	const struct emit_options lines = { .lines = true,
					    .recording.host = "ada-laptop",
					    .recording.kernel = "6.18.5",
					    .recording.command_line =
						    "krait record\n-o out.script" };
	struct profile *p = profile__new();
	__u32 node = push(p, 0, add_process(p, "python3", 4711));
	char *text;

	node = push(p, node, add_thread(p, "main", 4711, 4711));
	node = push(p, node, add_function(p, "<module>", "/home/ada/my shop/main.py", 1, 88));
	node = push(p, node, add_function(p, "Cart.total.<locals>.<genexpr>", "<template>", 5, 7));
	add_samples(p, push(p, node, add_mark(p, "[truncated: depth]")), 1);
	profile__counts(p, 0)->accounts.interrupts =
		profile__counts(p, 0)->accounts.reasons[REASON_DEPTH] = 1;
	text = emit_text("script", p, &options);
	assert_golden("small.script", text);
	free(text);
	text = emit_text("script", p, &lines);
	assert_golden("small-lines.script", text);
	free(text);
	profile__free(p);
}

static unsigned visible_depth(const struct profile *p, __u32 node)
{
	unsigned depth = 0;

	for (; node; node = dict__node_at(p->dict, node)->parent) {
		enum frame_kind kind =
			dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame)->kind;

		depth += kind == FRAME_PYTHON || kind == FRAME_MARK;
	}
	return depth;
}

static void every_sample_and_frame_survives_stackcollapse(void **state)
{
	struct profile *profiles[] = { small_profile(), hostile_profile(), deep_profile(2000),
				       large_profile(3000) };
	struct collapsed *c = malloc(sizeof(*c));
	size_t i;
	__u32 node;

	for (i = 0; i < 4; i++) {
		char *text = emit_text("script", profiles[i], &options);
		unsigned frames = 0;

		for (node = 1; node <= dict__node_cnt(profiles[i]->dict); node++)
			frames +=
				visible_depth(profiles[i], node) *
				(unsigned)counts__at(profile__counts(profiles[i], 0), node).samples;
		collapse(text, c);
		assert_int_equal(c->samples, sample_cnt(profiles[i]));
		assert_int_equal(c->frames, frames);
		free(text);
		profile__free(profiles[i]);
	}
	free(c);
}

static void the_stack_is_leaf_first_and_collapses_to_root_first(void **state)
{
	struct collapsed *c = malloc(sizeof(*c));
	struct profile *p = small_profile();
	char *text = emit_text("script", p, &options);

	collapse(text, c);
	assert_string_equal(c->last, "py_thon;Thread._bootstrap;Thread.run;worker;get");
	free(text);
	free(c);
	profile__free(p);
}

static void the_accounts_are_a_comment_at_the_end(void **state)
{
	struct profile *p = small_profile();
	char *text = emit_text("script", p, &options);
	const char *last = strrchr(text, '#');

	assert_string_equal(last, "# krait: 1002 interrupts = 997 complete + "
				  "3 truncated (depth 3) + 2 lost (ring full 2)\n");
	free(text);
	profile__free(p);
}

static void a_recording_without_samples_is_a_header_and_the_accounts(void **state)
{
	struct collapsed *c = malloc(sizeof(*c));
	struct profile *p = profile__new();
	char *text = emit_text("script", p, &options);

	collapse(text, c);
	assert_int_equal(c->samples, 0);
	assert_true(strncmp(text, "# ========\n", 11) == 0);
	free(text);
	free(c);
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_as_perf_prints_it),
		cmocka_unit_test(every_sample_and_frame_survives_stackcollapse),
		cmocka_unit_test(the_stack_is_leaf_first_and_collapses_to_root_first),
		cmocka_unit_test(the_accounts_are_a_comment_at_the_end),
		cmocka_unit_test(a_recording_without_samples_is_a_header_and_the_accounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
