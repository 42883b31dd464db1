/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_listing.h - the instructions without samples of a function that has some: as frames of the dictionary in which nothing is counted.
 *
 * Must hold: only what is an instruction is listed, and not its caches. Where what an instruction was cannot be told, and so how
 * many units of cache it has, nothing is listed up to the next one that has samples.
 */
#ifndef KRAIT_IMPORT_CODE_LISTING_H
#define KRAIT_IMPORT_CODE_LISTING_H

#include <linux/types.h>

struct dict;
struct dso_reader;

/* A place that has samples. */
struct code_place {
	__u64 offset; /* in the DSO */
	__u16 opcode; /* profile/opcodes.h */
	struct dso_reader *reader;
};

/* Of the functions that these are in; sorts them. */
void code_list(struct dict *dict, struct code_place *places, __u32 cnt);

#endif /* KRAIT_IMPORT_CODE_LISTING_H */
