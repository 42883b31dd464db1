/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linecache.h - the text of code that is in no file, where the program has given it to the module linecache: cells of
 * notebooks, code that libraries generate, and from 3.13 on that of python -c and of the interactive interpreter.
 */
#ifndef KRAIT_PYTHON_VALUES_LINECACHE_H
#define KRAIT_PYTHON_VALUES_LINECACHE_H

#include "python/values/object_text.h"

/* Bytes and lines of a text; a larger one is not read. */
#define LINECACHE_TEXT_MAX (1U << 20)
#define LINECACHE_LINES_MAX 65536U

/*
 * The lines of a file of that name, in an interpreter (as for module_attribute()). Returns 0 and a text that the caller frees;
 * -ENOENT: there is none; -EEXIST: there are several; -EFBIG; -ENOMEM; or the error of a read.
 */
int linecache_read(struct object_text *t, __u64 runtime_addr, __u64 interp_addr, const char *file,
		   char **ret) __attribute__((warn_unused_result, nonnull));

/* The number of the cell of IPython's whose code has that file name ("Out[2]"); 0: it is none, or it could not be read. */
__u32 linecache_cell(struct object_text *t, __u64 runtime_addr, __u64 interp_addr, const char *file)
	__attribute__((nonnull));

#endif /* KRAIT_PYTHON_VALUES_LINECACHE_H */
