/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_verify.h - do these offsets fit this process?
 *
 * Offsets from a table or a debug file are claims about a build. Before they are used, they serve
 * to follow the runtime's own lists in live memory: interpreters, the thread states of each with
 * their back links, a thread id that is the thread pointer of a thread (which the x86-64 ABI makes
 * point at itself), and, if a thread has frames, its outermost code object, whose type must be
 * called "code". Other builds (Py_TRACE_REFS, other patches) fail one of these checks.
 *
 * The process runs meanwhile: a check that may have failed because of that is repeated, a few
 * times.
 *
 * Must hold: reads only, bounded; nothing unchecked is believed.
 */
#ifndef KRAIT_PYTHON_LAYOUT_PY_VERIFY_H
#define KRAIT_PYTHON_LAYOUT_PY_VERIFY_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/abi.h"

struct memory;

/*
 * Returns
 *  0         everything visible agrees with the offsets
 *  -EAGAIN   there is no interpreter or no thread state: not initialised yet, or finalised
 *  -ENODATA  it does not; why says what is wrong
 *  -errno    memory could not be read: -ESRCH, -EPERM
 */
int py_verify(const struct memory *m, const struct py_offsets *o, __u64 runtime_addr, char *why,
	      size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PYTHON_LAYOUT_PY_VERIFY_H */
