/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/search.h"
#include "base/data/vec.h"
#include "base/share/quota.h"

#define WORD "source "
#define DIFFERENT "(not shown: processes had different lines here)"
#define ELLIPSIS "\xe2\x80\xa6"
/* What a line takes besides its text. */
#define LINE_COST 32U

void sources_free(struct sources *s)
{
	for (__u32 i = 0; i < s->cnt; i++) {
		for (__u32 k = 0; k < s->list[i].cnt; k++)
			free(s->list[i].lines[k].text);
		free(s->list[i].lines);
		free(s->list[i].path);
	}
	free(s->list);
	quota__free(s->quota);
	*s = (struct sources){ 0 };
}

static __u32 place_of(const struct sources *s, const char *path)
{
	return (__u32)sorted_below(s->cnt, i, strcmp(s->list[i].path, path) < 0);
}

static __u32 line_of(const struct source_kept *k, int number)
{
	return (__u32)sorted_below(k->cnt, i, k->lines[i].number < number);
}

const struct source_kept *sources_find(const struct sources *s, const char *path)
{
	__u32 at = place_of(s, path);

	return at < s->cnt && !strcmp(s->list[at].path, path) ? &s->list[at] : NULL;
}

/* NULL: out of memory. */
static struct source_kept *make(struct sources *s, const char *path)
{
	__u32 at = place_of(s, path);
	struct source_kept new = { 0 };

	if (at < s->cnt && !strcmp(s->list[at].path, path))
		return &s->list[at];
	new.path = strdup(path);
	if (!new.path || vec_reserve(s->list, s->cap, s->cnt + 1)) {
		free(new.path);
		return NULL;
	}
	memmove(&s->list[at + 1], &s->list[at], (s->cnt - at) * sizeof(s->list[0]));
	s->list[at] = new;
	s->cnt++;
	return &s->list[at];
}

/* The part of a line that is kept. */
static size_t width(const char *text, size_t len)
{
	while (len && text[len - 1] == '\r')
		len--;
	if (len <= SOURCES_WIDTH_MAX)
		return len;
	for (len = SOURCES_WIDTH_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

/* text: NULL: there are different ones. */
static int put_line(struct source_kept *k, int number, const char *text, size_t len)
{
	__u32 at = line_of(k, number);
	struct source_line new = { .number = number };
	size_t keep = text ? width(text, len) : 0;
	bool cut = text && keep + 1 < len;

	if (text && asprintf(&new.text, "%.*s%s", (int)keep, text, cut ? ELLIPSIS : "") < 0)
		return -ENOMEM;
	if (at < k->cnt && k->lines[at].number == number) {
		struct source_line *old = &k->lines[at];

		if (!old->text || (new.text && !strcmp(old->text, new.text))) {
			free(new.text);
			return 0;
		}
		free(new.text);
		free(old->text);
		old->text = NULL;
		return 0;
	}
	if (vec_reserve(k->lines, k->cap, k->cnt + 1)) {
		free(new.text);
		return -ENOMEM;
	}
	memmove(&k->lines[at + 1], &k->lines[at], (k->cnt - at) * sizeof(k->lines[0]));
	k->lines[at] = new;
	k->cnt++;
	return 0;
}

/* The next line; NULL: that was the last. */
static const char *next(const char *at)
{
	const char *end = strchr(at, '\n');

	return end && end[1] ? end + 1 : NULL;
}

int sources_add(struct sources *s, unsigned owner, const char *path, const char *begin, int first,
		int last)
{
	const char *at = first > 0 && last <= SOURCES_LINE_MAX ? begin : NULL;
	struct source_kept *k;
	__u64 cost = 0;
	int err = 0;

	for (int i = first; at && i <= last && cost <= SOURCES_MAX; i++, at = next(at))
		cost += width(at, strcspn(at, "\n")) + LINE_COST;
	if (!cost || strpbrk(path, "\r\n"))
		return 0;
	if (!s->quota)
		s->quota = quota__new(SOURCES_MAX, SOURCES_MAX / 8);
	if (!s->quota)
		return -ENOMEM;
	if (quota__take(s->quota, owner, cost)) {
		s->left_out++;
		return -EDQUOT;
	}
	k = make(s, path);
	if (!k)
		return -ENOMEM;
	at = begin;
	for (int i = first; at && i <= last && !err; i++, at = next(at))
		err = put_line(k, i, at, strcspn(at, "\n"));
	return err;
}

/* ---- showing ---------------------------------------------------------------------------------- */

static bool is_same(const char *kept, const char *here, size_t len)
{
	size_t keep = width(here, len);

	return kept && !strncmp(kept, here, keep) && (!kept[keep] || keep < len);
}

size_t sources_text_size(const struct source_kept *k)
{
	size_t size = k->cnt ? (size_t)k->lines[k->cnt - 1].number : 0;

	for (__u32 i = 0; i < k->cnt; i++)
		size += strlen(k->lines[i].text ? k->lines[i].text : DIFFERENT);
	return size;
}

char *sources_text(const struct source_kept *k, const char *here)
{
	const int last = k->cnt ? k->lines[k->cnt - 1].number : 0;
	const char *at = here && *here ? here : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	__u32 i = 0;

	for (int number = 1; out && (number <= last || at); number++) {
		const struct source_line *l =
			i < k->cnt && k->lines[i].number == number ? &k->lines[i++] : NULL;
		size_t len = at ? strcspn(at, "\n") : 0;

		if (l && (!l->text || (here && !is_same(l->text, at ? at : "", len))))
			fputs(DIFFERENT, out);
		else if (l)
			fputs(l->text, out);
		else
			fwrite(at ? at : "", 1, len, out);
		putc('\n', out);
		at = at ? next(at) : NULL;
	}
	if (!out || fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- as text ---------------------------------------------------------------------------------- */

void sources_write(const struct sources *s, FILE *out)
{
	for (__u32 i = 0; i < s->cnt; i++) {
		const struct source_kept *k = &s->list[i];

		fprintf(out, WORD "%s\n", k->path);
		for (__u32 n = 0; n < k->cnt; n++)
			fprintf(out, " %s%d %s\n", k->lines[n].text ? "" : "-", k->lines[n].number,
				k->lines[n].text ? k->lines[n].text : "");
	}
}

static int read_line(struct source_kept *k, const char *text, size_t len)
{
	char *end;
	long number = strtol(text, &end, 10);
	bool differs = number < 0;

	number = differs ? -number : number;
	if (end == text || *end != ' ' || number <= 0 || number > SOURCES_LINE_MAX)
		return 0;
	end++;
	return put_line(k, (int)number, differs ? NULL : end, len - (size_t)(end - text));
}

int sources_read(struct sources *s, const char *notes)
{
	struct source_kept *k = NULL;
	int err = 0;

	for (const char *at = *notes ? notes : NULL; at && !err; at = next(at)) {
		size_t len = strcspn(at, "\n");

		if (*at == ' ') {
			err = k ? read_line(k, at + 1, len - 1) : 0;
		} else if (!strncmp(at, WORD, strlen(WORD))) {
			cleanup_free char *path = strndup(at + strlen(WORD), len - strlen(WORD));

			k = path ? make(s, path) : NULL;
			err = k ? 0 : -ENOMEM;
		} else {
			k = NULL;
		}
	}
	return err;
}
