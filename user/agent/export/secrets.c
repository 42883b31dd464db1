/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/secrets.h"

#include <stdio.h>
#include <string.h>

void secrets_add(struct secrets *s, const char *secret)
{
	if (secret && strlen(secret) >= SECRET_LEN_MIN && s->cnt < SECRETS_MAX)
		s->list[s->cnt++] = secret;
}

static void hide(char *text, const char *secret)
{
	size_t len = strlen(secret);

	for (char *at = strstr(text, secret); at; at = strstr(at + len, secret))
		memset(at, '*', len);
	/* A truncated text may end with the beginning of a secret. */
	for (size_t n = strlen(text) < len ? strlen(text) : len; n >= SECRET_LEN_MIN; n--) {
		char *tail = text + strlen(text) - n;

		if (!memcmp(tail, secret, n)) {
			memset(tail, '*', n);
			break;
		}
	}
}

void secrets_hide(const struct secrets *s, char *text)
{
	for (unsigned i = 0; i < s->cnt; i++)
		hide(text, s->list[i]);
}

void secrets_url_name(const char *url, char *buf, size_t size)
{
	const char *slashes = strstr(url, "://");
	const char *host = slashes ? slashes + 3 : url;
	size_t len = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', len);
	const char *rest = host + len;

	if (at) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	snprintf(buf, size, "%.*s%.*s%.*s", slashes ? (int)(slashes + 3 - url) : 0, url, (int)len,
		 host, (int)strcspn(rest, "?#"), rest);
}
