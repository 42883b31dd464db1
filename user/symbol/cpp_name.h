/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpp_name.h - a demangled C++ name without what readers skip: "void ns::sort<int>(int*, int*)" becomes
 * "ns::sort<int>".
 *
 * As perf and gdb do, parameters and the type that is returned go, and so do marks of the ABI and of clones.
 * What the standard library writes at length gets its everyday name, and template arguments of names that
 * are long all the same become "<…>".
 */
#ifndef KRAIT_SYMBOL_CPP_NAME_H
#define KRAIT_SYMBOL_CPP_NAME_H

/* From here on template arguments go: two names of that length fill a line of the report. */
#define CPP_NAME_LONG 96

/* In place. What it does not understand stays as it is. */
void cpp_name_shorten(char *name) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_CPP_NAME_H */
