/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/page/html_instructions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/opcodes.h"
#include "profile/spots.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/text/json.h"
#include "base/data/search.h"

struct row {
	__u32 frame; /* of the view */
	int column, end_column;
	__u16 opcode;
	__u64 self;
};

/* Compares places as spots know them: without columns. */
static int compare_places(const struct profile_frame *a, const struct profile_frame *b)
{
	int c = compare_numbers((int)a->name, (int)b->name);

	if (!c)
		c = compare_numbers((int)a->file, (int)b->file);
	if (!c)
		c = compare_numbers(a->first_line, b->first_line);
	return c ? c : compare_numbers(a->line, b->line);
}

static int compare_frames(const void *x, const void *y, void *ctx)
{
	const struct view *v = ctx;

	return compare_places(&v->frames[*(const __u32 *)x], &v->frames[*(const __u32 *)y]);
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return compare_numbers(a->frame, b->frame)		     ?:
		       compare_numbers(a->column, b->column)	     ?:
		       compare_numbers(a->end_column, b->end_column) ?:
		       compare_numbers(a->opcode, b->opcode);
}

/* Returns the view's frame of a spot; 0: none. sorted: Python's frames by place. */
static __u32 frame_of(const struct view *v, const __u32 *sorted, __u32 cnt, const struct spot *s)
{
	const struct profile_frame key = {
		.name = s->name, .file = s->file, .first_line = s->first_line, .line = s->line
	};
	const size_t at = sorted_below(cnt, i, compare_places(&v->frames[sorted[i]], &key) < 0);

	return at < cnt && !compare_places(&v->frames[sorted[at]], &key) ? sorted[at] : 0;
}

/* Merges instructions of one opcode at one place into one row. */
static __u32 merge_rows(struct row *rows, __u32 cnt)
{
	__u32 kept = 0;

	qsort(rows, cnt, sizeof(*rows), compare_rows);
	for (__u32 i = 0; i < cnt; i++) {
		if (kept && !compare_rows(&rows[kept - 1], &rows[i]))
			rows[kept - 1].self += rows[i].self;
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

static int make_rows(struct row *rows, __u32 *ret_cnt, const struct spots *s, const struct view *v)
{
	cleanup_free __u32 *sorted = calloc(v->frame_cnt, sizeof(*sorted));
	__u32 frames = 0, cnt = 0;

	if (!sorted)
		return -ENOMEM;
	for (__u32 i = 1; i < v->frame_cnt; i++)
		if (v->frames[i].kind == FRAME_PYTHON)
			sorted[frames++] = i;
	qsort_r(sorted, frames, sizeof(*sorted), compare_frames, (void *)v);
	for (__u32 i = 0; i < s->cnt; i++) {
		const struct spot *spot = &s->list[i];
		__u32 frame = spot->self || spot->opcode ? frame_of(v, sorted, frames, spot) : 0;

		if (frame && (spot->column >= 0 || spot->opcode))
			rows[cnt++] = (struct row){ frame, spot->column, spot->end_column,
						    spot->opcode, spot->self };
	}
	*ret_cnt = merge_rows(rows, cnt);
	return 0;
}

/* index: by opcode, its position in the list; -1: not listed. */
static int put_opcodes(FILE *out, const struct row *rows, __u32 cnt, int *index)
{
	__u16 list[OPCODE_LIMIT];
	char buf[OPCODE_NAME_SIZE];
	int listed = 0, err = 0;

	memset(index, 0xff, OPCODE_LIMIT * sizeof(*index));
	for (__u32 i = 0; i < cnt; i++) {
		if (!rows[i].opcode || index[rows[i].opcode] >= 0)
			continue;
		index[rows[i].opcode] = listed;
		list[listed++] = rows[i].opcode;
	}
	fputs("\"opcodes\":[", out);
	for (int i = 0; i < listed && !err; i++) {
		fputs(i ? "," : "", out);
		err = json_put_text(out, opcode_name(list[i], buf));
	}
	fputs("],\"opcodeForms\":[", out);
	for (int i = 0; i < listed && !err; i++) {
		fputs(i ? "," : "", out);
		err = json_put_text(out, opcode_form_name(opcode_form(list[i])));
	}
	fputs("],\n", out);
	return err;
}

int html_put_instructions(FILE *out, const struct counts *c, const struct view *v)
{
	cleanup_free int *index = calloc(OPCODE_LIMIT, sizeof(*index));
	cleanup_spots struct spots s = { 0 };
	cleanup_free struct row *rows = NULL;
	__u32 cnt = 0;
	int err = spots_make(&s, c);

	if (err || !index)
		return -ENOMEM;
	rows = calloc((size_t)s.cnt + 1, sizeof(*rows));
	err = rows ? make_rows(rows, &cnt, &s, v) : -ENOMEM;
	if (!err)
		err = put_opcodes(out, rows, cnt, index);
	if (err)
		return err;
	fputs("\"instructions\":[", out);
	for (__u32 i = 0; i < cnt; i++)
		fprintf(out, "%s%u,%d,%d,%d,%llu%s", i ? "," : "", rows[i].frame, rows[i].column,
			rows[i].end_column, rows[i].opcode ? index[rows[i].opcode] : -1,
			(unsigned long long)rows[i].self, i % 16 == 15 ? "\n" : "");
	fputs("],\n", out);
	return 0;
}
