/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/demangle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "native/names/cpp_name.h"
#include "native/names/cython_name.h"
#include "native/names/rust_name.h"
#include "base/data/cleanup.h"
#include "base/system/library.h"

/* ---- rust old ---------------------------------------------------------------------------------- */

/*
 * Symbols of Rust's older mangling. It looks like C++; after the C++ library's
 * demangling it still has a hash at its end and words in place of symbols:
 * "core::ptr::drop_in_place$LT$T$GT$::h0123456789abcdef".
 */

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

/* Turns a demangled name into a path, in place. False: not a Rust name; unchanged. */
static bool rust_name_old(char *name)
{
	char *hash = find_hash(name);

	if (!hash)
		return false;
	*hash = '\0';
	put_signs(name);
	return true;
}

/* ---- demangle ---------------------------------------------------------------------------------- */

/* Longer names are left alone: templates can make names that take minutes. */
#define MANGLED_MAX 4096

struct library {
	char *(*demangle)(const char *name, char *buf, size_t *len, int *status);
};

char *__cxa_demangle(const char *name, char *buf, size_t *len, int *status);

/* Loaded once. */
static const struct library *find_library(void)
{
	static const char *const names[] = { "libstdc++.so.6", NULL };
	static const struct library_function functions[] = {
		LIBRARY_FUNCTION(__cxa_demangle, struct library, demangle),
	};
	static struct library library;
	static int tried;

	if (!tried++ && library_load(&library, names, functions, 1))
		library.demangle = NULL;
	return library.demangle ? &library : NULL;
}

/* C++ and Rust's older mangling; NULL: neither. LLVM's suffix ".llvm.123" is not part of the name. */
static char *cpp_name(const char *name)
{
	const struct library *library = find_library();
	const char *behind = strstr(name, ".llvm.");
	cleanup_free char *mangled = strndup(name, behind ? (size_t)(behind - name) : strlen(name));
	char *plain = NULL;
	int status;

	if (library && mangled)
		plain = library->demangle(mangled, NULL, NULL, &status);
	if (plain && !rust_name_old(plain))
		cpp_name_shorten(plain);
	return plain;
}

/* The length of "clock_gettime" in "clock_gettime@@GLIBC_2.17"; but "memcpy@plt" is a whole name. */
static size_t unversioned(const char *name)
{
	size_t len = strcspn(name, "@");

	return !len || !strcmp(name + len, "@plt") ? strlen(name) : len;
}

char *demangle(const char *name, bool *ret_wrapper)
{
	char *plain = NULL, *python;

	*ret_wrapper = false;
	if (strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return strdup(name);
	if (name[0] == '_' && name[1] == 'Z')
		plain = cpp_name(name);
	else if (name[0] == '_' && name[1] == 'R')
		plain = rust_name(name);
	if (!plain)
		plain = strndup(name, unversioned(name));
	/* Cython can generate C++, too. */
	python = plain ? cython_name(plain, ret_wrapper) : NULL;
	if (!python)
		return plain;
	free(plain);
	return python;
}

void demangle_prepare(void)
{
	find_library();
}

bool demangle_knows_cpp(void)
{
	return find_library() != NULL;
}
