/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exception.h - is the thread handling or raising an exception?
 *
 * PyThreadState has (Include/cpython/pystate.h, 3.8 to 3.15), right before thread_id: [the
 * exception being raised; exc_state, up to 3.10;] _PyErr_StackItem *exc_info; PyObject *dict; int
 * gilstate_counter; PyObject *async_exc. exc_info leads to the exceptions being handled: a chain
 * with one item for each running generator and one for the thread itself. The first item that has
 * an exception counts. An item without one holds None or NULL, so its type must show whether it is
 * an exception: up to 3.10 its first word is the exception's class, later the exception.
 *
 * Must hold: what cannot be read counts as no exception. r says whose memory to read.
 */
#ifndef KRAIT_BPF_PYTHON_EXCEPTION_H
#define KRAIT_BPF_PYTHON_EXCEPTION_H

#include "bpf/abi.h"
#include "bpf/python/gil.h"
#include "bpf/read.h"

#define EXC_INFO(off) ((off)->thread.thread_id - 32)
/*
 * The exception being raised: curexc_type, with three words up to 3.11; up to 3.10 exc_state
 * follows.
 */
#define EXC_CURRENT(off)                                                                           \
	(EXC_INFO(off) - ((off)->version >= 0x030c0000 ? 8 :                                       \
			  (off)->version >= 0x030b0000 ? 24 :                                      \
							 56))
/* struct _err_stackitem: {exc_type, exc_value, exc_traceback, previous_item}, from 3.11 on {exc_value, previous_item}. */
#define EXC_PREVIOUS(off) ((off)->version >= 0x030b0000 ? 8 : 24)
/* PyTypeObject.tp_flags: 18 words behind tp_name (Include/cpython/object.h, 3.8 to 3.15). */
#define EXC_TYPE_FLAGS(off) ((off)->object.tp_name + 144)
/* Py_TPFLAGS_BASE_EXC_SUBCLASS, of an exception's type; Py_TPFLAGS_TYPE_SUBCLASS, of a class's. */
#define EXC_TYPE_IS (1UL << 30 | 1UL << 31)
/* Generators within generators: deeper ones are not searched. */
#define EXC_DEPTH 6

static __always_inline bool is_exception(const struct gil *r, const struct py_offsets *off,
					 __u64 object_addr)
{
	__u64 type_addr = 0, flags = 0;

	return object_addr && !read_from_u64(r, &type_addr, object_addr + off->object.ob_type) &&
	       type_addr && !read_from_u64(r, &flags, type_addr + EXC_TYPE_FLAGS(off)) &&
	       flags & EXC_TYPE_IS;
}

static __always_inline bool has_exception(const struct gil *r, const struct py_offsets *off,
					  __u64 tstate_addr)
{
	__u64 item_addr = 0, object_addr = 0;

	if (!tstate_addr)
		return false;
	if (!read_from_u64(r, &object_addr, tstate_addr + EXC_CURRENT(off)) && object_addr)
		return true;
	if (read_from_u64(r, &item_addr, tstate_addr + EXC_INFO(off)))
		return false;
	for (int i = 0; i < EXC_DEPTH && item_addr; i++) {
		__u64 at = item_addr;

		if (read_from_u64(r, &object_addr, at))
			return false;
		if (object_addr && is_exception(r, off, object_addr))
			return true;
		if (read_from_u64(r, &item_addr, at + EXC_PREVIOUS(off)))
			return false;
	}
	return false;
}

#endif /* KRAIT_BPF_PYTHON_EXCEPTION_H */
