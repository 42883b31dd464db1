/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/origin.h"

#include <stdbool.h>
#include <string.h>

#include "base/text/short_path.h"

static void put(char ret[ORIGIN_NAME_SIZE], const char *text, size_t len)
{
	if (len > ORIGIN_NAME_SIZE - 1)
		len = ORIGIN_NAME_SIZE - 1;
	memcpy(ret, text, len);
	ret[len] = '\0';
}

static void put_word(char ret[ORIGIN_NAME_SIZE], const char *text)
{
	put(ret, text, strlen(text));
}

/* The text after the last "/site-packages/" or "/dist-packages/"; NULL: none. */
static const char *in_packages(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	const char *found = NULL;

	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		for (const char *at = strstr(file, folders[i]); at;
		     at = strstr(at + 1, folders[i])) {
			if (!found || at + strlen(folders[i]) > found)
				found = at + strlen(folders[i]);
		}
	}
	return found;
}

/*
 * "numpy/core/x.so", "numpy.libs/libopenblas.so", "six.py", "_cffi.cpython-311.so": up to the first
 * slash or dot.
 */
static void put_package(char ret[ORIGIN_NAME_SIZE], const char *file)
{
	put(ret, file, strcspn(file, "/."));
}

/* "/usr/lib/python3.11/json/decoder.py", "<frozen importlib._bootstrap>" */
static bool is_stdlib(const char *file)
{
	const char *at = strstr(file, "/python3.");

	if (starts_with(file, "<frozen "))
		return true;
	if (!at)
		return false;
	at += strlen("/python3.");
	at += strspn(at, "0123456789");
	at += strspn(at, "tdmb");
	return *at == '/';
}

/* "libcrypto" for "/usr/lib/libcrypto.so.3", "libopenblas" for "libopenblas-r0-1234.3.so" */
static void put_library(char ret[ORIGIN_NAME_SIZE], const char *base)
{
	const char *so = strstr(base, ".so");
	size_t len = so ? (size_t)(so - base) : strlen(base);

	if (so && strcspn(base, ".") < len)
		len = strcspn(base, ".");
	put(ret, base, len ? len : strlen(base));
}

static bool is_libc(const char *base)
{
	return starts_with(base, "libc.so") || starts_with(base, "libc-") ||
	       starts_with(base, "libm.so") || starts_with(base, "libm-") ||
	       starts_with(base, "libpthread") || starts_with(base, "ld-");
}

static void native_origin(char ret[ORIGIN_NAME_SIZE], const char *file)
{
	const char *base = base_name(file), *package = in_packages(file);

	if (!*file)
		put_word(ret, "code made at run time");
	else if (!strcmp(base, "[vdso]"))
		put_word(ret, "kernel");
	else if (package)
		put_package(ret, package);
	else if (starts_with(base, "python") || starts_with(base, "libpython"))
		put_word(ret, "interpreter");
	else if (is_libc(base))
		put_word(ret, "libc");
	else if (is_stdlib(file))
		put_word(ret, "stdlib");
	else
		put_library(ret, base);
}

void origin_name(char ret[ORIGIN_NAME_SIZE], const struct profile_frame *f, const char *file,
		 const char *name)
{
	const char *package = in_packages(file);

	if (f->kind == FRAME_KERNEL)
		put_word(ret, "kernel");
	else if (f->kind == FRAME_NATIVE && f->interpreter)
		put_word(ret, "interpreter");
	else if (f->kind == FRAME_NATIVE)
		native_origin(ret, file);
	else if (f->kind != FRAME_PYTHON)
		put_word(ret, name);
	else if (package)
		put_package(ret, package);
	else
		put_word(ret, is_stdlib(file) ? "stdlib" : "application");
}
