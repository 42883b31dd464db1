/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report/browser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/top/terminal.h"
#include "output/label.h"
#include "output/text/annotate.h"
#include "output/text/callers.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

#define CTRL_C 3

static void close_trees(struct browser *b)
{
	for (__u32 i = 0; i < b->tree_cnt; i++) {
		free(b->trees[i].nodes);
		free(b->trees[i].open);
	}
	b->tree_cnt = 0;
}

void browser_free(struct browser *b)
{
	close_trees(b);
	free(b->trees);
	free(b->rows);
	view__free(b->view);
	counts__free(b->zoomed);
	top_source__free(b->source);
	*b = (struct browser){ 0 };
}

/* ---- rows --------------------------------------------------------------------------------------- */

static int add_row(struct browser *b, const struct browser_row *row)
{
	if (vec_reserve(b->rows, b->row_cap, b->row_cnt + 1))
		return -ENOMEM;
	b->rows[b->row_cnt++] = *row;
	return 0;
}

static struct browser_tree *tree_of(const struct browser *b, __u32 frame)
{
	for (__u32 i = 0; i < b->tree_cnt; i++)
		if (b->trees[i].frame == frame)
			return &b->trees[i];
	return NULL;
}

/* Puts the children of what is open below it. */
static int add_tree(struct browser *b, const struct browser_tree *t)
{
	int err = 0;

	for (__u32 i = 2; i < t->cnt && !err;) {
		const struct view_node *n = &t->nodes[i];
		const struct browser_row row = {
			.frame = n->frame,
			.tree = (__u32)(t - b->trees),
			.node = i,
			.depth = n->depth - 1,
			.has_more = n->end > i + 1,
			.open = t->open[i],
			.self = n->self,
			.total = n->total,
		};

		err = add_row(b, &row);
		i = t->open[i] ? i + 1 : n->end;
	}
	return err;
}

static bool is_wanted(const struct browser *b, const struct profile_frame *f)
{
	if (b->list == BROWSER_FUNCTIONS && b->file && f->file != b->file)
		return false;
	/* A file's row is the sum of all of its functions. */
	return !*b->filter ||
	       (b->list != BROWSER_FILES && strcasestr(label_name(b->view, f), b->filter)) ||
	       strcasestr(view_file(b->view, f), b->filter);
}

static bool is_listed(const struct browser *b, const struct profile_frame *f)
{
	static const enum frame_kind kinds[BROWSER_LISTS] = {
		[BROWSER_THREADS] = FRAME_THREAD, [BROWSER_PROGRAMS] = FRAME_PROCESS
	};

	if (kinds[b->list])
		return f->kind == kinds[b->list];
	return f->kind != FRAME_PROCESS && f->kind != FRAME_THREAD &&
	       (b->list == BROWSER_FUNCTIONS || f->file);
}

static int compare_rows(const void *x, const void *y, void *ctx)
{
	const struct browser *b = ctx;
	const struct browser_row *p = x, *q = y;
	const struct view_sums m = { p->self, p->total }, n = { q->self, q->total };
	int order = view_sums_compare(
		&m, &n, b->by_total || b->list == BROWSER_THREADS || b->list == BROWSER_PROGRAMS);

	return order ? order :
		       view_frame_compare(b->view, &b->view->frames[p->frame],
					  &b->view->frames[q->frame]);
}

static int compare_files(const void *x, const void *y, void *ctx)
{
	const struct browser *b = ctx;
	const __u32 p = b->view->frames[((const struct browser_row *)x)->frame].file,
		    q = b->view->frames[((const struct browser_row *)y)->frame].file;

	return p < q ? -1 : p > q;
}

/* One row for all functions of a file; what they call is not added up. */
static void merge_files(struct browser *b)
{
	__u32 kept = 0;

	qsort_r(b->rows, b->row_cnt, sizeof(*b->rows), compare_files, b);
	for (__u32 i = 0; i < b->row_cnt; i++) {
		if (kept && !compare_files(&b->rows[kept - 1], &b->rows[i], b))
			b->rows[kept - 1].self += b->rows[i].self;
		else
			b->rows[kept++] = b->rows[i];
		b->rows[kept - 1].total = b->rows[kept - 1].self;
	}
	b->row_cnt = kept;
}

