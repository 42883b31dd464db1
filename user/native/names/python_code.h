/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * python_code.h - which functions of a file are CPython's own, if other code is in it as well.
 *
 * Functions that other files can see have CPython's prefix, Py or _Py: its build makes sure of that
 * (Tools/build/smelly.py). A function that only its own file can see may have any name. It is
 * CPython's if the symbol table says that its source has the name of one of CPython's (ceval.c),
 * and if the nearest function before or behind it that others can see is CPython's, since a linker
 * keeps the functions of a source together. Of a stripped program only the former are known.
 * PyInit_*() may be anybody's: it is never counted as CPython's, and no evidence about others.
 */
#ifndef KRAIT_NATIVE_NAMES_PYTHON_CODE_H
#define KRAIT_NATIVE_NAMES_PYTHON_CODE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A function that other files can see, or could before linking. */
struct python_anchor {
	__u64 start;
	bool python;
};

/* As in the symbol table, not demangled: PyInit_*()? */
bool python_code_is_init(const char *name) __attribute__((nonnull));
/* CPython's prefix, and not that? */
bool python_code_is_name(const char *name) __attribute__((nonnull));
/* Is that the name of one of CPython's sources, or of its object file? */
bool python_code_is_source(const char *name) __attribute__((nonnull));

void python_code_sort(struct python_anchor *anchors, size_t cnt);
/* Is one of the two nearest functions CPython's? */
bool python_code_is_near(const struct python_anchor *anchors, size_t cnt, __u64 start);

#endif /* KRAIT_NATIVE_NAMES_PYTHON_CODE_H */
