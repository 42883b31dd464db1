/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/lines.h"

#include "output/escape.h"
#include "cmd/top/draw_table.h"
#include "base/text/stream.h"
#include "profile/frames.h"
#include "cmd/top/text.h"

/* The target's names can have any length: a function's and a file's, with the numbers. */
#define WIDEST (2 * SHOWN_COLUMNS + 80)

int lines_print(FILE *out, const struct model *m, const struct top_status *status,
		const struct lines_options *options)
{
	__u32 rows = options->limit && options->limit < m->order.cnt ? options->limit :
								       m->order.cnt;
	unsigned lines = DRAW_HEAD_LINES + 1 + rows;
	const struct draw_table table = {
		.model = m,
		.rows = m->rows,
		.order = &m->order,
		.cursor = NO_CURSOR,
		.shares = options->shares,
		.plain = true,
	};
	struct screen s;
	int err =
		screen_init(&s, lines, options->columns ? options->columns : WIDEST, options->utf8);

	if (err)
		return err;
	draw_head(&s, m, status);
	draw_table(&s, DRAW_HEAD_LINES, lines, &table);
	for (unsigned y = 0; y < lines; y++)
		screen_print_row(&s, y, out);
	putc('\n', out);
	screen_free(&s);
	return stream_finish(out);
}

static void put_row(struct json *j, const struct model *m, const struct row *row)
{
	const struct dict *d = m->session->dict;
	const struct row_key *key = &row->key;
	const unsigned measures = m->options.measures;
	const struct row_sums now = row_now(m->rows, row);
	char name[1024];

	row_name(name, sizeof(name), d, m->rows->spec.view, key);
	json_open_object(j);
	json_put_string(j, "name", name);
	if (key->file)
		json_put_string(j, "file", dict__text(d, key->file));
	if (key->file && (key->line > 0 || key->first_line > 0))
		json_put_number(j, "line", key->line > 0 ? key->line : key->first_line);
	json_put_string(j, "kind", frame_kind_name(key->kind));
	if (key->pid)
		json_put_number(j, "pid", key->pid);
	if (key->tid)
		json_put_number(j, "tid", key->tid);
	json_put_number(j, "self_ns", (__s64)sum_of(now.self, measures));
	json_put_number(j, "total_ns", (__s64)sum_of(now.total, measures));
	json_put_number(j, "self_all_ns", (__s64)sum_of(row->all.self, measures));
	json_put_number(j, "total_all_ns", (__s64)sum_of(row->all.total, measures));
	json_close_object(j);
}

void lines_put_json(struct json *j, const struct model *m, const struct top_status *status,
		    unsigned limit)
{
	const struct round *last = samples__round(m->samples, 0);

	json_put_string(j, "view", view_title(m->rows->spec.view));
	json_put_string(j, "clock", status->clock);
	json_put_number(j, "round_ns", last ? (__s64)(last->to_ns - last->from_ns) : 0);
	json_put_number(j, "hz", (__s64)status->frequency);
	json_put_number(j, "processes", status->processes);
	json_put_number(j, "cpus", status->cpus);
	json_put_number(j, "interrupts", (__s64)status->interrupts);
	json_put_number(j, "lost", (__s64)status->lost);
	json_put_array(j, "rows");
	for (__u32 i = 0; i < m->order.cnt && (!limit || i < limit); i++)
		put_row(j, m, &m->rows->list[m->order.list[i]]);
	json_close_array(j);
}
