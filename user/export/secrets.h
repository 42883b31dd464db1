/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secrets.h - what no log line may have, whoever says it: tokens, values of headers, passwords in URLs.
 */
#ifndef KRAIT_EXPORT_SECRETS_H
#define KRAIT_EXPORT_SECRETS_H

#include <stddef.h>

#define SECRETS_MAX 32
/* Shorter ones are words that could be anywhere. */
#define SECRET_LEN_MIN 6

/* Borrowed texts. */
struct secrets {
	const char *list[SECRETS_MAX];
	unsigned cnt;
};

/* NULL and short ones are left out. */
void secrets_add(struct secrets *s, const char *secret) __attribute__((nonnull(1)));
/* Each of them becomes asterisks, in place; so does what is left of one at the end of a text that was cut. */
void secrets_hide(const struct secrets *s, char *text) __attribute__((nonnull));

/* Scheme, host, port and path of a URL into buf: no user, no password, no query. */
void secrets_url_name(const char *url, char *buf, size_t size) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_SECRETS_H */
