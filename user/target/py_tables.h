/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_tables.h - layouts of CPython 3.8 to 3.12, which say nothing of their own: data only.
 *
 * One table for each minor version; CPython keeps these structs as they are from x.y.0 on. They are
 * of x86-64 with the GIL and without Py_TRACE_REFS. Who takes one checks it against the process
 * (py_verify.h): another build must be refused, not misread.
 */
#ifndef KRAIT_TARGET_PY_TABLES_H
#define KRAIT_TARGET_PY_TABLES_H

#include <linux/types.h>

#include "abi.h"

#define PY_TABLES_OLDEST_MINOR 8

/* Without version, which is 0. NULL where there is none for 3.minor. */
const struct py_offsets *py_tables_find(unsigned minor);

#endif /* KRAIT_TARGET_PY_TABLES_H */
