/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_python.h - the interpreter in a core: by the files that were mapped, or, from 3.13 on, by the table that lies
 * in its memory.
 */
#ifndef KRAIT_CORE_CORE_PYTHON_H
#define KRAIT_CORE_CORE_PYTHON_H

#include "core/core_file.h"

struct core_python {
	__u64 runtime_addr;
	__u32 version; /* PY_VERSION_HEX */
	char file[256]; /* "" unknown */
};

/* 0; -ENOEXEC none was found, -ENOTSUP one that krait does not know; why is a sentence. */
int core_python_find(const struct core_file *c, struct core_python *ret, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_CORE_CORE_PYTHON_H */
