/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.h - symbols of C++, Rust, Cython and mypyc as people write them.
 *
 * C++ and Rust's older mangling are undone by __cxa_demangle() of the C++ library, looked up at run time:
 * krait needs no C++ to be built or to run, and such names stay as they are in the file where there is
 * none. They lose what makes them long and not different (cpp_name.h). Rust's newer mangling is
 * rust_name.h's, the names of compilers from Python to C are those of Python (cython_name.h).
 */
#ifndef KRAIT_SYMBOL_DEMANGLE_H
#define KRAIT_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/*
 * Allocated; a copy of the name where it is not mangled. NULL when out of memory. *ret_wrapper: the function
 * only takes Python's arguments apart for another one that has the same name then.
 */
char *demangle(const char *name, bool *ret_wrapper) __attribute__((warn_unused_result, nonnull));

/* Loads the library now, for a process that cannot open files later. */
void demangle_prepare(void);

#endif /* KRAIT_SYMBOL_DEMANGLE_H */
