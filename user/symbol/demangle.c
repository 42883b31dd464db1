/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/demangle.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cpp_name.h"
#include "symbol/cython_name.h"
#include "symbol/rust_name.h"
#include "symbol/rust_old.h"
#include "util/cleanup.h"
#include "util/library.h"

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
