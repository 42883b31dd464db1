/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded_reader.c - splits lines at the last blank, stacks at ";", frames at the last " (".
 */
#include "capture/import/folded_reader.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/marks.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

struct line {
	char *text; /* NUL-terminated, without the line break */
	size_t len, cap;
	bool bad; /* too long, or contains a NUL */
};

static int line_put(struct line *l, char c)
{
	if (vec_reserve(l->text, l->cap, l->len + 2))
		return -ENOMEM;
	l->text[l->len++] = c;
	l->text[l->len] = '\0';
	return 0;
}

/* Returns 1 for a line, 0 at the end, -errno. */
static int read_line(FILE *in, struct line *l)
{
	int c, err;

	l->len = 0;
	l->bad = false;
	errno = 0;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (!c || l->len >= FOLDED_MAX_LINE)
			l->bad = true;
		if (l->bad)
			continue;
		err = line_put(l, (char)c);
		if (err)
			return err;
	}
	if (ferror(in))
		return stream_cause();
	if (c == EOF && !l->len && !l->bad)
		return 0;
	if (!l->len && !l->bad) {
		err = line_put(l, '\0');
		l->len = 0;
		return err ? err : 1;
	}
	while (l->len && isspace((unsigned char)l->text[l->len - 1]))
		l->text[--l->len] = '\0';
	return 1;
}

/* Cuts the count off the line: 0, or -EINVAL. Drops a fraction, which some tools write. */
static int cut_count(struct line *l, __u64 *ret)
{
	char *blank = strrchr(l->text, ' '), *tab = strrchr(l->text, '\t'), *end;
	unsigned long long count;

	if (tab && (!blank || tab > blank))
		blank = tab;
	if (!blank || !isdigit((unsigned char)blank[1]))
		return -EINVAL;
	errno = 0;
	count = strtoull(blank + 1, &end, 10);
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (*end || errno || count > FOLDED_MAX_SAMPLES)
		return -EINVAL;
	while (blank > l->text && isspace((unsigned char)blank[-1]))
		blank--;
	if (blank == l->text)
		return -EINVAL;
	*blank = '\0';
	*ret = count;
	return 0;
}

/* Parses "NAME (FILE:LINE)" in place. */
static __u32 add_frame(struct dict *dict, char *text, bool process)
{
	struct profile_frame f = { .kind = process ? FRAME_PROCESS : FRAME_PYTHON,
				   .first_line = -1,
				   .line = -1,
				   .column = -1,
				   .end_column = -1,
				   .pid = -1,
				   .tid = -1 };
	size_t len = strlen(text);
	char *open = NULL, *at, *colon, *end;
	long line;

	if (mark_is(text, len))
		f.kind = FRAME_MARK;
	for (at = text; (at = strstr(at, " (")); at++)
		open = at;
	if (open && open > text && text[len - 1] == ')' && text + len - open > 3) {
		*open = text[len - 1] = '\0';
		colon = strrchr(open + 2, ':');
		if (colon && isdigit((unsigned char)colon[1])) {
			errno = 0;
			line = strtol(colon + 1, &end, 10);
			if (!*end && !errno && line > 0 && line < INT_MAX && colon > open + 2) {
				f.line = (int)line;
				*colon = '\0';
			}
		}
		f.file = dict__string(dict, open + 2);
	}
	f.name = dict__string(dict, text);
	return dict__frame(dict, &f);
}

static bool has_file(const char *frame, size_t len)
{
	return len > 4 && frame[len - 1] == ')' && memmem(frame, len, " (", 2);
}

/* *ret_node: the leaf. */
static int add_stack(struct dict *dict, char *text, __u32 *ret_node)
{
	char *next, *at = text;
	size_t first = strcspn(text, ";"), second = 0;
	__u32 node = 0, frame;
	bool process = false;

	if (text[first]) {
		second = strcspn(text + first + 1, ";");
		process = !has_file(text, first) &&
			  (has_file(text + first + 1, second) || mark_is(text + first + 1, second));
	}
	for (; at; at = next) {
		next = strchr(at, ';');
		if (next)
			*next++ = '\0';
		frame = add_frame(dict, at, process && at == text);
		node = frame ? dict__child(dict, node, frame) : 0;
		if (!node)
			return -ENOMEM;
	}
	*ret_node = node;
	return 0;
}

int folded_read(struct counts *c, FILE *in, struct stack_filter *filter,
		struct folded_stats *ret_stats)
{
	struct folded_stats *s = ret_stats;
	struct line l = { 0 };
	__u64 count;
	__u32 node;
	int err;

	memset(s, 0, sizeof(*s));
	while ((err = read_line(in, &l)) > 0) {
		s->lines++;
		if (!l.bad && (!l.len || l.text[0] == '#'))
			continue;
		if (l.bad || cut_count(&l, &count) ||
		    count > FOLDED_MAX_SAMPLES - s->samples - s->filtered) {
			if (!s->malformed++)
				s->first_malformed = s->lines;
			continue;
		}
		err = add_stack(c->dict, l.text, &node);
		if (err)
			break;
		if (filter && !stack_filter__wants(filter, c->dict, node)) {
			s->filtered += count;
			continue;
		}
		counts__add(c, node, count, count);
		s->stacks++;
		s->samples += count;
	}
	free(l.text);
	return err;
}
