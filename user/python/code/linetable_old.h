/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linetable_old.h - translates the line tables of CPython 3.8 to 3.10 to the format of 3.11.
 *
 * Both old formats are pairs of bytes (bytes of code, lines). In co_lnotab (3.8, 3.9;
 * Objects/lnotab_notes.txt, PyCode_Addr2Line()) a pair says where the next line begins, and the
 * last line extends to the end of the code. In co_linetable of 3.10
 * (PyLineTable_NextAddressRange()) a pair is a range and its line; -128 is no line. Neither has
 * columns or end lines: the result uses entries of the form "no columns", so everything else in
 * linetable.h works with them, too.
 *
 * Must hold: the bytes come from the target and may be anything; the result is at most
 * LINETABLE_OLD_MAX_SZ long and is cut there.
 */
#ifndef KRAIT_PYTHON_CODE_LINETABLE_OLD_H
#define KRAIT_PYTHON_CODE_LINETABLE_OLD_H

#include <linux/types.h>

/* Code with one long line takes a byte and a half for 16 bytes of it. */
#define LINETABLE_OLD_MAX_SZ (4u << 20)

/* *ret is malloc'ed, NULL if empty. code_size is that of co_code in bytes. Returns 0 or -ENOMEM. */
int linetable_from_lnotab(const __u8 *bytes, __u32 size, __u32 code_size, __u8 **ret,
			  __u32 *ret_size) __attribute__((warn_unused_result));
int linetable_from_3_10(const __u8 *bytes, __u32 size, __u8 **ret, __u32 *ret_size)
	__attribute__((warn_unused_result));

#endif /* KRAIT_PYTHON_CODE_LINETABLE_OLD_H */
