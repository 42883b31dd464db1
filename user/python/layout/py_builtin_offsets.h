/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_builtin_offsets.h - the offsets of CPython 3.8 to 3.12, which publish none: data only.
 *
 * One table per minor version; CPython keeps these structs unchanged from x.y.0 on. The tables are
 * for x86-64 and arm64 with the GIL and without Py_TRACE_REFS. Check one against the process before use
 * (py_verify.h): another build must be refused, not misread.
 */
#ifndef KRAIT_PYTHON_LAYOUT_PY_BUILTIN_OFFSETS_H
#define KRAIT_PYTHON_LAYOUT_PY_BUILTIN_OFFSETS_H

#include <linux/types.h>

#include "bpf/abi.h"

/* Without version, which is 0. NULL: none for 3.minor. */
const struct py_offsets *py_builtin_offsets_find(unsigned minor);

#endif /* KRAIT_PYTHON_LAYOUT_PY_BUILTIN_OFFSETS_H */
