/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/rust_old.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* "::h0123456789abcdef" at the end, before what LLVM has appended. */
static char *find_hash(char *name)
{
	for (char *at = strstr(name, "::h"); at; at = strstr(at + 1, "::h")) {
		if (strspn(at + 3, "0123456789abcdef") == 16 &&
		    (!at[19] || at[19] == '.' || at[19] == ' '))
			return at;
	}
	return NULL;
}

/* The character that a word between dollars stands for, and the word's length; 0: none. */
static size_t sign_of(const char *text, char *ret)
{
	static const struct {
		const char *word, *sign;
	} signs[] = { { "$LT$", "<" }, { "$GT$", ">" }, { "$RF$", "&" }, { "$BP$", "*" },
		      { "$SP$", "@" }, { "$LP$", "(" }, { "$RP$", ")" }, { "$C$", "," } };
	unsigned long code;
	char *end;

	for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		*ret = *signs[i].sign;
		if (!strncmp(text, signs[i].word, strlen(signs[i].word)))
			return strlen(signs[i].word);
	}
	if (strncmp(text, "$u", 2))
		return 0;
	code = strtoul(text + 2, &end, 16);
	*ret = (char)code;
	return *end == '$' && code >= ' ' && code < 127 ? (size_t)(end + 1 - text) : 0;
}

static void put_signs(char *name)
{
	char *to = name, sign;

	for (const char *at = name; *at;) {
		size_t len = *at == '$' ? sign_of(at, &sign) : 0;

		if (len) {
			*to++ = sign;
			at += len;
		} else if (!strncmp(at, "..", 2)) {
			*to++ = ':';
			*to++ = ':';
			at += 2;
		} else if (*at == '_' && at[1] == '$' && (at == name || at[-1] == ':')) {
			at++; /* so that it begins like a name */
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

bool rust_name_old(char *name)
{
	char *hash = find_hash(name);

	if (!hash)
		return false;
	*hash = '\0';
	put_signs(name);
	return true;
}