static int add_functions(struct browser *b, struct browser_row *list, __u32 cnt)
{
	int err = 0;

	for (__u32 i = 0; i < cnt && !err; i++) {
		const struct browser_tree *t = tree_of(b, list[i].frame);

		list[i].open = t;
		err = add_row(b, &list[i]);
		if (t && !err)
			err = add_tree(b, t);
	}
	return err;
}

static int make_rows(struct browser *b)
{
	cleanup_free struct browser_row *list = NULL;
	int err = 0;
	__u32 cnt;

	b->row_cnt = 0;
	for (__u32 i = 1; i < b->view->frame_cnt && !err; i++) {
		const struct profile_frame *f = &b->view->frames[i];
		const struct browser_row row = { .frame = i,
						 .self = b->view->sums[i].self,
						 .total = b->view->sums[i].total,
						 .has_more = b->list == BROWSER_FUNCTIONS };

		if (row.total && is_listed(b, f) && is_wanted(b, f))
			err = add_row(b, &row);
	}
	if (err)
		return err;
	if (b->list == BROWSER_FILES)
		merge_files(b);
	qsort_r(b->rows, b->row_cnt, sizeof(*b->rows), compare_rows, b);
	if (b->list == BROWSER_FUNCTIONS && b->tree_cnt) {
		cnt = b->row_cnt;
		list = calloc(cnt + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		memcpy(list, b->rows, cnt * sizeof(*list));
		b->row_cnt = 0;
		err = add_functions(b, list, cnt);
	}
	b->cursor = b->cursor < b->row_cnt ? b->cursor : b->row_cnt ? b->row_cnt - 1 : 0;
	return err;
}

static int show_list(struct browser *b, enum browser_list list)
{
	const struct view_options options = { .processes = list == BROWSER_THREADS ||
							   list == BROWSER_PROGRAMS,
					      .threads = list == BROWSER_THREADS,
					      .ids = list == BROWSER_THREADS,
					      .order = VIEW_BY_COUNT };

	close_trees(b);
	view__free(b->view);
	b->view = NULL;
	b->list = list;
	b->cursor = b->offset = 0;
	*b->filter = '\0';
	if (view__new(&b->view, browser_counts(b), &options))
		return -ENOMEM;
	return make_rows(b);
}

int browser_init(struct browser *b, const struct counts *counts, const char *title)
{
	*b = (struct browser){ .all = counts, .title = title, .page = 1 };
	return show_list(b, BROWSER_FUNCTIONS);
}

/* ---- trees ------------------------------------------------------------------------------------- */

static int open_tree(struct browser *b, __u32 frame)
{
	struct browser_tree t = { .frame = frame };
	int err;

	if (vec_reserve(b->trees, b->tree_cap, b->tree_cnt + 1))
		return -ENOMEM;
	err = callers_of_frame(&t.nodes, &t.cnt, b->view, frame, b->callees);
	if (!err && !(t.open = calloc(t.cnt, sizeof(*t.open))))
		err = -ENOMEM;
	if (err) {
		free(t.nodes);
		return err;
	}
	b->trees[b->tree_cnt++] = t;
	return 0;
}

static void close_tree(struct browser *b, struct browser_tree *t)
{
	free(t->nodes);
	free(t->open);
	*t = b->trees[--b->tree_cnt];
}

static int set_open(struct browser *b, bool open)
{
	struct browser_row *row = b->cursor < b->row_cnt ? &b->rows[b->cursor] : NULL;
	int err = 0;

	if (!row || b->list != BROWSER_FUNCTIONS)
		return 0;
	if (!open && (!row->open || !row->has_more) && row->node) {
		/* To what it belongs to. */
		for (unsigned depth = row->depth; b->cursor && b->rows[b->cursor].depth >= depth;)
			b->cursor--;
		return 0;
	}
	if (row->open == open)
		return 0;
	if (row->node)
		b->trees[row->tree].open[row->node] = open && row->has_more;
	else if (open)
		err = open_tree(b, row->frame);
	else
		close_tree(b, tree_of(b, row->frame));
	return err ? err : make_rows(b);
}

/* ---- zooming ------------------------------------------------------------------------------------ */

static bool is_that(const struct browser *b, const struct profile_frame *f,
		    const struct profile_frame *wanted)
{
	return f->kind == wanted->kind &&
	       (b->list == BROWSER_THREADS ? f->pid == wanted->pid && f->tid == wanted->tid :
					     f->name == wanted->name);
}

/* New counts of what is below such frames. */
static struct counts *counts_below(const struct browser *b, const struct profile_frame *wanted)
{
	const struct counts *c = browser_counts(b);
	const struct dict *dict = c->dict;
	const __u32 cnt = dict__node_cnt(dict);
	cleanup_free bool *inside = calloc((size_t)cnt + 1, sizeof(*inside));
	struct counts *own = inside ? counts__new(c->dict, &c->event) : NULL;

	for (__u32 i = 1; own && i <= cnt; i++) {
		const struct profile_node *n = dict__node_at(dict, i);
		const struct node_count at = counts__at(c, i);

		inside[i] = inside[n->parent] || is_that(b, dict__frame_at(dict, n->frame), wanted);
		if (inside[i] && at.samples)
			counts__add(own, i, at.samples, at.weight);
	}
	if (own) {
		own->from_ns = c->from_ns;
		own->to_ns = c->to_ns;
		own->uneven = c->uneven;
	}
	return own;
}

/* Takes own over; NULL: all. The view belongs to the old counts. */
static int show_counts(struct browser *b, struct counts *own)
{
	view__free(b->view);
	b->view = NULL;
	counts__free(b->zoomed);
	b->zoomed = own;
	return show_list(b, BROWSER_FUNCTIONS);
}

static int zoom(struct browser *b, const struct browser_row *row)
{
	const struct profile_frame *f = &b->view->frames[row->frame];
	struct counts *own;

	if (b->list == BROWSER_FILES) {
		b->file = f->file;
		return show_list(b, BROWSER_FUNCTIONS);
	}
	own = counts_below(b, f);
	if (!own)
		return -ENOMEM;
	snprintf(b->zoom, sizeof(b->zoom), "%s %s",
		 b->list == BROWSER_THREADS ? "thread" : "program", label_name(b->view, f));
	return show_counts(b, own);
}

/* ---- source ------------------------------------------------------------------------------------- */

/* The first line that has most Self, without any most Total, in the listing of the file: what comes before it is a summary. */
static __u32 hottest(const struct top_source *s)
{
	__u32 at = 0, found;
	double most = 0;

	if (s->cnt && !strncmp(s->lines[0], "The hottest", 11))
		while (at < s->cnt && *s->lines[at])
			at++;
	found = at;
	for (; at < s->cnt; at++) {
		const double self = browser_share(s->lines[at], BROWSER_SELF);
		const double heat = self > 0 ? 100 + self :
					       browser_share(s->lines[at], BROWSER_TOTAL);

		if (heat > most) {
			most = heat;
			found = at;
		}
	}
	return found;
}

static int annotate_row(struct browser *b, const struct browser_row *row)
{
	const struct profile_frame *f = &b->view->frames[row->frame];
	const char *file = view_file(b->view, f);
	const struct annotate_options options = { .file = f->file, .source_dir = b->source_dir };
	struct counts *own;
	char *text = NULL;
	size_t size;
	FILE *out;
	int err;

	if (f->kind != FRAME_PYTHON || !*file) {
		snprintf(b->message, sizeof(b->message), "%s has no lines of Python",
			 label_name(b->view, f));
		return 0;
	}
	/* As krait annotate counts. */
	own = waits__new_of_python(browser_counts(b));
	out = open_memstream(&text, &size);
	err = own && out ? annotate(out, own, &options) : -ENOMEM;
	counts__free(own);
	if (out && fclose(out))
		err = -ENOMEM;
	if (err) {
		free(text);
		snprintf(b->message, sizeof(b->message), "%s has no samples with a line", file);
		return err == -ENOMEM ? err : 0;
	}
	b->source = top_source__of_text(text);
	if (!b->source)
		return -ENOMEM;
	b->list_cursor = b->cursor;
	b->list_offset = b->offset;
	b->cursor = hottest(b->source);
	b->offset = b->cursor > b->page / 2 ? b->cursor - b->page / 2 : 0;
	return 0;
}

static void leave_source(struct browser *b)
{
	top_source__free(b->source);
	b->source = NULL;
	b->cursor = b->list_cursor;
	b->offset = b->list_offset;
	*b->filter = '\0';
}

/* The next line with what was typed; from the beginning if there is none below. */
static void search(struct browser *b)
{
	for (__u32 i = 1; *b->filter && i <= b->source->cnt; i++) {
		const __u32 at = (b->cursor + i) % b->source->cnt;

		if (!strcasestr(b->source->lines[at], b->filter))
			continue;
		b->cursor = at;
		return;
	}
	snprintf(b->message, sizeof(b->message), "no line has \"%s\"", b->filter);
}

/* ---- keys --------------------------------------------------------------------------------------- */

static void move(struct browser *b, int key)
{
	const __u32 cnt = b->source ? b->source->cnt : b->row_cnt, last = cnt ? cnt - 1 : 0;

	switch (key) {
	case KEY_OF_UP:
	case 'k':
		b->cursor -= b->cursor > 0;
		break;
	case KEY_OF_DOWN:
	case 'j':
		b->cursor++;
		break;
	case KEY_OF_PAGE_UP:
		b->cursor -= b->cursor < b->page ? b->cursor : b->page;
		break;
	case KEY_OF_PAGE_DOWN:
		b->cursor += b->page;
		break;
	case KEY_OF_HOME:
		b->cursor = 0;
		break;
	case KEY_OF_END:
		b->cursor = last;
		break;
	default:
		break;
	}
	b->cursor = b->cursor < last ? b->cursor : last;
}

/* One step back. */
static int back(struct browser *b)
{
	if (b->source) {
		leave_source(b);
		return 0;
	}
	if (*b->filter) {
		*b->filter = '\0';
		return make_rows(b);
	}
	if (b->list != BROWSER_FUNCTIONS)
		return show_list(b, BROWSER_FUNCTIONS);
	if (b->file) {
		b->file = 0;
		return show_list(b, BROWSER_FUNCTIONS);
	}
	return b->zoomed ? show_counts(b, NULL) : 0;
}

static int type(struct browser *b, int key)
{
	size_t len = strlen(b->filter);

	if (key == KEY_OF_ENTER) {
		b->typing = false;
		if (b->source)
			search(b);
		return 0;
	}
	if (key == KEY_OF_ESCAPE || (key == KEY_OF_BACK && !len)) {
		b->typing = false;
		*b->filter = '\0';
	} else if (key == KEY_OF_BACK) {
		/* A whole character. */
		while (len && (b->filter[len - 1] & 0xc0) == 0x80)
			len--;
		b->filter[len ? len - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 0x100 && len + 1 < sizeof(b->filter)) {
		b->filter[len] = (char)key;
		b->filter[len + 1] = '\0';
	}
	return b->source ? 0 : make_rows(b);
}

static int enter(struct browser *b)
{
	const struct browser_row *row = b->cursor < b->row_cnt ? &b->rows[b->cursor] : NULL;

	if (b->source || !row)
		return 0;
	return b->list == BROWSER_FUNCTIONS ? annotate_row(b, row) : zoom(b, row);
}

static int choose(struct browser *b, int key)
{
	if (b->source)
		leave_source(b);
	return show_list(b, key == 't' ? BROWSER_THREADS :
			    key == 'p' ? BROWSER_PROGRAMS :
					 BROWSER_FILES);
}

static int act(struct browser *b, int key)
{
	switch (key) {
	case KEY_OF_ENTER:
	case 'a':
		return enter(b);
	case KEY_OF_RIGHT:
	case '+':
		return b->source ? 0 : set_open(b, true);
	case KEY_OF_LEFT:
	case '-':
		return b->source ? back(b) : set_open(b, false);
	case KEY_OF_ESCAPE:
	case KEY_OF_BACK:
		return back(b);
	case 't':
	case 'p':
	case 'd':
		return choose(b, key);
	case 'c':
		b->callees = !b->callees;
		close_trees(b);
		return b->source ? 0 : make_rows(b);
	case 's':
		b->by_total = !b->by_total;
		return b->source ? 0 : make_rows(b);
	case '/':
		b->typing = true;
		*b->filter = '\0';
		return b->source ? 0 : make_rows(b);
	case 'n':
		if (b->source)
			search(b);
		return 0;
	case '?':
	case 'h':
	case KEY_OF_F1:
		b->help = true;
		return 0;
	default:
		move(b, key);
		return 0;
	}
}

bool browser_key(struct browser *b, int key)
{
	*b->message = '\0';
	if (key == CTRL_C)
		return false;
	if (b->help) {
		b->help = false;
		return true;
	}
	if (!b->typing && (key == 'q' || key == KEY_OF_F10))
		return false;
	if (b->typing ? type(b, key) : act(b, key))
		snprintf(b->message, sizeof(b->message), "out of memory");
	/* Without a view there is nothing to show any more. */
	return b->view;
}
