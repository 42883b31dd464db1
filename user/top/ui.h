/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ui.h - what keys do: moving, choosing views, going into places and out of them, typing. Without a terminal:
 * keys come as numbers, and what only a command can do (ending, writing a file) is handed back.
 */
#ifndef KRAIT_TOP_UI_H
#define KRAIT_TOP_UI_H

#include <stdbool.h>

#include "top/model.h"

/* Beyond those of characters (0 .. 255). */
enum ui_key {
	KEY_OF_UP = 0x1000,
	KEY_OF_DOWN,
	KEY_OF_LEFT,
	KEY_OF_RIGHT,
	KEY_OF_PAGE_UP,
	KEY_OF_PAGE_DOWN,
	KEY_OF_HOME,
	KEY_OF_END,
	KEY_OF_ENTER,
	KEY_OF_BACK, /* backspace */
	KEY_OF_ESCAPE,
	KEY_OF_F1, /* and the others follow */
	KEY_OF_F10 = KEY_OF_F1 + 9,
};

enum ui_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_WRITE };

enum ui_wish {
	WISH_NONE, /* draw again */
	WISH_QUIT,
	WISH_WRITE, /* to ui.input */
};

struct ui {
	struct model *model;
	__u32 cursor, offset; /* in the order of rows; of source: lines */
	bool callees; /* the cursor is in the lower half, of what is called */
	unsigned page; /* rows that are seen */
	bool moved; /* the cursor stays on its row, not at the top */
	bool help;
	bool shares; /* since the start: shares instead of seconds */
	bool anew; /* the source is to be shown from its hottest line on */
	enum ui_prompt prompt;
	char input[256], message[256];
	char before[64]; /* the filter, before one typed */
};

/* A key was pressed. */
enum ui_wish ui_key(struct ui *ui, int key, __u64 now_ns);
#define UI_NO_MEMORY "out of memory"

/* For the line at the bottom. */
void ui_say(struct ui *ui, const char *text);

#endif /* KRAIT_TOP_UI_H */
