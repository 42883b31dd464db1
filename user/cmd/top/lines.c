/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/lines.h"

#include "output/escape.h"
#include "cmd/top/draw_table.h"
#include "base/text/stream.h"

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
