/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.h - a shared library that is loaded by who needs it, so that nobody else has its code or its dependencies.
 */
#ifndef KRAIT_UTIL_LIBRARY_H
#define KRAIT_UTIL_LIBRARY_H

#include <stddef.h>

/* A function, and where in a struct the pointer to it goes: offsetof(). */
struct library_function {
	const char *name;
	size_t at;
};

/*
 * The first of the names (NULL ends them) that is here, for as long as the process lives. 0; -ENOSYS: none of them is
 * here, or the one that is lacks a function.
 */
int library_load(void *ret, const char *const names[], const struct library_function *functions,
		 size_t cnt) __attribute__((warn_unused_result));

#endif /* KRAIT_UTIL_LIBRARY_H */
