/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_rows.h - makes rows for code without unwind information by reading the code itself:
 * functions for which compilers write no entry (LLVM's non-throwing ones without "uwtable": numba),
 * assembly (OpenBLAS's), PLTs.
 *
 * A function is followed from its first instruction on, along its branches, keeping track of what
 * it pushes. Its rows count only if everything is consistent: each instruction is known, paths that
 * meet have the same stack, and wherever it returns the stack is as at the call. A trace of
 * CPython's JIT on 3.13 and 3.14 is preceded by its own function, which calls it and saves
 * registers for it: it is followed from there on.
 *
 * Must hold: the bytes are untrusted. Time and memory depend only on their number; inconsistent
 * code gets no rows.
 */
#ifndef KRAIT_NATIVE_ROWS_CODE_ROWS_H
#define KRAIT_NATIVE_ROWS_CODE_ROWS_H

#include <linux/types.h>

struct row_table;

/* Can code of that size, at that offset, contain a function? Otherwise it is not worth reading. */
int code_rows_fit(__u64 offset, __u64 size);
/*
 * Adds rows for functions at multiples of 16, or after the padding behind a function. Offsets are
 * those of the table.
 */
void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t);

#endif /* KRAIT_NATIVE_ROWS_CODE_ROWS_H */
