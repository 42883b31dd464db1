/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * library.h - loads a shared library at run time, so that only the processes that need it have its
 * code and dependencies. A static krait (make static) has the functions in itself and loads nothing.
 */
#ifndef KRAIT_BASE_SYSTEM_LIBRARY_H
#define KRAIT_BASE_SYSTEM_LIBRARY_H

#include <stddef.h>

/* A function and the offsetof() of its pointer in a struct. */
struct library_function {
	const char *name;
	size_t at;
	void *function; /* NULL: to be looked up */
};

/* The function must have been declared. */
#ifdef KRAIT_STATIC
#define LIBRARY_ADDRESS(function) ((void *)(function))
#else
#define LIBRARY_ADDRESS(function) NULL
#endif
/* clang-format off: versions of it differ about braces in macros */
#define LIBRARY_FUNCTION(function, type, member)                                                   \
	{                                                                                          \
#function, offsetof(type, member), LIBRARY_ADDRESS(function)                       \
	}
/* clang-format on */

/*
 * Loads the first of the names (NULL-terminated) that exists, for the life of the process. Returns
 * 0, or -ENOSYS if none exists or a function is missing.
 */
int library_load(void *ret, const char *const names[], const struct library_function *functions,
		 size_t cnt) __attribute__((warn_unused_result));

/*
 * To be called first in main(): in a static krait no library loads code of this machine, which is
 * made for another C library. Names of users and hosts then come from files, and from DNS.
 */
void library_prepare(void);

#endif /* KRAIT_BASE_SYSTEM_LIBRARY_H */
