/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cython_name.h - functions that Cython and mypyc have made of Python: "__pyx_pw_4lxml_5etree_8_Element_1append"
 * is lxml.etree._Element.append, "CPyDef_nodes___Node___accept" nodes.Node.accept.
 *
 * Cython (Compiler/Naming.py, Symtab.py): a prefix, then each scope as its length, its name and "_", then the
 * function's name, perhaps behind a number that makes it unique. mypyc (mypyc/namegen.py): a prefix, then
 * names with "___" between them.
 */
#ifndef KRAIT_SYMBOL_CYTHON_NAME_H
#define KRAIT_SYMBOL_CYTHON_NAME_H

#include <stdbool.h>

/*
 * Allocated; NULL: none of theirs, or out of memory. *ret_wrapper: it only takes Python's arguments apart for
 * the function of the same name.
 */
char *cython_name(const char *symbol, bool *ret_wrapper)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SYMBOL_CYTHON_NAME_H */
