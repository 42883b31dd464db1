/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/page/html_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/page/packed.h"
#include "output/source_lookup.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/text/json.h"

#define MAX_FILES 200U
#define MAX_TEXT (4U << 20)
/* Of a larger file, only lines near samples are kept. */
#define MAX_WHOLE (128U << 10)
#define NEAR_LINES 30

struct line_frame {
	__u32 file, frame;
	int line;
};

struct source {
	__u32 first, cnt; /* of the frames, sorted by line */
	struct view_sums sums; /* of all its frames */
};

struct sources {
	const struct emit_options *options;
	const struct view *view;
	struct line_frame *lines;
	struct source *files;
	__u32 line_cnt, file_cnt;
	struct bytes text;
	bool cut; /* the current file was cut: out of room */
};

static int compare_lines(const void *x, const void *y)
{
	const struct line_frame *a = x, *b = y;

	return compare_numbers(a->file, b->file) ?: compare_numbers(a->line, b->line);
}

static int compare_files(const void *x, const void *y)
{
	const struct source *a = x, *b = y;
	int order = view_sums_compare(&a->sums, &b->sums, false);

	return order ? order : (a->first > b->first) - (a->first < b->first);
}

static bool has_source(const struct sources *s, const struct profile_frame *f)
{
	return f->file && f->line > 0 &&
	       (f->kind == FRAME_PYTHON || (f->kind == FRAME_NATIVE && s->view->options.sources));
}

static int find_files(struct sources *s)
{
	const struct view *v = s->view;

	s->lines = calloc(v->frame_cnt, sizeof(*s->lines));
	s->files = calloc(v->frame_cnt, sizeof(*s->files));
	if (!s->lines || !s->files)
		return -ENOMEM;
	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];

		if (v->sums[i].total && has_source(s, f))
			s->lines[s->line_cnt++] = (struct line_frame){ f->file, i, f->line };
	}
	qsort(s->lines, s->line_cnt, sizeof(*s->lines), compare_lines);
	for (__u32 i = 0; i < s->line_cnt; i++) {
		const struct view_sums *sums = &v->sums[s->lines[i].frame];
		struct source *file;

		if (!i || s->lines[i].file != s->lines[i - 1].file)
			s->files[s->file_cnt++] = (struct source){ .first = i };
		file = &s->files[s->file_cnt - 1];
		file->cnt++;
		file->sums.self += sums->self;
		file->sums.total += sums->total;
	}
	qsort(s->files, s->file_cnt, sizeof(*s->files), compare_files);
	return 0;
}

/* ---- text ------------------------------------------------------------------------------------- */

/* Writes len bytes of text that begin at line first. */
static void put_part(struct sources *s, FILE *out, int first, const char *text, size_t len)
{
	if (s->text.len + len > MAX_TEXT + MAX_WHOLE) {
		s->cut = true;
		return;
	}
	fprintf(out, ",%d,%zu", first, len);
	bytes_put(&s->text, text, len);
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

static void put_near(struct sources *s, FILE *out, const struct source *file, const char *text)
{
	const struct line_frame *hits = &s->lines[file->first];
	const char *from = NULL;
	int number = 1, first = 0;
	__u32 at = 0;

	for (; *text; text = next_line(text), number++) {
		while (at < file->cnt && hits[at].line + NEAR_LINES < number)
			at++;
		if (at < file->cnt && number + NEAR_LINES >= hits[at].line) {
			first = from ? first : number;
			from = from ? from : text;
			continue;
		}
		if (from)
			put_part(s, out, first, from, (size_t)(text - from));
		from = NULL;
	}
	if (from)
		put_part(s, out, first, from, (size_t)(text - from));
}

static int read_file(struct sources *s, __u32 number, char **ret)
{
	if (number >= MAX_FILES || s->text.len >= MAX_TEXT)
		return -E2BIG;
	return s->options->source(s->options->source_ctx, s->view->dict,
				  s->lines[s->files[number].first].file, ret);
}

/* Stores in *ret the first line and length of each kept part. Returns 0 or -errno. */
static int keep_parts(struct sources *s, __u32 number, char **ret)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *parts = open_memstream(ret, &size);
	int err = parts ? read_file(s, number, &text) : -ENOMEM;

	s->cut = false;
	if (!err && strlen(text) <= MAX_WHOLE)
		put_part(s, parts, 1, text, strlen(text));
	else if (!err)
		put_near(s, parts, &s->files[number], text);
	if (parts && fclose(parts))
		return -ENOMEM;
	return err ? err : s->cut ? -E2BIG : 0;
}

/* Writes a file's frame, why its text is missing or incomplete, and the parts. */
static int put_file(struct sources *s, FILE *out, __u32 number)
{
	cleanup_free char *parts = NULL;
	int err = keep_parts(s, number, &parts);

	if (err == -ENOMEM)
		return err;
	fprintf(out, "%s[%u,", number ? ",\n" : "", s->lines[s->files[number].first].frame);
	if (json_put_text(out, err == -E2BIG ? "not all is kept: this page has the hottest files" :
			       err	     ? source_lookup_why(err) :
					       ""))
		return -ENOMEM;
	fprintf(out, "%s]", parts);
	return 0;
}

int html_put_sources(FILE *out, const struct emit_options *o, const struct view *v)
{
	struct sources s = { .options = o, .view = v };
	int err = o->source ? find_files(&s) : 0;

	if (!err && s.file_cnt) {
		fputs(",\n\"sources\":{\"files\":[", out);
		for (__u32 i = 0; i < s.file_cnt && !err; i++)
			err = put_file(&s, out, i);
		fputs("],\n\"data\":\"", out);
		if (!err && s.text.failed)
			err = -ENOMEM;
		if (!err)
			err = put_packed(out, &s.text, 1);
		fputs("\"}", out);
	}
	bytes_free(&s.text);
	free(s.lines);
	free(s.files);
	return err;
}
