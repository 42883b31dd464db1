/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writes JSON as a stream: no tree in memory, automatic commas.
 *
 * Must hold: strings are valid, printable UTF-8 that is also safe inside <script>; numbers are
 * integers or fixed decimals, never NaN and never locale-dependent.
 */
#ifndef KRAIT_BASE_TEXT_JSON_H
#define KRAIT_BASE_TEXT_JSON_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma; /* needed before the next value */
	bool failed; /* out of memory; stream errors are in ferror() */
};

void json_open_object(struct json *j);
void json_close_object(struct json *j);
void json_open_array(struct json *j);
void json_close_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *text);
void json_number(struct json *j, __s64 value);
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
/* Writes nanoseconds as milliseconds, "1.003009". */
void json_ms(struct json *j, __u64 ns);
/* Breaks the line where JSON allows it, so that lines stay short enough for editors. */
void json_newline(struct json *j);
/* After a whole value: another one follows on a line of its own (JSON lines). */
void json_end_line(struct json *j);

/* Call at the end. Returns 0, -ENOMEM, or -errno of the stream. */
int json_finish(const struct json *j);

/* Writes only a quoted string, for callers that write the rest themselves. Returns 0 or -ENOMEM. */
int json_put_text(FILE *out, const char *text);

/* "key": value */
void json_put_string(struct json *j, const char *key, const char *text);
void json_put_number(struct json *j, const char *key, __s64 value);
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);
/* "key": [ and "key": { */
void json_put_array(struct json *j, const char *key);
void json_put_object(struct json *j, const char *key);

#endif /* KRAIT_BASE_TEXT_JSON_H */
