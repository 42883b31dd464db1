/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cython_name.h - names of functions that Cython and mypyc compiled from Python:
 * "__pyx_pw_4lxml_5etree_8_Element_1append" is lxml.etree._Element.append,
 * "CPyDef_nodes___Node___accept" is nodes.Node.accept.
 *
 * Cython (Compiler/Naming.py, Symtab.py): a prefix, then each scope as its length, its name and
 * "_", then the function's name, perhaps after a number that makes it unique. mypyc
 * (mypyc/namegen.py): a prefix, then names separated by "___".
 */
#ifndef KRAIT_NATIVE_NAMES_CYTHON_NAME_H
#define KRAIT_NATIVE_NAMES_CYTHON_NAME_H

#include <stdbool.h>

/*
 * Allocated; NULL: not one of theirs, or out of memory. *ret_wrapper: it only unpacks Python's
 * arguments for the function with the same name.
 */
char *cython_name(const char *symbol, bool *ret_wrapper)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_NATIVE_NAMES_CYTHON_NAME_H */
