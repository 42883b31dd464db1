/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/demangle.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cpp_name.h"
#include "symbol/cython_name.h"
#include "symbol/rust_name.h"
#include "symbol/rust_old.h"
#include "util/cleanup.h"

/* Longer names are left alone: templates can make names that take minutes. */
#define MANGLED_MAX 4096

typedef char *(*demangle_fn)(const char *name, char *buf, size_t *len, int *status);

/* Opened once and never closed. */
static demangle_fn find_function(void)
{
	static demangle_fn function;
	static int tried;
	void *library;

	if (tried++)
		return function;
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		*(void **)&function = dlsym(library, "__cxa_demangle");
	return function;
}

/* C++ and Rust's older mangling; NULL: neither. LLVM's suffix ".llvm.123" is not part of the name. */
static char *cpp_name(const char *name)
{
	demangle_fn function = find_function();
	const char *behind = strstr(name, ".llvm.");
	cleanup_free char *mangled = strndup(name, behind ? (size_t)(behind - name) : strlen(name));
	char *plain = NULL;
	int status;

	if (function && mangled)
		plain = function(mangled, NULL, NULL, &status);
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
	find_function();
}
