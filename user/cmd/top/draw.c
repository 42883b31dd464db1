/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/draw.h"

#include <stdio.h>
#include <string.h>

#include "cmd/top/cursor.h"
#include "cmd/top/draw_table.h"
#include "cmd/top/source.h"
#include "cmd/top/text.h"
#include "base/system/clock.h"

/* ---- what holds for all ----------------------------------------------------------------------- */

/* Returns the share of a round's CPU time in which threads held the GIL; < 0: unknown. */
static double gil_share(const struct round *r)
{
	__u64 known = 0, held = 0;

	for (__u32 i = 0; r && i < r->samples.cnt; i++) {
		const struct stored_sample *s = &r->samples.list[i];

		if (s->event || (s->state != STATE_PYTHON && s->state != STATE_NATIVE))
			continue;
		known += s->weight;
		held += s->state == STATE_PYTHON ? s->weight : 0;
	}
	return known ? (double)held / (double)known : -1;
}

static double percent_of(__u64 part, __u64 all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void put_first_line(struct screen *s, const struct model *m, const struct top_status *status)
{
	char length[32];
	unsigned x;

	put_length(length, samples__all_ns(m->samples));
	x = screen_printf(s, 0, 0, LOOK_BOLD, "krait top");
	x = screen_printf(s, 0, x, LOOK_PLAIN, "  %s  since %s  %llu Hz  %u process%s",
			  status->clock, length, status->frequency, status->processes,
			  status->processes == 1 ? "" : "es");
	if (status->lost)
		x = screen_printf(s, 0, x, LOOK_HOT, "  lost %llu (%.1f%%)", status->lost,
				  percent_of(status->lost, status->interrupts));
	if (samples__is_paused(m->samples))
		screen_printf(s, 0, x, LOOK_HOT, "  PAUSED");
}

static void put_second_line(struct screen *s, const struct model *m,
			    const struct top_status *status)
{
	static const char *const words[] = { "", "wait for the GIL", "wait", "ready" };
	const struct round *last = samples__round(m->samples, 0);
	__u64 ns = last ? last->to_ns - last->from_ns : 0;
	double gil = gil_share(last);
	unsigned x;

	x = screen_printf(s, 1, 0, LOOK_PLAIN, "CPU %.1f%% of %u00%%",
			  percent_of(m->rows->now.total[MEASURE_CPU], ns), status->cpus);
	if (gil >= 0)
		x = screen_printf(s, 1, x, LOOK_PLAIN, " (%.0f%% with the GIL)", 100 * gil);
	/* As threads: these may be many more than there are CPUs. */
	for (int i = MEASURE_GIL; m->off_cpu && i < MEASURE_CNT; i++) {
		double threads = percent_of(m->rows->now.total[i], ns) / 100;

		x = screen_printf(s, 1, x, LOOK_PLAIN, "%s%.*f %s",
				  i == MEASURE_GIL ? "  threads: " : ", ", threads < 9.95 ? 1 : 0,
				  threads, words[i]);
	}
	if (last && last->samples.dropped)
		screen_printf(s, 1, x, LOOK_HOT, "  (%llu samples only in \"since\")",
			      last->samples.dropped);
}

void draw_head(struct screen *s, const struct model *m, const struct top_status *status)
{
	put_first_line(s, m, status);
	put_second_line(s, m, status);
}

/* ---- the view --------------------------------------------------------------------------------- */

/* Shows the place: "Functions of python3 (4711)". */
static unsigned put_place(struct screen *s, unsigned y, const struct ui *ui)
{
	const struct model *m = ui->model;
	const struct rows_spec *spec = &model_place_const(m)->spec;
	const struct dict *d = m->session->dict;
	unsigned x = screen_put(s, y, 0, s->columns, LOOK_BOLD, view_title(m->rows->spec.view));

	if (spec->view == ROWS_CALLERS) {
		x = screen_put(s, y, x, s->columns, LOOK_PLAIN, " of ");
		x = screen_put(s, y, x, s->columns / 3, LOOK_BOLD, dict__text(d, spec->focus.name));
	}
	if (spec->view == ROWS_SOURCE) {
		x = screen_put(s, y, x, s->columns, LOOK_PLAIN, " ");
		x = screen_put_tail(s, y, x, s->columns / 2, LOOK_BOLD,
				    dict__text(d, spec->focus.file));
	}
	if (spec->tid)
		x = screen_printf(s, y, x, LOOK_PLAIN, ", thread %d", spec->tid);
	if (spec->pid)
		x = screen_printf(s, y, x, LOOK_PLAIN, ", process %d", spec->pid);
	if (spec->group) {
		x = screen_put(s, y, x, s->columns, LOOK_PLAIN, ", ");
		x = screen_put(s, y, x, 40, LOOK_PLAIN, dict__text(d, spec->group));
	}
	return x;
}

static void put_title(struct screen *s, unsigned y, const struct ui *ui)
{
	const struct model *m = ui->model;
	unsigned x = put_place(s, y, ui);

	if (m->rows->spec.view != ROWS_SOURCE)
		x = screen_printf(s, y, x, LOOK_PLAIN, ", by %s", sort_title(m->options.sort));
	if (m->off_cpu)
		x = screen_printf(s, y, x, LOOK_PLAIN, ": %s", measure_title(m->options.measures));
	if (*model_place_const(m)->filter && m->rows->spec.view != ROWS_SOURCE) {
		x = screen_put(s, y, x, s->columns, LOOK_PLAIN, ", with ");
		screen_put(s, y, x, s->columns, LOOK_WARM, model_place_const(m)->filter);
	}
}

static void put_foot(struct screen *s, unsigned y, const struct ui *ui)
{
	enum rows_view view = ui->model->rows->spec.view;
	const char *enter = view == ROWS_FUNCTIONS || view == ROWS_LINES || view == ROWS_TREE ?
				    "Enter source  c callers  Tab view" :
			    view == ROWS_CALLERS ? "Enter around it  Tab other half" :
			    view == ROWS_SOURCE	 ? "n next hot line" :
						   "Enter into it  Tab view";
	unsigned x;

	if (ui->prompt != PROMPT_NONE) {
		x = screen_put(s, y, 0, s->columns, LOOK_BOLD,
			       ui->prompt == PROMPT_FILTER ? "Filter: " : "Write to: ");
		x = screen_put_tail(s, y, x, s->columns - x - 1, LOOK_PLAIN,
				    ui->prompt == PROMPT_FILTER ?
					    model_place_const(ui->model)->filter :
					    ui->input);
		screen_put(s, y, x, 1, LOOK_HEAD, "_");
	} else if (*ui->message) {
		screen_put(s, y, 0, s->columns, LOOK_WARM, ui->message);
	} else {
		screen_printf(s, y, 0, LOOK_DIM, "q quit  h help  %s%s  Space pause%s",
			      view == ROWS_SOURCE ? "" : "/ filter  ", enter,
			      ui->model->place_cnt > 1 ? "  Esc back" : "");
	}
}

static void put_half(struct screen *s, unsigned y, unsigned end, const struct ui *ui, bool callees)
{
	const struct model *m = ui->model;
	bool here = ui->callees == callees;
	struct draw_table t = {
		.model = m,
		.rows = callees ? m->callees : m->rows,
		.order = callees ? &m->order_callees : &m->order,
		.first = here ? ui->offset : 0,
		.cursor = here ? ui->cursor : NO_CURSOR,
		.shares = ui->shares,
	};

	draw_table(s, y, end, &t);
}

static void put_view(struct screen *s, unsigned y, unsigned end, struct ui *ui)
{
	const struct model *m = ui->model;
	bool empty = !m->order.cnt && !m->callees;

	if (m->rows->spec.view == ROWS_SOURCE) {
		draw_source(s, y, end, ui);
		return;
	}
	if (!m->callees) {
		put_half(s, y, end, ui, false);
	} else {
		unsigned middle = y + (end - y) / 2;

		put_half(s, y, middle, ui, false);
		put_half(s, middle, end, ui, true);
	}
	if (empty && y + 2 < end)
		screen_put(s, y + 2, 2, s->columns, LOOK_DIM,
			   *model_place_const(m)->filter ? "nothing has that in its name" :
			   samples__round(m->samples, 0) ? "no Python code has run" :
							   "looking ...");
}

void draw_top(struct screen *s, struct ui *ui, const struct top_status *status)
{
	unsigned y = DRAW_HEAD_LINES,
		 end = s->rows > DRAW_FOOT_LINES ? s->rows - DRAW_FOOT_LINES : 0;
	unsigned lines = end > y + 2 ? end - y - 2 : 1;

	if (ui->help) {
		draw_help(s, ui->model->off_cpu);
		return;
	}
	ui_settle(ui, ui->model->callees ? (end - y - 1) / 2 - 1 : lines);
	draw_head(s, ui->model, status);
	put_title(s, y, ui);
	if (y + 1 < end)
		put_view(s, y + 1, end, ui);
	put_foot(s, end, ui);
}
