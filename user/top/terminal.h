/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal.h - the real one, by ncurses: screens onto it, keys from it.
 *
 * While it is open, what is written to stderr is kept, and comes out when it is closed.
 *
 * Must hold: terminal__close() leaves it as it was; colours only where the user wants them.
 */
#ifndef KRAIT_TOP_TERMINAL_H
#define KRAIT_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "top/screen.h"

struct terminal;

/* Are stdin and stdout one that can do it? */
bool terminal_suits(void);
/* Names are UTF-8: may they be shown as such? Sets the locale of characters. */
bool terminal_utf8(void);

/*
 * Threads that are started between the two leave the terminal's signals (its size, Ctrl-Z) to the one that
 * calls this.
 */
void terminal_hold_signals(bool hold);

/* NULL and errno: TERM is unknown, or there is no memory. */
struct terminal *terminal__open(bool utf8);
/* Again is nothing. */
void terminal__close(struct terminal *t);

/* To be waited for. */
int terminal__fd(const struct terminal *t);
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_GONE (-2)
/* A key of ui.h, TERMINAL_NO_KEY, TERMINAL_GONE. Does not wait. */
int terminal__key(struct terminal *t);
/* As large as it is now. */
void terminal__size(struct terminal *t, unsigned *ret_rows, unsigned *ret_columns);
void terminal__show(struct terminal *t, const struct screen *s);
/* Forget what is there, and draw all of it. */
void terminal__redraw(struct terminal *t);
/* The last line that was written to stderr since the last call, if any. */
bool terminal__message(struct terminal *t, char *buf, size_t size);

#endif /* KRAIT_TOP_TERMINAL_H */
