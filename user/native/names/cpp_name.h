/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpp_name.h - shortens demangled C++ names: "void ns::sort<int>(int*, int*)" becomes
 * "ns::sort<int>".
 *
 * Like perf and gdb, it removes parameters and the return type, and marks of the ABI and of clones.
 * The standard library's long spellings get their everyday names, and if a name is still long its
 * template arguments become "<…>".
 */
#ifndef KRAIT_NATIVE_NAMES_CPP_NAME_H
#define KRAIT_NATIVE_NAMES_CPP_NAME_H

/* From this length on template arguments go: two such names fill a line of the report. */
#define CPP_NAME_LONG 96

/* In place. A name that it does not understand stays unchanged. */
void cpp_name_shorten(char *name) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_CPP_NAME_H */
