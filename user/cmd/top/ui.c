/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/ui.h"

#include <stdio.h>
#include <string.h>

#include "cmd/top/cursor.h"
#include "cmd/top/visit.h"

#define DEFAULT_FILE "krait-top.html"

void ui_say(struct ui *ui, const char *text)
{
	snprintf(ui->message, sizeof(ui->message), "%s", text);
}

/* ---- what is shown ---------------------------------------------------------------------------- */

static void sort_by(struct ui *ui, enum row_sort sort)
{
	ui->model->options.sort = sort;
	if (model__order(ui->model))
		ui_say(ui, UI_NO_MEMORY);
}

static void next_measure(struct ui *ui)
{
	unsigned *m = &ui->model->options.measures, all = (1U << MEASURE_CNT) - 1;

	if (!ui->model->off_cpu) {
		ui_say(ui, "time off the CPU is counted with --off-cpu");
		return;
	}
	*m = *m == all ? 1 : *m == 1U << (MEASURE_CNT - 1) ? all : *m << 1;
	if (model__refill(ui->model))
		ui_say(ui, UI_NO_MEMORY);
}

static void fold(struct ui *ui, bool open)
{
	if (model__fold(ui->model, ui_row(ui), open))
		ui_say(ui, UI_NO_MEMORY);
}

static void count_anew(struct ui *ui, __u64 now_ns)
{
	samples__reset(ui->model->samples, now_ns);
	if (model__refill(ui->model))
		ui_say(ui, UI_NO_MEMORY);
}

/* Samples from the pause are not in any row yet. */
static void toggle_pause(struct ui *ui, __u64 now_ns)
{
	struct model *m = ui->model;

	samples__pause(m->samples, !samples__is_paused(m->samples), now_ns);
	if (!samples__is_paused(m->samples) && model__refill(m))
		ui_say(ui, UI_NO_MEMORY);
}

/* ---- typing ----------------------------------------------------------------------------------- */

static void begin_prompt(struct ui *ui, enum ui_prompt prompt)
{
	ui->prompt = prompt;
	memcpy(ui->before, model_place(ui->model)->filter, sizeof(ui->before));
	snprintf(ui->input, sizeof(ui->input), "%s", DEFAULT_FILE);
	ui->untouched = true;
}

/* Removes the last character with all its bytes. */
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
		ui->untouched = false;
	} else if (key == 'U' - '@') {
		*text = '\0';
	} else if (key >= ' ' && key < 256 && key != 0x7f && len + 1 < size) {
		/* What is offered goes as soon as another name begins. */
		if (!filter && ui->untouched)
			len = 0;
		ui->untouched = false;
		text[len] = (char)key;
		text[len + 1] = '\0';
	}
	if (filter && model__order(ui->model))
		ui_say(ui, UI_NO_MEMORY);
	return WISH_NONE;
}

/* ---- keys ------------------------------------------------------------------------------------- */

static bool move_by_key(struct ui *ui, int key)
{
	long at = ui->cursor, page = ui->page;

	switch (key) {
	case KEY_OF_UP:
	case 'k':
		ui_move_to(ui, at - 1);
		return true;
	case KEY_OF_DOWN:
	case 'j':
		ui_move_to(ui, at + 1);
		return true;
	case KEY_OF_PAGE_UP:
		ui_move_to(ui, at - page);
		return true;
	case KEY_OF_PAGE_DOWN:
		ui_move_to(ui, at + page);
		return true;
	case KEY_OF_HOME:
		ui_move_to(ui, 0);
		return true;
	case KEY_OF_END:
		ui_move_to(ui, (long)ui_line_cnt(ui) - 1);
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
		ui_enter(ui);
		return true;
	case KEY_OF_ESCAPE:
	case KEY_OF_BACK:
		ui_go_back(ui);
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
			ui_go_back(ui);
		return true;
	case 'c':
		if (row && (tree || ui->model->rows->spec.view <= ROWS_LINES)) {
			struct row_key of = ui_rows(ui)->list[row].key;

			ui_enter_callers(ui, &of);
		}
		return true;
	case '\t':
		ui_next_view(ui);
		return true;
	case 't':
	case KEY_OF_F1 + 4:
		ui_toggle_tree(ui);
		return true;
	default:
		if (key < '1' || key >= '1' + ROWS_VIEW_CNT)
			return false;
		ui_show(ui, (enum rows_view)(key - '1'), false);
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
		ui_next_hot_line(ui);
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
		begin_prompt(ui, ui_is_source(ui) ? PROMPT_NONE : PROMPT_FILTER);
		break;
	case 'w':
		begin_prompt(ui, PROMPT_WRITE);
		break;
	default:
		break;
	}
	return WISH_NONE;
}
