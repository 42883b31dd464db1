/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_rows.h - the rows of code that a process has made: from memory, not from a file.
 *
 * LLVM's JITs (numba) write an .eh_frame next to the code that it is of, which is found by what an entry
 * common to all functions looks like; CPython's trampolines (-X perf, 3.12+) have none, and are copies of one of
 * a few functions (Python/asm_trampoline.S).
 *
 * Whoever has read the memory puts it into one file, with a header that says what it is of.
 *
 * Must hold: the memory is the process's, who may have written anything into it: bounded as eh_frame.h
 * says; rows are of the code that the header names, and of nothing else. krait calls it in a parser only.
 */
#ifndef KRAIT_UNWIND_MADE_ROWS_H
#define KRAIT_UNWIND_MADE_ROWS_H

#include <linux/types.h>

#include "unwind/row_table.h"

#define MADE_CODE_MAX 128
#define MADE_PIECES_MAX (3 * MADE_CODE_MAX)
/* Of all pieces. */
#define MADE_BYTES_MAX (8U << 20)
/* From the first code to the end of the last. */
#define MADE_SPAN_MAX (1ULL << 28)

struct made_code_range {
	__u64 start, end;
};

/* Memory, which lies one piece behind the other in the file, behind the header. */
struct made_piece {
	__u64 addr;
	__u32 size;
	__u32 unused;
};

struct made_header {
	__u32 code_cnt, piece_cnt;
	__u64 base; /* offset 0 of the rows: at or before the first code */
	struct made_code_range code[MADE_CODE_MAX];
	struct made_piece pieces[MADE_PIECES_MAX];
};

/* 0; -ENODATA: it has no rows; -ENOEXEC: not such a file; -E2BIG: too much of something; -errno. */
int made_rows(int fd, struct row_table *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_UNWIND_MADE_ROWS_H */
