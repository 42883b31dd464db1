/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what a script's wrapper says of it, from a pipe that the process writes: any bytes, any number of
 * them.
 *
 * Must hold: no read waits; what makes no sense ends it; what is kept is bounded.
 */
#ifndef KRAIT_INJECT_REPORT_H
#define KRAIT_INJECT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Of one message: it is written at once (PIPE_BUF). */
#define REPORT_TEXT_MAX 4091
/* Of what a script has raised. */
#define REPORT_ERROR_MAX 65536

enum report_state {
	REPORT_NOTHING, /* it has not begun */
	REPORT_BEGUN,
	REPORT_DONE,
	REPORT_RAISED, /* error has what */
	REPORT_BROKEN, /* it makes no sense, or has ended in the middle */
};

/* What the script prints. */
typedef void (*report_text_fn)(void *ctx, bool is_stderr, const char *text, size_t len);

struct report {
	enum report_state state;
	bool over; /* nothing more is to be expected */
	report_text_fn text;
	void *ctx;
	char buf[5 + REPORT_TEXT_MAX];
	size_t len;
	char error[REPORT_ERROR_MAX]; /* NUL-terminated, not printable yet */
	size_t error_len;
};

/* state, text and ctx are set by the caller, the rest is 0. len more bytes have come. */
void report_take(struct report *r, const char *bytes, size_t len) __attribute__((nonnull));
/* What is there now, from a descriptor that does not wait. */
void report_read(struct report *r, int fd) __attribute__((nonnull));
/* Whoever has written there does so no more, and all is read. */
void report_end(struct report *r) __attribute__((nonnull));

#endif /* KRAIT_INJECT_REPORT_H */
