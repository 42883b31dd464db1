/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotate.c - counts samples by (file, line) from a view by lines, then prints the hottest files
 * first.
 */
#include "output/text/annotate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "output/text/annotate_spots.h"
#include "output/escape.h"
#include "output/source_lookup.h"
#include "profile/sources.h"
#include "output/text/text_report.h"
#include "profile/marks.h"
#include "profile/spots.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/text/short_path.h"
#include "base/text/stream.h"

/* A line with a larger share is red; with more than a tenth of it, yellow. */
#define HOT_PERCENT 10.0
#define MAX_SOURCE_LINES 1000000
/* Of more lines the hottest come first, so many of them. */
#define HOT_LINES 10
/* Marks and others that the last line names, and the least share of one. */
#define OTHERS_MAX 4
#define OTHER_PERCENT 0.5

struct line_count {
	__u32 file; /* string id */
	int line;
	__u32 frame; /* of the view: one of those at this line */
	__u32 covered; /* nodes before this one are descendants of a node of this line */
	__u64 self, total;
};

struct file_count {
	__u32 file, first, cnt; /* of lines */
	__u64 self;
};

/* A function whose code has no lines. */
struct bare_count {
	const char *name, *file;
	struct view_sums sums;
};

struct annotation {
	FILE *out;
	const struct counts *counts;
	const struct annotate_options *options;
	struct spots spots; /* spots within the lines */
	struct line_count *lines;
	struct file_count *files;
	struct bare_count *bare, *marks; /* marks: in which samples end */
	__u32 line_cnt, file_cnt, bare_cnt, mark_cnt;
	double all; /* samples */
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* Returns the length of "f" in "f<g<int>>". */
static size_t without_arguments(const char *name, size_t len)
{
	unsigned depth = 0;

	for (size_t i = len; i-- > 0;) {
		if (name[i] == '>')
			depth++;
		else if (name[i] == '<' && !--depth)
			return i;
	}
	return len;
}

/* Matches the name or the end of it: "Cart.total" and "ns::total (inlined)" both match "total". */
static bool is_called(const char *name, const char *what)
{
	size_t n = strlen(name), m = strlen(what), suffix = strlen(NAME_INLINED);

	if (n > suffix && !strcmp(name + n - suffix, NAME_INLINED))
		n -= suffix;
	if (n && name[n - 1] == '>' && m && what[m - 1] != '>')
		n = without_arguments(name, n);
	if (n < m || memcmp(name + n - m, what, m) != 0)
		return false;
	return n == m || name[n - m - 1] == '.' ||
	       (n > m + 1 && !memcmp(name + n - m - 2, "::", 2));
}

/* Not the hottest files, but something of the caller's choice. */
static bool is_chosen(const struct annotation *a)
{
	return a->options->what || a->options->file;
}

static bool is_wanted(const struct annotation *a, const struct view *v,
		      const struct profile_frame *f)
{
	const char *what = a->options->what;
	const char *name = view_name(v, f);

	if (f->kind != FRAME_PYTHON && f->kind != FRAME_NATIVE)
		return false;
	if (a->options->file)
		return f->file == a->options->file;
	return !what || ends_with(view_file(v, f), what) || is_called(name, what);
}

static int compare_lines(const void *x, const void *y)
{
	const struct line_count *a = x, *b = y;

	return compare_numbers(a->file, b->file) ?: compare_numbers(a->line, b->line);
}

static int compare_files(const void *x, const void *y)
{
	const struct file_count *a = x, *b = y;

	return compare_numbers(b->self, a->self) ?: compare_numbers(a->file, b->file);
}

static int compare_bare(const void *x, const void *y)
{
	const struct bare_count *a = x, *b = y;
	int order = view_sums_compare(&a->sums, &b->sums, false);

	return order ? order : strcmp(a->name, b->name);
}

/* Makes one entry per line, even if several functions share it (a lambda, a comprehension). */
static void merge_lines(struct annotation *a, __u32 *line_of)
{
	__u32 cnt = 0;

	qsort(a->lines, a->line_cnt, sizeof(*a->lines), compare_lines);
	for (__u32 i = 0; i < a->line_cnt; i++) {
		if (!cnt || compare_lines(&a->lines[cnt - 1], &a->lines[i]))
			a->lines[cnt++] = a->lines[i];
		line_of[a->lines[i].frame] = cnt; /* number, from 1 */
	}
	a->line_cnt = cnt;
}

/* A sample counts once per line, however often the line is on its stack: at the outermost node. */
static void count_nodes(struct annotation *a, const struct view *v, const __u32 *line_of)
{
	for (__u32 i = 1; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		__u32 number = line_of[n->frame];
		struct line_count *line;

		if (!number)
			continue;
		line = &a->lines[number - 1];
		line->self += n->self;
		if (i < line->covered)
			continue;
		line->total += n->total;
		line->covered = n->end;
	}
}

static void count_files(struct annotation *a)
{
	for (__u32 i = 0; i < a->line_cnt; i++) {
		if (!a->file_cnt || a->files[a->file_cnt - 1].file != a->lines[i].file)
			a->files[a->file_cnt++] =
				(struct file_count){ .file = a->lines[i].file, .first = i };
		a->files[a->file_cnt - 1].cnt++;
		a->files[a->file_cnt - 1].self += a->lines[i].self;
	}
	qsort(a->files, a->file_cnt, sizeof(*a->files), compare_files);
}

static int count_lines(struct annotation *a)
{
	const struct view_options options = { .lines = true,
					      .sources = true,
					      .order = VIEW_BY_NAME };
	cleanup_view struct view *v = NULL;
	cleanup_free __u32 *line_of = NULL;
	int err = view__new(&v, a->counts, &options);

	if (err)
		return err;
	a->lines = calloc(v->frame_cnt, sizeof(*a->lines));
	a->files = calloc(v->frame_cnt, sizeof(*a->files));
	a->bare = calloc(v->frame_cnt, sizeof(*a->bare));
	a->marks = calloc(v->frame_cnt, sizeof(*a->marks));
	line_of = calloc(v->frame_cnt, sizeof(*line_of));
	if (!a->lines || !a->files || !a->bare || !a->marks || !line_of)
		return -ENOMEM;
	a->all = v->nodes[0].total ? (double)v->nodes[0].total : 1;
	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];

