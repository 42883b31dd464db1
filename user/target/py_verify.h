/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_verify.h - are these offsets those of this process?
 *
 * Offsets of a table or of a debug file are claims about a build. Before they are used, the runtime's
 * own lists are followed with them in live memory: interpreters, the thread states of each with
 * their back links, a thread id that is the thread pointer of a thread (which the x86-64 ABI
 * makes point at itself), and, where a thread has frames, its outermost code object, whose type must
 * be called "code". Other builds (Py_TRACE_REFS, other patches) fail in one of them.
 *
 * The process runs meanwhile: what may be a moment's disorder is looked at again, a few times.
 *
 * Must hold: reads only, bounded; nothing is believed that was not checked.
 */
#ifndef KRAIT_TARGET_PY_VERIFY_H
#define KRAIT_TARGET_PY_VERIFY_H

#include <linux/types.h>
#include <stddef.h>

#include "abi.h"

struct memory;

/*
 *  0         everything that could be seen is as the offsets say
 *  -EAGAIN   there is no interpreter or no thread state: not initialised yet, or finalised
 *  -ENODATA  it is not; why says what is wrong
 *  -errno    memory could not be read: -ESRCH, -EPERM
 */
int py_verify(const struct memory *m, const struct py_offsets *o, __u64 runtime_addr, char *why,
	      size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_TARGET_PY_VERIFY_H */
