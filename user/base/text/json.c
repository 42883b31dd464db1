/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text/json.h"

#include <errno.h>

#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/stream.h"

static void value(struct json *j)
{
	if (j->comma)
		putc_unlocked(',', j->out);
	j->comma = true;
}

static void open_bracket(struct json *j, char bracket)
{
	value(j);
	putc_unlocked(bracket, j->out);
	j->comma = false;
}

static void close_bracket(struct json *j, char bracket)
{
	putc_unlocked(bracket, j->out);
	j->comma = true;
}

void json_open_object(struct json *j)
{
	open_bracket(j, '{');
}

void json_close_object(struct json *j)
{
	close_bracket(j, '}');
}

void json_open_array(struct json *j)
{
	open_bracket(j, '[');
}

void json_close_array(struct json *j)
{
	close_bracket(j, ']');
}

int json_put_text(FILE *out, const char *text)
{
	cleanup_free char *safe = printable(text);

	if (!safe)
		return -ENOMEM;
	putc_unlocked('"', out);
	for (const char *s = safe; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '<' || *s == '>' || *s == '&')
			fprintf(out, "\\u%04x", (unsigned)*s);
		else
			putc_unlocked(*s, out);
	}
	putc_unlocked('"', out);
	return 0;
}

void json_string(struct json *j, const char *text)
{
	value(j);
	if (json_put_text(j->out, text))
		j->failed = true;
}

void json_key(struct json *j, const char *key)
{
	json_string(j, key);
	putc_unlocked(':', j->out);
	j->comma = false;
}

void json_number(struct json *j, __s64 number)
{
	value(j);
	fprintf(j->out, "%lld", number);
}

void json_bool(struct json *j, bool truth)
{
	value(j);
	fputs(truth ? "true" : "false", j->out);
}

void json_null(struct json *j)
{
	value(j);
	fputs("null", j->out);
}

void json_ms(struct json *j, __u64 ns)
{
	value(j);
	fprintf(j->out, "%llu.%06llu", ns / 1000000, ns % 1000000);
}

void json_end_line(struct json *j)
{
	putc('\n', j->out);
	j->comma = false;
}

void json_newline(struct json *j)
{
	putc_unlocked('\n', j->out);
}

void json_put_string(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_string(j, text);
}

void json_put_number(struct json *j, const char *key, __s64 number)
{
	json_key(j, key);
	json_number(j, number);
}

void json_put_bool(struct json *j, const char *key, bool truth)
{
	json_key(j, key);
	json_bool(j, truth);
}

void json_put_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}

void json_put_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_open_array(j);
}

void json_put_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_open_object(j);
}

int json_finish(const struct json *j)
{
	return j->failed ? -ENOMEM : stream_finish(j->out);
}