		if (f->kind == FRAME_MARK && v->sums[i].self)
			a->marks[a->mark_cnt++] =
				(struct bare_count){ view_name(v, f), "", v->sums[i] };
		if (!v->sums[i].total || !is_wanted(a, v, f))
			continue;
		if (f->line <= 0 || !f->file)
			a->bare[a->bare_cnt++] =
				(struct bare_count){ view_name(v, f), view_file(v, f), v->sums[i] };
		else
			a->lines[a->line_cnt++] =
				(struct line_count){ .file = f->file, .line = f->line, .frame = i };
	}
	merge_lines(a, line_of);
	count_nodes(a, v, line_of);
	count_files(a);
	qsort(a->bare, a->bare_cnt, sizeof(*a->bare), compare_bare);
	qsort(a->marks, a->mark_cnt, sizeof(*a->marks), compare_bare);
	return 0;
}

/* ---- source ----------------------------------------------------------------------------------- */

static void expand_tabs(const char *text, char *ret, size_t size)
{
	size_t at = 0;

	for (; *text && at + 9 < size; text++) {
		if (*text != '\t') {
			ret[at++] = *text;
			continue;
		}
		do
			ret[at++] = ' ';
		while (at % 8);
	}
	ret[at] = '\0';
}

static bool is_time(const struct annotation *a)
{
	return a->counts->uneven && event_is_time(&a->counts->event);
}

/*
 * Returns the line with its own spots. A line without samples gets those of its instructions, which
 * have no samples either.
 */
static struct annotated_line within(const struct annotation *a, __u32 file, int number,
				    const char *text, const struct line_count *count)
{
	struct annotated_line l = { .text = text, .all = a->all, .is_time = is_time(a) };

	l.spots = spots_of_line(&a->spots, file, number, &l.spot_cnt);
	l.total = count ? count->total : 0;
	return l;
}

/* Instructions are those of the function that was asked for: lines around it are other ones'. */
static int put_instructions(const struct annotation *a, const struct annotated_line *l)
{
	const char *what = a->options->what;
	cleanup_free struct spot *mine = calloc((size_t)l->spot_cnt + 1, sizeof(*mine));
	struct annotated_line own = *l;

	if (!mine)
		return -ENOMEM;
	own.spots = mine;
	own.spot_cnt = 0;
	for (__u32 i = 0; i < l->spot_cnt; i++) {
		const struct spot *s = &l->spots[i];

		if (!what || ends_with(dict__text(a->counts->dict, s->file), what) ||
		    is_called(dict__text(a->counts->dict, s->name), what))
			mine[own.spot_cnt++] = *s;
	}
	return annotate_put_instructions(a->out, &own, a->options->color);
}

