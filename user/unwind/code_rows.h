/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_rows.h - rows of code that nothing describes, by reading the code itself: functions of which
 * compilers write no entry (LLVM's that cannot throw, without "uwtable": numba), assembly (OpenBLAS's), PLTs.
 *
 * A function is followed from its first instruction on, with what it has pushed, along its branches. Its rows
 * count only if all of it adds up: each instruction is known, ways that meet have the same stack, and wherever it
 * returns the stack is as it was at the call. Of CPython's JIT on 3.13 and 3.14 a trace has a function of its own
 * before it, which calls it and saves registers for it: it is followed from there on.
 *
 * Must hold: the bytes are anybody's. Time and memory grow with their number only; what does not add up
 * has no rows.
 */
#ifndef KRAIT_UNWIND_CODE_ROWS_H
#define KRAIT_UNWIND_CODE_ROWS_H

#include <linux/types.h>

struct row_table;

/* Is there room for a function in code of that size, which begins at that offset? Only that is worth reading. */
int code_rows_fit(__u64 offset, __u64 size);
/*
 * Puts rows of the functions that begin at multiples of 16 there, behind what a function ends with. Offsets, and the
 * first of them, are those of the table.
 */
void code_rows(const __u8 *code, __u64 size, __u64 offset, struct row_table *t);

#endif /* KRAIT_UNWIND_CODE_ROWS_H */
