/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_listing.h - adds the instructions without samples of functions that have some: as frames of
 * the dictionary without counts.
 *
 * Must hold: only instructions are listed, not their caches. If an instruction cannot be
 * identified, and so neither its number of cache units, nothing is listed up to the next one with
 * samples.
 */
#ifndef KRAIT_CAPTURE_IMPORT_CODE_LISTING_H
#define KRAIT_CAPTURE_IMPORT_CODE_LISTING_H

#include <linux/types.h>

struct dict;
struct dso_reader;

/* A place with samples. */
struct code_place {
	__u64 offset; /* in the DSO */
	__u16 opcode; /* profile/opcodes.h */
	struct dso_reader *reader;
};

/* Lists the functions that contain these places, which it sorts. */
void code_list(struct dict *dict, struct code_place *places, __u32 cnt);

#endif /* KRAIT_CAPTURE_IMPORT_CODE_LISTING_H */