/* Prints what belongs below a line. */
static int put_within(const struct annotation *a, const struct annotated_line *l)
{
	int err = 0;

	if (a->options->columns)
		err = annotate_put_columns(a->out, l);
	if (!err && a->options->instructions)
		err = put_instructions(a, l);
	return err;
}

static int put_line(const struct annotation *a, __u32 file, int number, const char *text,
		    const struct line_count *count)
{
	const struct annotated_line l = within(a, file, number, text, count);
	double self = count ? 100 * (double)count->self / a->all : 0;
	const char *heat = self >= HOT_PERCENT ? "\x1b[31m" : self > 0 ? "\x1b[33m" : "";
	char line[4096];
	int err;

	expand_tabs(text, line, sizeof(line));
	if (a->options->color && *heat)
		fputs(heat, a->out);
	annotate_put_amount(a->out, self, count ? count->self : 0, is_time(a));
	if (a->options->color && *heat)
		fputs("\x1b[0m", a->out);
	if (count)
		fprintf(a->out, " %6.2f%%", 100 * (double)count->total / a->all);
	else
		fprintf(a->out, " %7s", "");
	fprintf(a->out, " %6d  ", number);
	err = put_printable(a->out, line);
	putc('\n', a->out);
	return err ? err : put_within(a, &l);
}

static bool is_worth(const struct annotation *a, const struct line_count *line)
{
	return 100 * (double)line->total / a->all >= a->options->min_percent;
}

/* Tells whether a line is near enough to one worth showing. Counts are sorted; *at advances. */
static bool is_near(const struct annotation *a, const struct file_count *f, int number, __u32 at)
{
	const struct line_count *lines = &a->lines[f->first];
	int context = (int)a->options->context;

	if (!context)
		return true;
	for (__u32 i = at; i < f->cnt && lines[i].line - number <= context; i++) {
		if (is_worth(a, &lines[i]))
			return true;
	}
	for (__u32 i = at; i-- > 0 && number - lines[i].line <= context;) {
		if (is_worth(a, &lines[i]))
			return true;
	}
	return false;
}

/* Marks left-out lines. */
static void put_gap(const struct annotation *a)
{
	fprintf(a->out, "%32s  ...\n", "");
}

/* Copies the next line, cut to the size. Returns NULL at the end. */
static const char *take_line(const char *at, char *line, size_t size)
{
	size_t len = strcspn(at, "\n"), keep = len < size - 1 ? len : size - 1;

	if (!*at)
		return NULL;
	memcpy(line, at, keep);
	while (keep && line[keep - 1] == '\r')
		keep--;
	line[keep] = '\0';
	return at + len + (at[len] == '\n');
}

static int put_source(const struct annotation *a, const struct file_count *f, const char *text)
{
	char line[4096];
	__u32 at = 0;
	bool gap = false;
	int err = 0;

	for (int number = 1; !err && number < MAX_SOURCE_LINES; number++) {
		const struct line_count *count = &a->lines[f->first + at];
		bool hit = at < f->cnt && count->line == number;

		text = take_line(text, line, sizeof(line));
		if (!text)
			break;
		if (!is_near(a, f, number, at)) {
			gap = true;
			at += hit;
			continue;
		}
		if (gap)
			put_gap(a);
		gap = false;
		err = put_line(a, f->file, number, line, hit ? count : NULL);
		at += hit;
	}
	/* The file is shorter than when it was recorded: the remaining lines have no text. */
	for (; at < f->cnt && !err; at++)
		err = put_line(a, f->file, a->lines[f->first + at].line,
			       "(beyond the end of the file)", &a->lines[f->first + at]);
	return err;
}

/*
 * For a missing file, prints the lines with samples and, if instructions are shown, the lines whose
 * instructions have none.
 */
static int put_lines(const struct annotation *a, const struct file_count *f)
{
	const struct spot *spots = a->spots.list;
	__u32 at = 0, i = 0, end = a->options->instructions ? a->spots.cnt : 0;
	int err = 0;

	while (i < end && (spots[i].file != f->file || spots[i].line <= 0))
		i++;
	while (!err && (at < f->cnt || (i < end && spots[i].file == f->file))) {
		const struct line_count *count = &a->lines[f->first + at];
		int counted = at < f->cnt ? count->line : INT_MAX;
		int listed = i < end && spots[i].file == f->file ? spots[i].line : INT_MAX;
		int number = counted < listed ? counted : listed;

		if (counted != number || is_worth(a, count))
			err = put_line(a, f->file, number, "", counted == number ? count : NULL);
		at += counted == number;
		while (i < end && spots[i].file == f->file && spots[i].line <= number)
			i++;
	}
	return err;
}

