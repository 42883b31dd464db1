/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.h - loads a shared library at run time, so that only the processes that need it have its
 * code and dependencies.
 */
#ifndef KRAIT_UTIL_LIBRARY_H
#define KRAIT_UTIL_LIBRARY_H

#include <stddef.h>

/* A function and the offsetof() of its pointer in a struct. */
struct library_function {
	const char *name;
	size_t at;
};

/*
 * Loads the first of the names (NULL-terminated) that exists, for the life of the process. Returns
 * 0, or -ENOSYS if none exists or a function is missing.
 */
int library_load(void *ret, const char *const names[], const struct library_function *functions,
		 size_t cnt) __attribute__((warn_unused_result));

#endif /* KRAIT_UTIL_LIBRARY_H */
