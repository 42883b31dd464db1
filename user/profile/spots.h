/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spots.h - what each place in Python code cost, at the profile's finest resolution: a function's
 * line, the columns of what was evaluated there, and, if opcodes were recorded, the instruction.
 *
 * A spot's self value covers what ran while it was the innermost place in Python, including C that
 * it called; its total covers samples with it anywhere on the stack, recursion counted once. So the
 * totals of a line's spots may add up to more than the line's.
 *
 * Instructions of the dictionary that are on no stack (capture/import/code_listing.h) become spots without
 * counts.
 *
 * Must hold: the self values of all spots, plus samples without Python, add up to all that was
 * counted.
 */
#ifndef KRAIT_PROFILE_SPOTS_H
#define KRAIT_PROFILE_SPOTS_H

#include <linux/types.h>

#include "profile/counts.h"

struct spot {
	__u32 file, name; /* string ids of the dictionary */
	int first_line; /* of the function; -1 unknown */
	int line; /* -1 unknown */
	int column,
		/* bytes of UTF-8 from the line's start; -1: unknown, or on another line */
		end_column;
	int unit; /* code unit (2 bytes) of the instruction; -1: unknown */
	__u16 opcode; /* opcodes.h; 0 unknown */
	__u64 self, total; /* in the counts' share unit */
};

struct spots {
	const struct dict *dict;
	struct spot *list; /* sorted by path, line, column, end, function, unit, opcode */
	__u32 cnt;
	__u64 all; /* everything counted, with and without Python */
	__u64 self; /* sum over all spots */
	bool has_opcodes; /* at least one spot has one */
};

/*
 * From the current counts, whose dictionary must not change while the spots are used. Returns 0 or
 * -ENOMEM.
 */
int spots_make(struct spots *ret, const struct counts *c) __attribute__((warn_unused_result));
void spots_free(struct spots *s);
/* The spots of a line, in order; NULL and 0: none. file: a string id. */
const struct spot *spots_of_line(const struct spots *s, __u32 file, int line, __u32 *ret_cnt);
#define cleanup_spots __attribute__((cleanup(spots_free)))

#endif /* KRAIT_PROFILE_SPOTS_H */