static const char *amount_title(const struct annotation *a)
{
	return is_time(a) ? "Time" : a->counts->uneven ? "Events" : "Samples";
}

/* ---- the hottest lines ------------------------------------------------------------------------ */

static int compare_heat(const void *x, const void *y)
{
	const struct line_count *a = *(const struct line_count *const *)x,
				*b = *(const struct line_count *const *)y;

	return compare_numbers(b->self, a->self)	   ?:
		       compare_numbers(b->total, a->total) ?:
							     compare_numbers(a, b);
}

/* The text of a line without its indentation; empty if it may not be shown. */
static int read_line(const struct annotation *a, const struct line_count *l, char *ret, size_t size)
{
	cleanup_free char *source = NULL;
	const char *at;
	int err = source_lookup(&source, NULL, a->counts->dict, l->file, a->options->source_dir,
				false);

	*ret = '\0';
	if (err == -ENOMEM || !source)
		return err == -ENOMEM ? err : 0;
	at = source;
	for (int number = 1; at && number <= l->line; number++)
		at = take_line(at, ret, size);
	if (!at)
		*ret = '\0';
	at = ret + strspn(ret, " \t");
	memmove(ret, at, strlen(at) + 1);
	return 0;
}

static int put_hot_line(const struct annotation *a, const struct line_count *l)
{
	const double self = 100 * (double)l->self / a->all;
	const bool red = a->options->color && self >= HOT_PERCENT;
	char text[256], place[SHORT_FILE_SIZE + 16], path[SHORT_FILE_SIZE];
	int err = read_line(a, l, text, sizeof(text));

	if (err)
		return err;
	fputs(red ? "\x1b[31m" : "", a->out);
	annotate_put_amount(a->out, self, l->self, is_time(a));
	fprintf(a->out, "%s %6.2f%%  ", red ? "\x1b[0m" : "", 100 * (double)l->total / a->all);
	snprintf(place, sizeof(place), "%s:%d",
		 short_file(path, dict__text(a->counts->dict, l->file)), l->line);
	err = put_printable(a->out, place);
	fputs(*text ? "  " : "", a->out);
	if (!err)
		err = put_printable(a->out, text);
	putc('\n', a->out);
	return err;
}

/* Who reads from the top shall not have to look for the line that matters. */
static int put_hottest(const struct annotation *a)
{
	cleanup_free const struct line_count **hot = calloc((size_t)a->line_cnt + 1, sizeof(*hot));
	__u32 cnt = 0;
	int err = 0;

	if (!hot)
		return -ENOMEM;
	for (__u32 i = 0; i < a->line_cnt; i++) {
		if (a->lines[i].self)
			hot[cnt++] = &a->lines[i];
	}
	if (cnt <= HOT_LINES)
		return 0;
	qsort(hot, cnt, sizeof(*hot), compare_heat);
	fprintf(a->out, "The hottest lines\n   Self %8s   Total  Line\n", amount_title(a));
	for (__u32 i = 0; i < HOT_LINES && !err; i++)
		err = put_hot_line(a, hot[i]);
	putc('\n', a->out);
	return err;
}

/* ---- files ------------------------------------------------------------------------------------ */

static int put_file(const struct annotation *a, const struct file_count *f)
{
	const char *path = dict__text(a->counts->dict, f->file);
	cleanup_free char *source = NULL;
	double percent = 100 * (double)f->self / a->all;
	char amount[24];
	bool kept;
	int err, missing = source_lookup(&source, &kept, a->counts->dict, f->file,
					 a->options->source_dir, false);

	if (missing == -ENOMEM)
		return missing;

	err = put_shown(a->out, path);
	if (is_time(a)) {
		report_time(amount, (double)f->self);
		fprintf(a->out, ": %s, %.1f%%\n", amount, percent);
	} else {
		fprintf(a->out, ": %llu %s, %.1f%%\n", f->self, counts__share_unit(a->counts),
			percent);
	}
	fprintf(a->out, "   Self %8s   Total   Line  %s\n", amount_title(a),
		source_lookup_say(missing, kept));
	if (source && !err)
		err = put_source(a, f, source);
	if (!source && !err)
		err = put_lines(a, f);
	putc('\n', a->out);
	return err;
}

/* ---- functions without lines -------------------------------------------------------------------- */

