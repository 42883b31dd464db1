/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/visit.h"

#include "cmd/top/cursor.h"

static void go_into(struct ui *ui, const struct rows_spec *spec)
{
	bool tree = model_place(ui->model)->tree && spec->view == ROWS_FUNCTIONS;

	if (!model__enter(ui->model, spec, tree))
		ui_say(ui, "no further: Esc goes back");
	ui_begin_place(ui);
}

void ui_go_back(struct ui *ui)
{
	if (*model_place(ui->model)->filter && !ui_is_source(ui)) {
		*model_place(ui->model)->filter = '\0';
		if (model__order(ui->model))
			ui_say(ui, UI_NO_MEMORY);
		return;
	}
	if (!model__leave(ui->model))
		return;
	ui_begin_place(ui);
	ui->anew = false;
	ui->moved = model_place(ui->model)->cursor.name != 0;
}

/* Returns the function of a row that is one of its lines. */
static struct row_key function_of(const struct row_key *key)
{
	struct row_key function = *key;

	function.line = -1;
	function.parent = 0;
	return function;
}

static void enter_source(struct ui *ui, const struct row_key *key)
{
	struct rows_spec spec = model_place(ui->model)->spec;

	if (key->kind != FRAME_PYTHON || !key->file) {
		/* A frame per address would take too much memory; captures have them. */
		ui_say(ui, key->kind == FRAME_PYTHON ? "its file has no name" :
			   key->kind == FRAME_NATIVE ? "no lines of C here: krait record --native, "
						       "krait annotate --native" :
						       "only functions of Python have source here");
		return;
	}
	spec.view = ROWS_SOURCE;
	spec.focus = *key;
	spec.focus.parent = 0;
	/* A docstring may fill the screen: the function opens where its time is. */
	if (key->line <= 0)
		spec.focus.line = model__hottest_line(ui->model, key);
	go_into(ui, &spec);
}

void ui_enter_callers(struct ui *ui, const struct row_key *key)
{
	struct rows_spec spec = model_place(ui->model)->spec;

	if (key->kind == FRAME_PROCESS || key->kind == FRAME_THREAD)
		return;
	spec.view = ROWS_CALLERS;
	spec.focus = function_of(key);
	go_into(ui, &spec);
}

static void enter_task(struct ui *ui, const struct row_key *key)
{
	struct rows_spec spec = model_place(ui->model)->spec;

	if (!key->pid) {
		ui_say(ui, "these have ended: their stacks are counted together");
		return;
	}
	spec.pid = key->pid;
	spec.tid = key->tid;
	spec.view = ROWS_FUNCTIONS;
	go_into(ui, &spec);
}

static void enter_container(struct ui *ui, const struct row_key *key)
{
	struct rows_spec spec = model_place(ui->model)->spec;

	if (!key->name) {
		ui_say(ui, "these run in no container");
		return;
	}
	spec.group = key->name;
	spec.view = ROWS_FUNCTIONS;
	go_into(ui, &spec);
}

void ui_enter(struct ui *ui)
{
	__u32 row = ui_row(ui);
	struct row_key key;

	if (!row)
		return;
	/* Rows may have been rebuilt meanwhile. */
	key = ui_rows(ui)->list[row].key;
	if (key.kind == FRAME_PROCESS || key.kind == FRAME_THREAD)
		enter_task(ui, &key);
	else if (ui->model->rows->spec.view == ROWS_CONTAINERS)
		enter_container(ui, &key);
	else if (ui->model->rows->spec.view == ROWS_CALLERS)
		ui_enter_callers(ui, &key);
	else if (ui->model->rows->spec.view != ROWS_STATES && !ui_is_source(ui))
		enter_source(ui, &key);
}

void ui_show(struct ui *ui, enum rows_view view, bool tree)
{
	if (ui_is_source(ui) || ui->model->callees)
		ui_go_back(ui);
	if (model__show(ui->model, view, tree))
		ui_say(ui, UI_NO_MEMORY);
	ui_begin_place(ui);
}

void ui_next_view(struct ui *ui)
{
	enum rows_view view = model_place(ui->model)->spec.view;

	if (ui->model->callees) {
		ui->callees = !ui->callees;
		ui->cursor = ui->offset = 0;
		ui->moved = false;
		return;
	}
	if (!ui_is_source(ui))
		ui_show(ui, (view + 1) % ROWS_VIEW_CNT, false);
}

void ui_toggle_tree(struct ui *ui)
{
	bool tree = model_place(ui->model)->spec.view == ROWS_FUNCTIONS &&
		    model_place(ui->model)->tree;

	ui_show(ui, ROWS_FUNCTIONS, !tree);
}
