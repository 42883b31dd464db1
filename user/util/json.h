/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writes JSON as it goes: no tree in memory, commas by itself.
 *
 * Must hold: strings come out as valid, printable UTF-8 that may also stand inside <script>; numbers
 * are integers or fixed decimals, never NaN or in the locale's form.
 */
#ifndef KRAIT_UTIL_JSON_H
#define KRAIT_UTIL_JSON_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma; /* before the next value */
	bool failed; /* out of memory; errors of the stream are in ferror() */
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
/* Nanoseconds as milliseconds, "1.003009". */
void json_ms(struct json *j, __u64 ns);
/* A line break where it may be, so that lines do not get too long for editors. */
void json_newline(struct json *j);

/* All is written. 0, -ENOMEM, or -errno of the stream. */
int json_finish(const struct json *j);

/* A string with its quotes, for what writes the rest by itself. 0 or -ENOMEM. */
int json_put_text(FILE *out, const char *text);

/* "key": value */
void json_put_string(struct json *j, const char *key, const char *text);
void json_put_number(struct json *j, const char *key, __s64 value);
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);
/* "key": [ and "key": { */
void json_put_array(struct json *j, const char *key);
void json_put_object(struct json *j, const char *key);

#endif /* KRAIT_UTIL_JSON_H */
