/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/exec/report.h"

#include <string.h>
#include <unistd.h>

#define HEAD 5
/* Reads per call: krait checks the clock in between. */
#define READS_MAX 64

static size_t text_len(const struct report *r)
{
	const unsigned char *b = (const unsigned char *)r->buf + 1;

	return (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

static void keep_error(struct report *r, const char *text, size_t len)
{
	size_t room = sizeof(r->error) - 1 - r->error_len;

	len = len < room ? len : room;
	memcpy(r->error + r->error_len, text, len);
	r->error_len += len;
	r->error[r->error_len] = '\0';
}

static void break_off(struct report *r)
{
	r->state = REPORT_BROKEN;
	r->over = true;
}

static void give_text(struct report *r, bool is_stderr, const char *text, size_t len)
{
	size_t room = REPORT_ALL_MAX - r->given;

	if (!room)
		return;
	r->text(r->ctx, is_stderr, text, len < room ? len : room);
	r->given += len < room ? len : room;
	if (r->given == REPORT_ALL_MAX)
		r->text(r->ctx, true, REPORT_LEFT_OUT, strlen(REPORT_LEFT_OUT));
}

static void take_message(struct report *r, char kind, const char *text, size_t len)
{
	switch (kind) {
	case 'S':
		if (r->state == REPORT_NOTHING)
			r->state = REPORT_BEGUN;
		return;
	case 'O':
	case 'E':
		if (!r->text)
			break_off(r);
		else if (r->state == REPORT_BEGUN)
			give_text(r, kind == 'E', text, len);
		return;
	case 'D':
		if (r->state == REPORT_BEGUN)
			r->state = REPORT_DONE;
		r->over = true;
		return;
	case 'X':
		/* A long error comes in parts. */
		r->state = REPORT_RAISED;
		keep_error(r, text, len);
		return;
	default:
		break_off(r);
	}
}

void report_take(struct report *r, const char *bytes, size_t len)
{
	while (len && !r->over) {
		size_t whole = r->len < HEAD ? HEAD : HEAD + text_len(r), part;

		part = len < whole - r->len ? len : whole - r->len;
		memcpy(r->buf + r->len, bytes, part);
		r->len += part;
		bytes += part;
		len -= part;
		if (r->len >= HEAD && text_len(r) > REPORT_TEXT_MAX)
			break_off(r);
		if (r->len < HEAD || r->over || r->len < HEAD + text_len(r))
			continue;
		take_message(r, r->buf[0], r->buf + HEAD, r->len - HEAD);
		r->len = 0;
	}
}

void report_read(struct report *r, int fd)
{
	char buf[4096];

	for (int i = 0; i < READS_MAX && !r->over; i++) {
		ssize_t n = read(fd, buf, sizeof(buf));

		/* Also if no process has opened it for writing yet. */
		if (n <= 0)
			return;
		report_take(r, buf, (size_t)n);
	}
}

void report_end(struct report *r)
{
	/* A wrapper that has begun always reports its end. */
	if (!r->over && r->state != REPORT_RAISED)
		r->state = REPORT_BROKEN;
	r->over = true;
}
