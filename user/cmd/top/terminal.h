/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal.h - the real terminal, through ncurses: shows screens and reads keys.
 *
 * While it is open, output to stderr is collected; it appears after closing.
 *
 * Must hold: terminal__close() restores the terminal; colours appear only if the user wants them.
 */
#ifndef KRAIT_CMD_TOP_TERMINAL_H
#define KRAIT_CMD_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/top/screen.h"

struct terminal;

/* Keys above the characters (0 to 255). */
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
	KEY_OF_F1, /* F2 and so on follow */
	KEY_OF_F10 = KEY_OF_F1 + 9,
};

/* Tells whether stdin and stdout are a capable terminal. */
bool terminal_suits(void);
/* Tells whether UTF-8 names may be shown as they are. Sets the character locale. */
bool terminal_utf8(void);

/*
 * Between the two calls, new threads leave the terminal's signals (its size, Ctrl-Z) to the calling
 * thread.
 */
void terminal_hold_signals(bool hold);

/* Returns NULL and errno if TERM is unknown or memory ran out. */
struct terminal *terminal__open(bool utf8);
/* Ctrl-C and Ctrl-Z are keys, too: nobody is there to take their signals. */
void terminal__take_all_keys(struct terminal *t);
/* May be called twice. */
void terminal__close(struct terminal *t);

/* For poll(). */
int terminal__fd(const struct terminal *t);
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_GONE (-2)
/* Returns a key (a character or enum ui_key), TERMINAL_NO_KEY or TERMINAL_GONE. Does not wait. */
int terminal__key(struct terminal *t);
/* Returns its present size. */
void terminal__size(struct terminal *t, unsigned *ret_rows, unsigned *ret_columns);
void terminal__show(struct terminal *t, const struct screen *s);
/* Redraws everything. */
void terminal__redraw(struct terminal *t);
/* Fetches the last line written to stderr since the last call, if any. */
bool terminal__message(struct terminal *t, char *buf, size_t size);

#endif /* KRAIT_CMD_TOP_TERMINAL_H */
