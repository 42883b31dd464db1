/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.h - C++ and Rust symbols as their authors wrote them.
 *
 * By __cxa_demangle() of the C++ library, looked up at run time: krait needs no C++ to be built or to
 * run, and names stay as they are in the file where there is none. Rust's newer mangling (_R...) is
 * beyond it.
 */
#ifndef KRAIT_SYMBOL_DEMANGLE_H
#define KRAIT_SYMBOL_DEMANGLE_H

/* Allocated; a copy of the name where it is not mangled. NULL when out of memory. */
char *demangle(const char *name) __attribute__((warn_unused_result, nonnull));

/* Loads the library now, for a process that cannot open files later. */
void demangle_prepare(void);

#endif /* KRAIT_SYMBOL_DEMANGLE_H */
