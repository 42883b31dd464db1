/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_rows.h - the rows of code that a process has generated: from memory, not from a file.
 *
 * LLVM's JITs (numba) write an .eh_frame next to the code it describes; we recognise it by the form
 * of an entry shared by all functions. CPython's trampolines (-X perf, 3.12+) have none, and are
 * copies of one of a few functions (Python/asm_trampoline.S).
 *
 * The reader of the memory puts it into one file, with a header that describes it.
 *
 * Must hold: the memory belongs to the process, which may have written anything into it: bounded
 * like eh_frame.h; rows cover only code named in the header. krait calls it in a parser only.
 */
#ifndef KRAIT_NATIVE_ROWS_MADE_ROWS_H
#define KRAIT_NATIVE_ROWS_MADE_ROWS_H

#include <linux/types.h>

#include "native/rows/row_table.h"

#define MADE_CODE_MAX 128
#define MADE_PIECES_MAX (3 * MADE_CODE_MAX)
/* For all pieces. */
#define MADE_BYTES_MAX (8U << 20)
/* From the start of the first code to the end of the last. */
#define MADE_SPAN_MAX (1ULL << 28)

struct made_code_range {
	__u64 start, end;
};

/* A piece of memory; in the file the pieces follow each other, after the header. */
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

/*
 * Returns 0; -ENODATA: it has no rows; -ENOEXEC: not such a file; -E2BIG: too much of something;
 * -errno.
 */
int made_rows(int fd, struct row_table *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_NATIVE_ROWS_MADE_ROWS_H */
