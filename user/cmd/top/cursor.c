/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/cursor.h"

#include "cmd/top/source.h"

const struct rows *ui_rows(const struct ui *ui)
{
	return ui->callees && ui->model->callees ? ui->model->callees : ui->model->rows;
}

/* The rows to choose from, in their order. */
static const struct order *order_of(const struct ui *ui)
{
	return ui->callees && ui->model->callees ? &ui->model->order_callees : &ui->model->order;
}

bool ui_is_source(const struct ui *ui)
{
	return ui->model->rows->spec.view == ROWS_SOURCE;
}

static bool has_text(const struct ui *ui)
{
	return ui_is_source(ui) && ui->model->source && ui->model->source->cnt;
}

__u32 ui_line_cnt(const struct ui *ui)
{
	return has_text(ui) ? ui->model->source->cnt : order_of(ui)->cnt;
}

__u32 ui_row(const struct ui *ui)
{
	const struct order *o = order_of(ui);

	return !has_text(ui) && ui->cursor < o->cnt ? o->list[ui->cursor] : 0;
}

/* From now on the cursor follows its row; only the first line means "stay at the top". */
void ui_move_to(struct ui *ui, long line)
{
	long last = (long)ui_line_cnt(ui) - 1;
	struct place_of_top *place = model_place(ui->model);
	__u32 row;

	line = line > last ? last : line;
	ui->cursor = line > 0 ? (__u32)line : 0;
	ui->moved = ui->cursor > 0;
	row = ui_row(ui);
	place->cursor = ui->moved && row ? ui_rows(ui)->list[row].key : (struct row_key){ 0 };
}

static void follow_row(struct ui *ui)
{
	const struct order *o = order_of(ui);
	const struct row_key *key = &model_place(ui->model)->cursor;
	__u32 row;

	if (!ui->moved) {
		ui->cursor = 0;
		return;
	}
	row = key->name || key->file ? rows__find(ui_rows(ui), key) : 0;
	for (__u32 i = 0; row && i < o->cnt; i++) {
		if (o->list[i] == row) {
			ui->cursor = i;
			return;
		}
	}
}

/* Goes to the most expensive line, or if there is none, to the function's beginning. */
static void go_to_hottest(struct ui *ui)
{
	const struct model *m = ui->model;
	const struct order *o = &m->order;
	int line = m->rows->spec.focus.line;

	ui->anew = false;
	if (!has_text(ui))
		return;
	if (line <= 0)
		line = m->rows->spec.focus.first_line;
	if (line <= 0 && o->cnt)
		line = m->rows->list[o->list[0]].key.line;
	ui_move_to(ui, line - 1);
	/* What leads there is above. */
	ui->offset = ui->cursor > ui->page / 3 ? ui->cursor - ui->page / 3 : 0;
}

void ui_settle(struct ui *ui, unsigned page)
{
	__u32 cnt = ui_line_cnt(ui);

	ui->page = page ? page : 1;
	if (!ui->model->callees)
		ui->callees = false;
	if (ui->anew)
		go_to_hottest(ui);
	if (!has_text(ui))
		follow_row(ui);
	if (ui->cursor >= cnt)
		ui->cursor = cnt ? cnt - 1 : 0;
	if (ui->cursor < ui->offset)
		ui->offset = ui->cursor;
	if (ui->cursor >= ui->offset + ui->page)
		ui->offset = ui->cursor - ui->page + 1;
	if (ui->offset && ui->offset + ui->page > cnt)
		ui->offset = cnt > ui->page ? cnt - ui->page : 0;
}

void ui_begin_place(struct ui *ui)
{
	ui->cursor = ui->offset = 0;
	ui->moved = ui->callees = false;
	ui->anew = ui_is_source(ui);
}

/* Goes to the next line with a cost, wrapping at the end. */
void ui_next_hot_line(struct ui *ui)
{
	const struct rows *rows = ui->model->rows;
	__u32 best = 0, first = 0;

	for (__u32 i = 1; has_text(ui) && i < rows->cnt; i++) {
		__u32 line = (__u32)rows->list[i].key.line;

		if (!sum_of(rows->list[i].all.self, ui->model->options.measures))
			continue;
		if (!first || line < first)
			first = line;
		if (line > ui->cursor + 1 && (!best || line < best))
			best = line;
	}
	if (first)
		ui_move_to(ui, (long)(best ? best : first) - 1);
}
