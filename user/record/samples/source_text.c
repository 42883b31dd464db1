/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/source_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/dict.h"
#include "python/code/linetable.h"
#include "base/data/cleanup.h"

/* Lines of a module that are further apart than this are kept without what is between them: that is in functions. */
#define GAP_MAX 4
/* Lines of a function's decorators to look at. */
#define DECORATORS_MAX 1000
/* Of a line's start: there is something to execute in it, neither empty nor a comment. */
#define RUNS (1U << 31)

static __u32 count_lines(const char *text, size_t size)
{
	__u32 cnt = size && text[size - 1] != '\n';

	for (size_t i = 0; i < size; i++)
		cnt += text[i] == '\n';
	return cnt;
}

int source_text_init(struct source_text *t, char *text, size_t size)
{
	*t = (struct source_text){ .text = text };
	if (size >= RUNS || memchr(text, '\0', size)) {
		source_text_deinit(t);
		return -EINVAL;
	}
	t->line_cnt = count_lines(text, size);
	t->bytes = size + 1 + t->line_cnt * sizeof(*t->starts);
	t->starts = malloc(t->line_cnt * sizeof(*t->starts) + 1);
	if (!t->starts) {
		source_text_deinit(t);
		return -ENOMEM;
	}
	for (__u32 i = 0, at = 0; i < t->line_cnt; i++) {
		const char *line = text + at, *first = line + strspn(line, " \t\f\r");

		t->starts[i] = at | (*first && *first != '\n' && *first != '#' ? RUNS : 0);
		at += (__u32)strcspn(line, "\n") + 1;
	}
	return 0;
}

void source_text_deinit(struct source_text *t)
{
	free(t->text);
	free(t->starts);
	*t = (struct source_text){ 0 };
}

const char *source_text_line(const struct source_text *t, int number)
{
	return number > 0 && (__u32)number <= t->line_cnt ?
		       t->text + (t->starts[number - 1] & ~RUNS) :
		       NULL;
}

/* ---- does the text belong to the code? ----------------------------------------------------------- */

/* The line's text, without indentation. */
static const char *find_line(const struct source_text *t, int number)
{
	const char *line = source_text_line(t, number);

	return line ? line + strspn(line, " \t\f") : NULL;
}

static bool begins(const char *line, const char *word, const char *name, size_t len)
{
	size_t word_len = strlen(word);

	if (strncmp(line, word, word_len) || !isspace((unsigned char)line[word_len]))
		return false;
	line += word_len + strspn(line + word_len, " \t");
	return !strncmp(line, name, len) &&
	       !(isalnum((unsigned char)line[len]) || line[len] == '_');
}

/* "async def" is looked at from "def" on. */
static bool defines(const char *line, const char *name, size_t len)
{
	if (!strncmp(line, "async", 5))
		line += 5 + strspn(line + 5, " \t");
	return begins(line, "def", name, len) || begins(line, "class", name, len);
}

static bool can_run(const struct source_text *t, int number)
{
	return (__u32)number <= t->line_cnt && t->starts[number - 1] & RUNS;
}

/*
 * A function begins where its code object says, behind its decorators. What has no name of its own shows that only if it is a
 * lambda.
 */
static bool is_named(const struct source_text *t, const char *qualname,
		     const struct source_span *all, int first_line)
{
	const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname;
	const char *first = find_line(t, first_line), *line = first,
		   *end = source_text_line(t, all->last + 1);
	size_t len = strlen(name);

	if (!strcmp(name, "<lambda>"))
		return line && memmem(line, end && end > line ? (size_t)(end - line) : strlen(line),
				      "lambda", strlen("lambda"));
	if (*name == '<')
		return true;
	for (int i = 0; line && i < DECORATORS_MAX && i <= all->last - first_line; i++) {
		line = find_line(t, first_line + i);
		if (line && defines(line, name, len))
			return line == first || *first == '@';
	}
	return false;
}

static int end_of(const struct source_position *at)
{
	return at->end_line > at->line ? at->end_line : at->line;
}

int source_text_fits(const struct source_text *t, const struct profile_code *code,
		     const char *qualname, struct source_span *ret)
{
	struct source_span all = { code->first_line, code->first_line };
	struct linetable_entry entry;
	struct linetable_cursor c;
	unsigned cnt = 0;

	linetable_cursor_init(&c, code->lines, code->lines_size, code->first_line);
	while (linetable_next(&c, &entry)) {
		const int line = entry.position.line;

		if (cnt++ == SOURCE_ENTRIES_MAX)
			return -E2BIG;
		if (line <= 0)
			continue;
		if (!can_run(t, line))
			return -ENOENT;
		all.first = line < all.first ? line : all.first;
		all.last = end_of(&entry.position) > all.last ? end_of(&entry.position) : all.last;
	}
	/* Where a text ends, nothing is executed, but a position may end behind it. */
	if (all.last > (int)t->line_cnt)
		all.last = (int)t->line_cnt;
	*ret = all;
	return is_named(t, qualname, &all, code->first_line) ? 0 : -ENOENT;
}

int source_text_each_run(const struct source_text *t, const struct profile_code *code,
			 int (*fn)(void *ctx, struct source_span run), void *ctx)
{
	/* How many positions begin at a line, less those that ended before it. */
	cleanup_free int *turns = calloc((size_t)t->line_cnt + 2, sizeof(*turns));
	struct source_span run = { 0 };
	struct linetable_entry entry;
	struct linetable_cursor c;
	int err = 0, depth = 0;

	if (!turns)
		return -ENOMEM;
	linetable_cursor_init(&c, code->lines, code->lines_size, code->first_line);
	for (unsigned i = 0; i < SOURCE_ENTRIES_MAX && linetable_next(&c, &entry); i++) {
		const int line = entry.position.line, last = end_of(&entry.position);

		if (line <= 0 || line > (int)t->line_cnt)
			continue;
		turns[line]++;
		turns[last < (int)t->line_cnt ? last + 1 : (int)t->line_cnt + 1]--;
	}
	for (int line = 1; !err && line <= (int)t->line_cnt; line++) {
		depth += turns[line];
		if (!depth)
			continue;
		if (run.first && line > run.last + GAP_MAX) {
			err = fn(ctx, run);
			run.first = 0;
		}
		run.first = run.first ? run.first : line;
		run.last = line;
	}
	return err || !run.first ? err : fn(ctx, run);
}
