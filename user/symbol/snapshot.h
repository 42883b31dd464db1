/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - a code object from a record: a few regions of the target's memory, as the kernel saw
 * them in the interrupt.
 *
 * They are read as a struct memory, by the same code that reads live memory, with all its checks.
 */
#ifndef KRAIT_SYMBOL_SNAPSHOT_H
#define KRAIT_SYMBOL_SNAPSHOT_H

#include <linux/types.h>

#include "abi.h"
#include "symbol/code_cache.h"

/*
 * Reads the object into *e, which is empty. type_addr: of code objects, 0: unknown yet. Returns 0,
 * or -errno: it is incomplete, or not the object that was interrupted.
 */
int snapshot_read_entry(const struct record_code *record, const struct py_offsets *offsets,
			__u64 type_addr, struct code_entry *e) __attribute__((warn_unused_result));
/* Reads only its head, unchecked. Returns 0 or -errno. */
int snapshot_read_head(const struct record_code *record, const struct py_offsets *offsets,
		       struct code_head *ret) __attribute__((warn_unused_result));

#endif /* KRAIT_SYMBOL_SNAPSHOT_H */
