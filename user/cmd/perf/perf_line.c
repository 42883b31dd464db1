/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/perf/perf_line.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One option in perf's help: "    -e, --event <event>   event selector" or "        --aio[=<n>]". */
struct option {
	char letter; /* 0: none */
	const char *name; /* without dashes; "": none */
	size_t len;
	bool takes; /* a value, in the next word if not in this one */
	bool may_take; /* a value, but only in this word */
};

/* Reads the option that a line of the help begins with. */
static bool read_option(struct option *ret, const char *line)
{
	const char *c = line + strspn(line, " \t");

	*ret = (struct option){ .name = "" };
	if (c == line || *c != '-')
		return false;
	if (c[1] != '-') {
		ret->letter = c[1];
		c += 2;
		c += *c == ',';
		c += strspn(c, " ") == 1;
	}
	if (c[0] == '-' && c[1] == '-') {
		ret->name = c + 2;
		ret->len = strcspn(ret->name, " [\n");
		c = ret->name + ret->len;
	}
	ret->may_take = *c == '[';
	ret->takes = c[0] == ' ' && c[1] == '<';
	return true;
}

static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line ? line + 1 : NULL;
}

static bool find_letter(struct option *ret, const char *help, char letter)
{
	for (const char *line = help; line; line = next_line(line)) {
		if (read_option(ret, line) && ret->letter == letter)
			return true;
	}
	return false;
}

/* By its name, or a beginning of it that no other has. */
static bool find_name(struct option *ret, const char *help, const char *name, size_t len)
{
	struct option o;
	bool found = false;

	for (const char *line = help; line; line = next_line(line)) {
		if (!read_option(&o, line) || o.len < len || strncmp(o.name, name, len))
			continue;
		found = true;
		*ret = o;
		if (o.len == len)
			return true;
	}
	return found;
}

static bool is(const struct option *o, const char *name)
{
	return o->len == strlen(name) && !strncmp(o->name, name, o->len);
}

static void note_delay(struct perf_line *l, const char *value)
{
	char *end;
	long ms = value ? strtol(value, &end, 10) : -1;

	/* "10-20,30-40": the times at which they count (perf 6.2). */
	l->controlled |= !value || end == value || *end || ms < -1 || ms > INT_MAX;
	l->delay_ms = l->controlled ? 0 : (int)ms;
}

static void note(struct perf_line *l, const struct option *o, const char *value)
{
	static const char *const unfit[] = { "switch-output", "switch-output-event", "threads",
					     "timestamp-filename" };

	if (is(o, "delay"))
		note_delay(l, value);
	l->controlled |= is(o, "control");
	l->has_clock |= is(o, "clockid");
	l->has_chains |= is(o, "call-graph") || o->letter == 'g';
	if (is(o, "output"))
		l->output = value;
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
		if (is(o, unfit[i]))
			l->unfit = unfit[i];
	}
}

/* Returns how many words it takes. */
static int take_long(struct perf_line *l, const char *help, int i)
{
	const char *name = l->args[i] + 2;
	const size_t len = strcspn(name, "=");
	struct option o;

	/* "--no-...": perf says whether there is such an option. */
	if (!find_name(&o, help, name, len))
		return 1;
	if (name[len]) {
		note(l, &o, name + len + 1);
		return 1;
	}
	note(l, &o, o.takes ? l->args[i + 1] : NULL);
	return o.takes ? 2 : 1;
}

/* "-gF99", "-o FILE": the first that takes a value has the rest of the word, or the next one. */
static int take_letters(struct perf_line *l, const char *help, int i)
{
	struct option o;

	for (const char *c = l->args[i] + 1; *c; c++) {
		if (!find_letter(&o, help, *c))
			return 1;
		if (o.takes) {
			note(l, &o, c[1] ? c + 1 : l->args[i + 1]);
			return c[1] ? 1 : 2;
		}
		note(l, &o, NULL);
		if (o.may_take)
			return 1;
	}
	return 1;
}

void perf_line_parse(struct perf_line *ret, char *const args[], const char *help)
{
	int i = 0;

	*ret = (struct perf_line){ .args = args };
	while (args[ret->cnt])
		ret->cnt++;
	ret->separator = ret->cnt;
	while (i < ret->cnt) {
		const char *word = args[i];

		if (!strcmp(word, "--")) {
			ret->separator = i++;
			break;
		}
		if (word[0] != '-' || !word[1])
			break;
		i += word[1] == '-' ? take_long(ret, help, i) : take_letters(ret, help, i);
	}
	ret->command = i < ret->cnt ? i : ret->cnt;
}
