/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_python.h - finds the interpreter in a core: by the mapped files or, from CPython 3.13 on, by
 * the table in its memory.
 */
#ifndef KRAIT_LOOK_CORE_CORE_PYTHON_H
#define KRAIT_LOOK_CORE_CORE_PYTHON_H

#include <stdbool.h>

#include "look/core/core_file.h"

struct core_python {
	__u64 runtime_addr;
	__u32 version; /* PY_VERSION_HEX */
	bool alone; /* as in struct py_process */
	char file[256]; /* "": unknown */
};

/* Returns 0, -ENOEXEC (none found) or -ENOTSUP (an unknown version); why gets a sentence. */
int core_python_find(const struct core_file *c, struct core_python *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_LOOK_CORE_CORE_PYTHON_H */
