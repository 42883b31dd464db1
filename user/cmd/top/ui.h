/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ui.h - what keys do: moving, choosing views, entering and leaving places, typing. Works without a
 * terminal: keys come as numbers, and what only the command can do (quitting, writing a file) is
 * returned as a wish.
 */
#ifndef KRAIT_CMD_TOP_UI_H
#define KRAIT_CMD_TOP_UI_H

#include <stdbool.h>

#include "cmd/top/model.h"
#include "cmd/top/terminal.h"

enum ui_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_WRITE };

enum ui_wish {
	WISH_NONE, /* redraw */
	WISH_QUIT,
	WISH_WRITE, /* to the file ui.input */
};

struct ui {
	struct model *model;
	__u32 cursor, offset; /* index in the order of rows; for source: lines */
	bool callees; /* the cursor is in the lower half, among callees */
	unsigned page; /* visible rows */
	bool moved; /* the cursor follows its row instead of staying at the top */
	bool help;
	bool shares; /* show shares since the start instead of seconds */
	bool anew; /* show the source from its hottest line on */
	enum ui_prompt prompt;
	bool untouched; /* the prompt has what it offers */
	char input[256], message[256];
	char before[64]; /* the filter before the user began typing */
};

/* Handles a key. */
enum ui_wish ui_key(struct ui *ui, int key, __u64 now_ns);
#define UI_NO_MEMORY "out of memory"

/* Shows a text in the bottom line. */
void ui_say(struct ui *ui, const char *text);

#endif /* KRAIT_CMD_TOP_UI_H */
