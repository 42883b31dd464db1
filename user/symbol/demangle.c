/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/demangle.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Longer ones are left alone: templates can make names that take minutes. */
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

/* Rust ends its names with a hash: "core::fmt::write::h0123456789abcdef". */
static void cut_rust_hash(char *name)
{
	size_t len = strlen(name);
	char *hash = name + len - 19;

	if (len > 19 && !strncmp(hash, "::h", 3) && strspn(hash + 3, "0123456789abcdef") == 16)
		*hash = '\0';
}

char *demangle(const char *name)
{
	demangle_fn function;
	char *plain = NULL;
	int status;

	if (strncmp(name, "_Z", 2) || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return strdup(name);
	function = find_function();
	if (function)
		plain = function(name, NULL, NULL, &status);
	if (!plain)
		return strdup(name);
	cut_rust_hash(plain);
	return plain;
}

void demangle_prepare(void)
{
	find_function();
}
