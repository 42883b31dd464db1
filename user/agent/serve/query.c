/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/server.h"

#include <errno.h>
#include <string.h>

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at && *at ? (int)(at - digits) : -1;
}

/* Unescapes the text up to end. */
static int unescape(const char *text, const char *end, char *buf, size_t size)
{
	size_t len = 0;

	while (text < end) {
		char c = *text++;
		int high = c == '%' && end - text >= 2 ? digit(text[0]) : -1;
		int low = high >= 0 ? digit(text[1]) : -1;

		if (low >= 0) {
			c = (char)(high << 4 | low);
			text += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if (!c || len + 1 >= size)
			return -EMSGSIZE;
		buf[len++] = c;
	}
	buf[len] = '\0';
	return (int)len;
}

int server_query_value(const char *query, const char *name, char *buf, size_t size)
{
	size_t name_len = strlen(name);

	while (*query) {
		const char *end = query + strcspn(query, "&");

		if (!strncmp(query, name, name_len) &&
		    (query[name_len] == '=' || query + name_len == end)) {
			query += name_len + (query[name_len] == '=');
			return size ? unescape(query, end, buf, size) : -EMSGSIZE;
		}
		query = *end ? end + 1 : end;
	}
	return -ENOENT;
}
