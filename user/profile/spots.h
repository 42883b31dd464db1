/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spots.h - what each place in Python code took, as fine as the profile has it: a function's line, the columns of
 * what was evaluated there, and where opcodes were recorded the instruction.
 *
 * A spot has for its own what ran while it was the innermost place in Python, the C that it called included; its total is
 * what has it anywhere on the stack, recursion once. So the totals of a line's spots may add up to more than
 * the line's.
 *
 * Where a dictionary has instructions that are on no stack (import/code_listing.h), they are spots without numbers.
 *
 * Must hold: the own numbers of all spots, and what has no Python, add up to all that was counted.
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
		end_column; /* bytes of UTF-8 from the line's start; -1 unknown, or on another line */
	int unit; /* code unit (2 bytes) of the instruction; -1 unknown */
	__u16 opcode; /* opcodes.h; 0 unknown */
	__u64 self, total; /* of the counts' shares */
};

struct spots {
	const struct dict *dict;
	struct spot *list; /* by path, line, column, end, function, unit, opcode */
	__u32 cnt;
	__u64 all; /* that was counted, with and without Python */
	__u64 self; /* of all spots */
	bool has_opcodes; /* of one spot at least */
};

/* Of the counts as they are, whose dictionary must not change while the spots are used. 0 or -ENOMEM. */
int spots_make(struct spots *ret, const struct counts *c) __attribute__((warn_unused_result));
void spots_free(struct spots *s);
/* Those of a line, in order; NULL and 0 where it has none. file: a string id. */
const struct spot *spots_of_line(const struct spots *s, __u32 file, int line, __u32 *ret_cnt);
#define cleanup_spots __attribute__((cleanup(spots_free)))

#endif /* KRAIT_PROFILE_SPOTS_H */
