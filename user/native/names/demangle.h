/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.h - symbols of C++, Rust, Cython and mypyc as people write them.
 *
 * __cxa_demangle() of the C++ library handles C++ and Rust's older mangling. It is looked up at run
 * time: krait needs no C++ to be built or to run, and without the library such names stay as they
 * are in the file. cpp_name.h then removes what only makes them long. Rust's newer mangling is
 * handled by rust_name.h, and compilers from Python to C by cython_name.h.
 */
#ifndef KRAIT_NATIVE_NAMES_DEMANGLE_H
#define KRAIT_NATIVE_NAMES_DEMANGLE_H

#include <stdbool.h>

/*
 * Allocated; a copy if the name is not mangled. NULL: out of memory. *ret_wrapper: the function
 * only unpacks Python's arguments for another one, which then has the same name.
 */
char *demangle(const char *name, bool *ret_wrapper) __attribute__((warn_unused_result, nonnull));

/* Loads the library now, for a process that cannot open files later. */
void demangle_prepare(void);

/* Are C++ names readable here, by libstdc++? */
bool demangle_knows_cpp(void);

#endif /* KRAIT_NATIVE_NAMES_DEMANGLE_H */
