/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what a script's wrapper reports through a pipe. The target writes it: any bytes, any
 * number of them.
 *
 * Must hold: no read blocks; an invalid message ends the report; memory is bounded.
 */
#ifndef KRAIT_LOOK_EXEC_REPORT_H
#define KRAIT_LOOK_EXEC_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Text of one message, which is written in one piece (PIPE_BUF). */
#define REPORT_TEXT_MAX 4091
/* Text of all messages together; what comes after it is left out. */
#define REPORT_ALL_MAX (64U << 20)
#define REPORT_LEFT_OUT "\n[more left out]\n"
/* Text of the exception that a script raised. */
#define REPORT_ERROR_MAX 65536

enum report_state {
	REPORT_NOTHING, /* the script has not begun */
	REPORT_BEGUN,
	REPORT_DONE,
	REPORT_RAISED, /* error has the traceback */
	REPORT_BROKEN, /* an invalid message, or the end in the middle of one */
};

/* Receives what the script prints. */
typedef void (*report_text_fn)(void *ctx, bool is_stderr, const char *text, size_t len);

struct report {
	enum report_state state;
	bool over; /* no more messages are expected */
	report_text_fn
		text; /* NULL: nobody has asked for it, so a message with text makes no sense */
	void *ctx;
	size_t given; /* bytes of text so far */
	char buf[5 + REPORT_TEXT_MAX];
	size_t len;
	char error[REPORT_ERROR_MAX]; /* NUL-terminated, not printable yet */
	size_t error_len;
};

/* The caller sets state, text and ctx; the rest is 0 at first. Takes the next len bytes. */
void report_take(struct report *r, const char *bytes, size_t len) __attribute__((nonnull));
/* Reads what is available from a non-blocking descriptor. */
void report_read(struct report *r, int fd) __attribute__((nonnull));
/* Call when everything was read and no writer is left. */
void report_end(struct report *r) __attribute__((nonnull));

#endif /* KRAIT_LOOK_EXEC_REPORT_H */