static int put_bare(const struct annotation *a)
{
	int err = 0;

	fprintf(a->out,
		"Without lines: Python code that was compiled without a line table, or C "
		"without debug information\n   Self %8s   Total         Function\n",
		amount_title(a));
	for (__u32 i = 0; i < a->bare_cnt && !err; i++) {
		const struct bare_count *b = &a->bare[i];

		annotate_put_amount(a->out, 100 * (double)b->sums.self / a->all, b->sums.self,
				    is_time(a));
		fprintf(a->out, " %6.2f%%         ", 100 * (double)b->sums.total / a->all);
		err = put_shown(a->out, b->name);
		fputs(*b->file ? "  " : "", a->out);
		if (!err)
			err = put_shown(a->out, b->file);
		putc('\n', a->out);
	}
	return err;
}

/* ---- what is not shown ------------------------------------------------------------------------ */

/* Starts the next part of the line if it has a share. */
static bool put_share(const struct annotation *a, const char **separator, __u64 units)
{
	const double percent = 100 * (double)units / a->all;

	if (percent < OTHER_PERCENT)
		return false;
	fprintf(a->out, "%s%.1f%% ", *separator, percent);
	*separator = ", ";
	return true;
}

/*
 * The last line: where the rest of the time is. shown: the first files, which have been printed.
 * Threads of native code that work for a line are not the line's, unless it was charged with them.
 */
static int put_rest(const struct annotation *a, __u32 shown)
{
	const char *separator = "Not shown: ";
	__u64 rest = (__u64)a->all, files = 0, bare = 0;
	bool native = false;
	int err = 0;

	for (__u32 i = 0; i < a->file_cnt; i++) {
		rest -= a->files[i].self;
		files += i < shown ? 0 : a->files[i].self;
	}
	for (__u32 i = 0; i < a->bare_cnt; i++)
		bare += a->bare[i].sums.self;
	rest -= bare;
	if (put_share(a, &separator, files))
		fprintf(a->out, "in %u more file%s (-n)", a->file_cnt - shown,
			a->file_cnt - shown == 1 ? "" : "s");
	for (__u32 i = 0; i < a->mark_cnt; i++) {
		rest -= a->marks[i].sums.self;
		if (i < OTHERS_MAX && !err && put_share(a, &separator, a->marks[i].sums.self))
			err = put_shown(a->out, a->marks[i].name);
		native |= !strcmp(a->marks[i].name, mark_of(REASON_NATIVE_THREAD));
	}
	/* With a name, these have been listed. */
	if (!is_chosen(a) && put_share(a, &separator, bare))
		fputs("in functions without lines (krait report names them)", a->out);
	if (put_share(a, &separator, rest))
		fputs(is_chosen(a) ? "in other functions" : "elsewhere", a->out);
	if (*separator == ',')
		fputs(native && !a->options->charged ?
			      " (--charge-waiters counts native threads for the lines that wait for them)\n" :
			      "\n",
		      a->out);
	return err;
}

static void forget(struct annotation *a)
{
	free(a->lines);
	free(a->files);
	free(a->bare);
	free(a->marks);
}

int annotate_find(const struct counts *c, const struct annotate_options *o, const char **ret_file,
		  int *ret_line)
{
	struct annotation a = { .counts = c, .options = o };
	const struct line_count *hottest = NULL;
	int err = count_lines(&a);

	if (!err && !a.file_cnt)
		err = a.bare_cnt ? -ENOMSG : -ENOENT;
	for (__u32 i = 0; !err && i < a.files[0].cnt; i++) {
		const struct line_count *line = &a.lines[a.files[0].first + i];

		if (!hottest || line->self > hottest->self)
			hottest = line;
	}
	if (hottest) {
		*ret_file = dict__text(c->dict, hottest->file);
		*ret_line = hottest->line;
	}
	forget(&a);
	return err;
}

int annotate(FILE *out, const struct counts *c, const struct annotate_options *o)
{
	struct annotation a = { .out = out, .counts = c, .options = o };
	__u32 shown;
	int err = count_lines(&a);

	if (!err)
		err = spots_make(&a.spots, c);
	if (!err && o->instructions && !a.spots.has_opcodes)
		err = -ENODATA;
	shown = !is_chosen(&a) && o->limit && o->limit < a.file_cnt ? o->limit : a.file_cnt;
	if (!err && !a.file_cnt && !(is_chosen(&a) && a.bare_cnt))
		err = a.bare_cnt ? -ENOMSG : -ENOENT;
	if (!err)
		err = put_hottest(&a);
	for (__u32 i = 0; i < shown && !err; i++)
		err = put_file(&a, &a.files[i]);
	if (!err && is_chosen(&a) && a.bare_cnt)
		err = put_bare(&a);
	if (!err)
		err = put_rest(&a, shown);
	spots_free(&a.spots);
	forget(&a);
	if (!err)
		err = stream_finish(out);
	return err;
}
