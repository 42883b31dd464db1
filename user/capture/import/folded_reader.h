/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded_reader.h - reads and counts the folded stacks of any tool.
 *
 * A line that is not a stack is skipped and counted, never guessed. "NAME (FILE:LINE)" becomes a
 * function with file and line; "[…]" is a mark; a first frame without a file, above a frame with
 * one or a mark, is a process.
 */
#ifndef KRAIT_CAPTURE_IMPORT_FOLDED_READER_H
#define KRAIT_CAPTURE_IMPORT_FOLDED_READER_H

#include <linux/types.h>
#include <stdio.h>

#include "profile/counts.h"
#include "profile/stack_filter.h"

/* 2,048 frames of 500 bytes; a longer line is malformed. */
#define FOLDED_MAX_LINE (1UL << 20)
/* Keeps sums of counts from overflowing. */
#define FOLDED_MAX_SAMPLES (1ULL << 62)

struct folded_stats {
	__u64 lines; /* all, good and bad */
	__u64 stacks; /* lines accepted */
	__u64 samples;
	__u64 filtered; /* samples of unwanted stacks */
	__u64 malformed;
	__u64 first_malformed; /* number of the first such line, from 1; 0: none */
};

/*
 * filter: which stacks are wanted, NULL: all. Returns 0, or -errno if reading failed or memory ran
 * out; the stats are filled in any case.
 */
int folded_read(struct counts *c, FILE *in, struct stack_filter *filter,
		struct folded_stats *ret_stats);

#endif /* KRAIT_CAPTURE_IMPORT_FOLDED_READER_H */
