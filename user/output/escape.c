/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * escape.c - see escape.h.
 */
#include "output/escape.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/printable.h"

int put_printable(FILE *out, const char *text)
{
	cleanup_free char *safe = printable(text);

	if (!safe)
		return -ENOMEM;
	fputs(safe, out);
	return 0;
}

/* wcwidth() depends on the locale, and krait stays in "C". */
static unsigned codepoint_width(__u32 c)
{
	static const struct {
		__u32 first, last;
		unsigned width;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },   { 0x200b, 0x200d, 0 },	{ 0x20d0, 0x20ff, 0 },
		{ 0xfe00, 0xfe0f, 0 }, { 0x1100, 0x115f, 2 },	{ 0x2e80, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 }, { 0xf900, 0xfaff, 2 },	{ 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 }, { 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].width;
	return 1;
}

unsigned char_width(const char *text, size_t *ret_bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4, i;
	__u32 c = len > 1 ? s[0] & (0x7fU >> len) : s[0];

	for (i = 1; i < len && s[i]; i++)
		c = c << 6 | (s[i] & 0x3fU);
	*ret_bytes = i;
	return codepoint_width(c);
}

unsigned text_width(const char *text)
{
	unsigned width = 0;
	size_t bytes;

	for (; *text; text += bytes)
		width += char_width(text, &bytes);
	return width;
}

/* Of the columns that remain, two thirds are the name's begin, where its class is. */
#define SHOWN_BEGIN ((SHOWN_COLUMNS - 3) * 2 / 3)
#define SHOWN_END (SHOWN_COLUMNS - 3 - SHOWN_BEGIN)

char *shown_text(const char *text)
{
	char *safe = printable(text), *middle, *end;
	unsigned width = safe ? text_width(safe) : 0, begun = 0;
	size_t bytes;

	if (width <= SHOWN_COLUMNS)
		return safe;
	for (middle = safe; begun + char_width(middle, &bytes) <= SHOWN_BEGIN; middle += bytes)
		begun += char_width(middle, &bytes);
	for (end = middle, width -= begun; width > SHOWN_END; end += bytes)
		width -= char_width(end, &bytes);
	memcpy(middle, "...", 3);
	memmove(middle + 3, end, strlen(end) + 1);
	return safe;
}

int put_shown(FILE *out, const char *text)
{
	cleanup_free char *safe = shown_text(text);

	if (!safe)
		return -ENOMEM;
	fputs(safe, out);
	return 0;
}

int put_xml(FILE *out, const char *text)
{
	cleanup_free char *safe = printable(text);

	if (!safe)
		return -ENOMEM;
	for (const char *at = safe; *at; at++) {
		if (strchr("&<>\"'", *at))
			fprintf(out, "&#%d;", *at);
		else
			putc(*at, out);
	}
	return 0;
}
