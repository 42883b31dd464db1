/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/sources.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/search.h"
#include "base/data/vec.h"
#include "base/share/quota.h"
#include "base/text/short_path.h"

#define WORD "source "
#define DIFFERENT "(not shown: processes had different lines here)"
#define ELLIPSIS "\xe2\x80\xa6"
/* What a line takes besides its text. */
#define LINE_COST 32U
/* Of notes, which anybody may have written: what their lines may cost, and how many entries may move to make room for others. */
#define READ_MAX (2U * SOURCES_MAX)
#define MOVED_MAX (1U << 24)

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
	quota__free(s->cells);
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

/* NULL: out of memory. *moved: grows by the entries that were moved. */
static struct source_kept *make(struct sources *s, const char *path, __u64 *moved)
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
	*moved += s->cnt - at;
	s->list[at] = new;
	s->cnt++;
	return &s->list[at];
}

/* The part of a line that is kept. */
static size_t width(const char *text, size_t len, bool *ret_cut)
{
	while (len && text[len - 1] == '\r')
		len--;
	*ret_cut = len > SOURCES_WIDTH_MAX;
	if (!*ret_cut)
		return len;
	for (len = SOURCES_WIDTH_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

static __u64 cost_of(const char *text, size_t len)
{
	bool cut;

	return width(text, len, &cut) + LINE_COST;
}

static bool is_same(const char *kept, const char *here, size_t len)
{
	bool cut;
	size_t keep = width(here, len, &cut);

	return !strncmp(kept, here, keep) && !strcmp(kept + keep, cut ? ELLIPSIS : "");
}

/* text: NULL: there are different ones. */
static int make_line(struct source_line *ret, int number, const char *text, size_t len)
{
	bool cut = false;
	size_t keep = text ? width(text, len, &cut) : 0;

	*ret = (struct source_line){ .number = number };
	return text && asprintf(&ret->text, "%.*s%s", (int)keep, text, cut ? ELLIPSIS : "") < 0 ?
		       -ENOMEM :
		       0;
}

static void join_line(struct source_line *old, const char *text, size_t len)
{
	if (old->text && text && is_same(old->text, text, len))
		return;
	free(old->text);
	old->text = NULL;
}

/* The next line; NULL: that was the last. */
static const char *next(const char *at)
{
	const char *end = strchr(at, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/* Lines in a row: new_cnt of them are not there yet. */
static int put_lines(struct source_kept *k, const char *begin, int first, int last, __u32 new_cnt)
{
	const __u32 end = k->cnt + new_cnt;
	/* What comes behind moves at once; then old and new lines take turns. */
	__u32 to = line_of(k, first), from = to + new_cnt;
	const char *at = begin;
	int err = 0;

	if (vec_reserve(k->lines, k->cap, end))
		return -ENOMEM;
	memmove(&k->lines[from], &k->lines[to], (k->cnt - to) * sizeof(k->lines[0]));
	for (int i = first; at && i <= last && !err; i++, at = next(at)) {
		const size_t len = strcspn(at, "\n");

		if (from < end && k->lines[from].number == i) {
			k->lines[to] = k->lines[from++];
			join_line(&k->lines[to], at, len);
		} else {
			err = make_line(&k->lines[to], i, at, len);
		}
		to += !err;
	}
	memmove(&k->lines[to], &k->lines[from], (end - from) * sizeof(k->lines[0]));
	k->cnt = end - (from - to);
	return err;
}

int sources_add(struct sources *s, unsigned owner, const char *path, const char *begin, int first,
		int last)
{
	struct source_kept *k = (struct source_kept *)sources_find(s, path);
	const char *at = first > 0 && last <= SOURCES_LINE_MAX ? begin : NULL;
	__u64 cost = k ? 0 : strlen(path) + sizeof(*k), moved = 0;
	__u32 new_cnt = 0, old = k ? line_of(k, first) : 0;

	if (!at || first > last || strpbrk(path, "\r\n"))
		return 0;
	/* Whoever has a line already paid for it. */
	for (int i = first; at && i <= last && cost <= SOURCES_MAX; i++, at = next(at)) {
		if (k && old < k->cnt && k->lines[old].number == i) {
			old++;
			continue;
		}
		cost += cost_of(at, strcspn(at, "\n"));
		new_cnt++;
	}
	if (!s->quota)
		s->quota = quota__new(SOURCES_MAX, SOURCES_MAX / 8);
	if (!s->quota)
		return -ENOMEM;
	if (cost && quota__take(s->quota, owner, cost)) {
		s->left_out++;
		return -EDQUOT;
	}
	k = k ?: make(s, path, &moved);
	return k ? put_lines(k, begin, first, last, new_cnt) : -ENOMEM;
}

/* ---- showing ---------------------------------------------------------------------------------- */

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

/* ---- cells ------------------------------------------------------------------------------------ */

/* Cells with names, divided among owners: looking for one takes time. */
#define CELLS_MAX 512U

static int call(struct sources *s, unsigned owner, struct source_kept *k, __u32 cell)
{
	char name[32];

	if (k->cell == cell || k->disputed || !cell_path_pid(k->path))
		return 0;
	if (k->cell) {
		k->cell = 0;
		k->disputed = true;
		return short_path_claim(k->path, NULL);
	}
	if (!s->cells)
		s->cells = quota__new(CELLS_MAX, CELLS_MAX / 8);
	if (!s->cells)
		return -ENOMEM;
	if (quota__take(s->cells, owner, 1))
		return 0;
	k->cell = cell;
	snprintf(name, sizeof(name), "cell %u", cell);
	return short_path_claim(k->path, name);
}

int sources_call(struct sources *s, unsigned owner, const char *path, __u32 cell)
{
	struct source_kept *k = (struct source_kept *)sources_find(s, path);

	return k ? call(s, owner, k, cell) : 0;
}

/* ---- as text ---------------------------------------------------------------------------------- */

void sources_write(const struct sources *s, FILE *out)
{
	for (__u32 i = 0; i < s->cnt; i++) {
		const struct source_kept *k = &s->list[i];

		fprintf(out, WORD "%s\n", k->path);
		if (k->cell)
			fprintf(out, " 0 cell %u\n", k->cell);
		for (__u32 n = 0; n < k->cnt; n++)
			fprintf(out, " %s%d %s\n", k->lines[n].text ? "" : "-", k->lines[n].number,
				k->lines[n].text ? k->lines[n].text : "");
	}
}

struct reading {
	__u64 cost, moved;
};

static int put_line(struct reading *r, struct source_kept *k, int number, const char *text,
		    size_t len)
{
	const __u32 at = line_of(k, number);
	struct source_line new;
	int err;

	if (at < k->cnt && k->lines[at].number == number) {
		join_line(&k->lines[at], text, len);
		return 0;
	}
	err = make_line(&new, number, text, len);
	if (!err && vec_reserve(k->lines, k->cap, k->cnt + 1)) {
		free(new.text);
		err = -ENOMEM;
	}
	if (err)
		return err;
	memmove(&k->lines[at + 1], &k->lines[at], (k->cnt - at) * sizeof(k->lines[0]));
	r->moved += k->cnt - at;
	k->lines[at] = new;
	k->cnt++;
	return 0;
}

static int read_line(struct sources *s, struct reading *r, struct source_kept *k, const char *text,
		     size_t len)
{
	const bool differs = *text == '-';
	char *end;
	long number;

	/* A number on this line: strtol() would look for one on the next. */
	if (!isdigit((unsigned char)text[differs]))
		return 0;
	number = strtol(text + differs, &end, 10);
	if (!number && !differs && !strncmp(end, " cell ", 6) && isdigit((unsigned char)end[6]))
		return call(s, 0, k, (__u32)strtoul(end + 6, NULL, 10));
	if (*end != ' ' || number <= 0 || number > SOURCES_LINE_MAX)
		return 0;
	end++;
	len -= (size_t)(end - text);
	r->cost += cost_of(end, len);
	return put_line(r, k, (int)number, differs ? NULL : end, len);
}

int sources_read(struct sources *s, const char *notes)
{
	struct reading r = { 0 };
	struct source_kept *k = NULL;
	int err = 0;

	for (const char *at = *notes ? notes : NULL;
	     at && !err && r.cost <= READ_MAX && r.moved <= MOVED_MAX; at = next(at)) {
		size_t len = strcspn(at, "\n");

		if (*at == ' ') {
			err = k ? read_line(s, &r, k, at + 1, len - 1) : 0;
		} else if (!strncmp(at, WORD, strlen(WORD))) {
			cleanup_free char *path = strndup(at + strlen(WORD), len - strlen(WORD));

			r.cost += len + sizeof(*k);
			k = path ? make(s, path, &r.moved) : NULL;
			err = k ? 0 : -ENOMEM;
		} else {
			k = NULL;
		}
	}
	return err;
}
