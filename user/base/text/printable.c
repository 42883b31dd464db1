/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printable.c - see printable.h.
 *
 * One function cuts the text into one-character pieces; both public functions loop over it.
 */
#include "base/text/printable.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "\\u202e" and its NUL; a UTF-8 character has at most 4 bytes. */
#define PIECE_MAX 8

/*
 * Returns the bytes of the character at text and stores its code point; 0: invalid UTF-8. Never
 * looks past a NUL.
 */
static size_t decode(const unsigned char *text, __u32 *ret)
{
	static const __u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	__u32 c = text[0];
	size_t len;

	if (c < 0x80)
		len = 1;
	else if (c >> 5 == 6)
		len = 2;
	else if (c >> 4 == 14)
		len = 3;
	else if (c >> 3 == 30)
		len = 4;
	else
		return 0;
	if (len > 1)
		c &= 0x7fU >> len;
	for (size_t i = 1; i < len; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		c = c << 6 | (text[i] & 63U);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return len;
}

static bool is_harmless(__u32 c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
		return false;
	/* Directional marks, line and paragraph separators, embeddings and overrides, isolates. */
	return c != 0x61c && c != 0x200e && c != 0x200f && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2066 && c <= 0x2069);
}

/* Returns how many bytes at text are shown unchanged; stops at the first non-ASCII byte. */
static size_t plain_prefix(const char *text)
{
	const char *s = text;

	while (*s >= 0x20 && *s < 0x7f)
		s++;
	return (size_t)(s - text);
}

/* Writes what to show for the character at text. Returns its length in text. */
static size_t next_piece(const char *text, char piece[static PIECE_MAX])
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t len;
	__u32 c;

	len = decode(bytes, &c);
	if (!len) {
		snprintf(piece, PIECE_MAX, "\\x%02x", bytes[0]);
		return 1;
	}
	if (is_harmless(c)) {
		memcpy(piece, text, len);
		piece[len] = '\0';
	} else if (c == '\n' || c == '\t' || c == '\r') {
		snprintf(piece, PIECE_MAX, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	} else if (c < 0x80) {
		snprintf(piece, PIECE_MAX, "\\x%02x", c);
	} else {
		snprintf(piece, PIECE_MAX, "\\u%04x", c & 0xffff);
	}
	return len;
}

void printable_into(char *buf, size_t size, const char *text)
{
	char piece[PIECE_MAX];

	size_t plain;

	if (!size)
		return;
	plain = plain_prefix(text);
	plain = plain < size ? plain : size - 1;
	memcpy(buf, text, plain);
	buf += plain;
	size -= plain;
	text += plain;
	while (*text && size > 1) {
		size_t len;

		text += next_piece(text, piece);
		len = strlen(piece);
		if (len >= size)
			break;
		memcpy(buf, piece, len);
		buf += len;
		size -= len;
	}
	*buf = '\0';
}

char *printable(const char *text)
{
	char piece[PIECE_MAX];
	size_t plain = plain_prefix(text), size = plain + 1;
	char *copy;

	for (const char *p = text + plain; *p; size += strlen(piece))
		p += next_piece(p, piece);
	copy = malloc(size);
	if (copy)
		printable_into(copy, size, text);
	return copy;
}
