/* SPDX-License-Identifier: BSD-2-Clause */
#include "top/ui.h"

#include <stdio.h>
#include <string.h>

#include "top/source.h"

#define DEFAULT_FILE "krait-top.html"
#define NO_MEMORY "out of memory"

/* ---- where the cursor is ---------------------------------------------------------------------- */

const struct rows *ui_rows(const struct ui *ui)
{
	return ui->callees && ui->model->callees ? ui->model->callees : ui->model->rows;
}

const struct order *ui_order(const struct ui *ui)
{
	return ui->callees && ui->model->callees ? &ui->model->order_callees : &ui->model->order;
}

static bool is_source(const struct ui *ui)
{
	return ui->model->rows->spec.view == ROWS_SOURCE;
}

static bool has_text(const struct ui *ui)
{
	return is_source(ui) && ui->model->source && ui->model->source->cnt;
}

static __u32 line_cnt(const struct ui *ui)
{
	return has_text(ui) ? ui->model->source->cnt : ui_order(ui)->cnt;
}

__u32 ui_row(const struct ui *ui)
{
	const struct order *o = ui_order(ui);

	return !has_text(ui) && ui->cursor < o->cnt ? o->list[ui->cursor] : 0;
}

/* From now on it stays on its row, wherever that goes; the first line is the first line. */
static void move_to(struct ui *ui, long line)
{
	long last = (long)line_cnt(ui) - 1;
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
	const struct order *o = ui_order(ui);
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

/* The line that costs most; of none, where the function begins. */
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
	move_to(ui, line - 1);
	ui->offset = ui->cursor > 3 ? ui->cursor - 3 : 0;
}

void ui_settle(struct ui *ui, unsigned page)
{
	__u32 cnt = line_cnt(ui);

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

/* ---- places ----------------------------------------------------------------------------------- */

static void say(struct ui *ui, const char *text)
{
	snprintf(ui->message, sizeof(ui->message), "%s", text);
}

static void begin_place(struct ui *ui)
{
	ui->cursor = ui->offset = 0;
	ui->moved = ui->callees = false;
	ui->anew = is_source(ui);
}

static void go_into(struct ui *ui, const struct rows_spec *spec)
{
	bool tree = model_place(ui->model)->tree && spec->view == ROWS_FUNCTIONS;

	if (!model__enter(ui->model, spec, tree))
		say(ui, "no further: Esc goes back");
	begin_place(ui);
}

static void go_back(struct ui *ui)
{
	if (*model_place(ui->model)->filter && !is_source(ui)) {
		*model_place(ui->model)->filter = '\0';
		if (model__order(ui->model))
			say(ui, NO_MEMORY);
		return;
	}
	if (!model__leave(ui->model))
		return;
	begin_place(ui);
	ui->anew = false;
	ui->moved = model_place(ui->model)->cursor.name != 0;
}

/* The function of a row, whatever line of it that is. */
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
		say(ui, key->kind == FRAME_PYTHON ? "its file has no name" :
						    "only functions of Python have source here");
		return;
	}
	spec.view = ROWS_SOURCE;
	spec.focus = *key;
	spec.focus.parent = 0;
	go_into(ui, &spec);
}

static void enter_callers(struct ui *ui, const struct row_key *key)
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
		say(ui, "these have ended: their stacks are counted together");
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
		say(ui, "these run in no container");
		return;
	}
	spec.group = key->name;
	spec.view = ROWS_FUNCTIONS;
	go_into(ui, &spec);
}

static void enter(struct ui *ui)
{
	__u32 row = ui_row(ui);
	struct row_key key;

	if (!row)
		return;
	/* Rows may be made anew on the way. */
	key = ui_rows(ui)->list[row].key;
	if (key.kind == FRAME_PROCESS || key.kind == FRAME_THREAD)
		enter_task(ui, &key);
	else if (ui->model->rows->spec.view == ROWS_CONTAINERS)
		enter_container(ui, &key);
	else if (ui->model->rows->spec.view == ROWS_CALLERS)
		enter_callers(ui, &key);
	else if (ui->model->rows->spec.view != ROWS_STATES && !is_source(ui))
		enter_source(ui, &key);
}

