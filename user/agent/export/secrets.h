/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secrets.h - what must never appear in a log line, whoever wrote it: tokens, values of headers,
 * passwords in URLs.
 */
#ifndef KRAIT_AGENT_EXPORT_SECRETS_H
#define KRAIT_AGENT_EXPORT_SECRETS_H

#include <stddef.h>

#define SECRETS_MAX 32
/* Shorter ones are words that could occur anywhere. */
#define SECRET_LEN_MIN 6

/* Borrowed texts. */
struct secrets {
	const char *list[SECRETS_MAX];
	unsigned cnt;
};

/* Ignores NULL and short texts. */
void secrets_add(struct secrets *s, const char *secret) __attribute__((nonnull(1)));
/* Replaces each by asterisks, in place; also a beginning of one at the end of a truncated text. */
void secrets_hide(const struct secrets *s, char *text) __attribute__((nonnull));

/* Puts scheme, host, port and path of a URL into buf: no user, password or query. */
void secrets_url_name(const char *url, char *buf, size_t size) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_SECRETS_H */