static void show(struct ui *ui, enum rows_view view, bool tree)
{
	if (is_source(ui) || ui->model->callees)
		go_back(ui);
	if (model__show(ui->model, view, tree))
		say(ui, NO_MEMORY);
	begin_place(ui);
}

static void next_view(struct ui *ui)
{
	enum rows_view view = model_place(ui->model)->spec.view;

	if (ui->model->callees) {
		ui->callees = !ui->callees;
		ui->cursor = ui->offset = 0;
		ui->moved = false;
		return;
	}
	if (!is_source(ui))
		show(ui, (view + 1) % ROWS_VIEW_CNT, false);
}

static void toggle_tree(struct ui *ui)
{
	bool tree = model_place(ui->model)->spec.view == ROWS_FUNCTIONS &&
		    model_place(ui->model)->tree;

	show(ui, ROWS_FUNCTIONS, !tree);
}

/* ---- what is shown ---------------------------------------------------------------------------- */

static void sort_by(struct ui *ui, enum row_sort sort)
{
	ui->model->options.sort = sort;
	if (model__order(ui->model))
		say(ui, NO_MEMORY);
}

static void next_measure(struct ui *ui)
{
	unsigned *m = &ui->model->options.measures, all = (1U << MEASURE_CNT) - 1;

	if (!ui->model->off_cpu) {
		say(ui, "time off the CPU is counted with --off-cpu");
		return;
	}
	*m = *m == all ? 1 : *m == 1U << (MEASURE_CNT - 1) ? all : *m << 1;
	if (model__refill(ui->model))
		say(ui, NO_MEMORY);
}

static void fold(struct ui *ui, bool open)
{
	if (model__fold(ui->model, ui_row(ui), open))
		say(ui, NO_MEMORY);
}

static void count_anew(struct ui *ui, __u64 now_ns)
{
	samples__reset(ui->model->samples, now_ns);
	if (model__refill(ui->model))
		say(ui, NO_MEMORY);
}

/* What came meanwhile is in no row yet. */
static void toggle_pause(struct ui *ui, __u64 now_ns)
{
	struct model *m = ui->model;

	samples__pause(m->samples, !samples__is_paused(m->samples), now_ns);
	if (!samples__is_paused(m->samples) && model__refill(m))
		say(ui, NO_MEMORY);
}

/* The next line with a cost, round the end. */
static void next_hot_line(struct ui *ui)
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
		move_to(ui, (long)(best ? best : first) - 1);
}

/* ---- typing ----------------------------------------------------------------------------------- */

static void begin_prompt(struct ui *ui, enum ui_prompt prompt)
{
	ui->prompt = prompt;
	memcpy(ui->before, model_place(ui->model)->filter, sizeof(ui->before));
	snprintf(ui->input, sizeof(ui->input), "%s", DEFAULT_FILE);
}

/* The last character, all bytes of it. */
static void erase(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len ? len - 1 : 0] = '\0';
}

static enum ui_wish type(struct ui *ui, int key)
{
	bool filter = ui->prompt == PROMPT_FILTER;
	char *text = filter ? model_place(ui->model)->filter : ui->input;
	size_t size = filter ? sizeof(model_place(ui->model)->filter) : sizeof(ui->input),
	       len = strlen(text);

	if (key == KEY_OF_ENTER || key == KEY_OF_ESCAPE) {
		ui->prompt = PROMPT_NONE;
		if (key == KEY_OF_ENTER)
			return filter || !*text ? WISH_NONE : WISH_WRITE;
		if (filter)
			memcpy(model_place(ui->model)->filter, ui->before, sizeof(ui->before));
	} else if (key == KEY_OF_BACK) {
		erase(text);
	} else if (key == 'U' - '@') {
		*text = '\0';
	} else if (key >= ' ' && key < 256 && key != 0x7f && len + 1 < size) {
		text[len] = (char)key;
		text[len + 1] = '\0';
	}
	if (filter && model__order(ui->model))
		say(ui, NO_MEMORY);
	return WISH_NONE;
}

/* ---- keys ------------------------------------------------------------------------------------- */

static bool move_by_key(struct ui *ui, int key)
{
	long at = ui->cursor, page = ui->page;

	switch (key) {
	case KEY_OF_UP:
	case 'k':
		move_to(ui, at - 1);
		return true;
	case KEY_OF_DOWN:
	case 'j':
		move_to(ui, at + 1);
		return true;
	case KEY_OF_PAGE_UP:
		move_to(ui, at - page);
		return true;
	case KEY_OF_PAGE_DOWN:
		move_to(ui, at + page);
		return true;
	case KEY_OF_HOME:
		move_to(ui, 0);
		return true;
	case KEY_OF_END:
		move_to(ui, (long)line_cnt(ui) - 1);
		return true;
	default:
		return false;
	}
}

static bool go_by_key(struct ui *ui, int key)
{
	__u32 row = ui_row(ui);
	bool tree = ui->model->rows->spec.view == ROWS_TREE;

	switch (key) {
	case KEY_OF_ENTER:
		enter(ui);
		return true;
	case KEY_OF_ESCAPE:
	case KEY_OF_BACK:
		go_back(ui);
		return true;
	case '+':
	case '-':
		fold(ui, key == '+');
		return true;
	case KEY_OF_LEFT:
	case KEY_OF_RIGHT:
		if (tree)
			fold(ui, key == KEY_OF_RIGHT);
		else if (key == KEY_OF_LEFT)
			go_back(ui);
		return true;
	case 'c':
		if (row && (tree || ui->model->rows->spec.view <= ROWS_LINES)) {
			struct row_key of = ui_rows(ui)->list[row].key;

			enter_callers(ui, &of);
		}
		return true;
	case '\t':
		next_view(ui);
		return true;
	case 't':
	case KEY_OF_F1 + 4:
		toggle_tree(ui);
		return true;
	default:
		if (key < '1' || key >= '1' + ROWS_VIEW_CNT)
			return false;
		show(ui, (enum rows_view)(key - '1'), false);
		return true;
	}
}

static bool change_by_key(struct ui *ui, int key, __u64 now_ns)
{
	struct model *m = ui->model;

	switch (key) {
	case 's':
	case '>':
	case KEY_OF_F1 + 5:
		sort_by(ui, (m->options.sort + 1) % SORT_CNT);
		return true;
	case '<':
		sort_by(ui, (m->options.sort + SORT_CNT - 1) % SORT_CNT);
		return true;
	case 'P':
		sort_by(ui, SORT_SELF);
		return true;
	case 'T':
		sort_by(ui, SORT_TOTAL_ALL);
		return true;
	case 'm':
		next_measure(ui);
		return true;
	case '%':
		ui->shares = !ui->shares;
		return true;
	case ' ':
		toggle_pause(ui, now_ns);
		return true;
	case 'z':
		count_anew(ui, now_ns);
		return true;
	case 'n':
		next_hot_line(ui);
		return true;
	default:
		return false;
	}
}

enum ui_wish ui_key(struct ui *ui, int key, __u64 now_ns)
{
	*ui->message = '\0';
	if (ui->help) {
		ui->help = false;
		return WISH_NONE;
	}
	if (ui->prompt != PROMPT_NONE)
		return type(ui, key);
	if (move_by_key(ui, key) || go_by_key(ui, key) || change_by_key(ui, key, now_ns))
		return WISH_NONE;
	switch (key) {
	case 'q':
	case KEY_OF_F10:
		return WISH_QUIT;
	case 'h':
	case '?':
	case KEY_OF_F1:
		ui->help = true;
		break;
	case '/':
	case KEY_OF_F1 + 2:
	case KEY_OF_F1 + 3:
		begin_prompt(ui, is_source(ui) ? PROMPT_NONE : PROMPT_FILTER);
		break;
	case 'w':
		begin_prompt(ui, PROMPT_WRITE);
		break;
	default:
		break;
	}
	return WISH_NONE;
}
