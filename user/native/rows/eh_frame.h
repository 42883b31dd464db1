/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_frame.h - the entries of .eh_frame (LSB 5, 10.6) and .debug_frame (DWARF 5, 6.4.1): which
 * addresses have which call frame instructions.
 *
 * Must hold: the section is untrusted. Every step through it takes at least four bytes, malformed
 * entries are left out, and lists have limits: EH_ENTRIES_MAX, EH_COMMONS_MAX.
 */
#ifndef KRAIT_NATIVE_ROWS_EH_FRAME_H
#define KRAIT_NATIVE_ROWS_EH_FRAME_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "native/rows/cfi.h"

/* The largest libraries have 600,000 functions; 40 bytes each. */
#define EH_ENTRIES_MAX (2U << 20)
/* Linkers keep one of each kind. */
#define EH_COMMONS_MAX (1U << 16)
/* Instructions to run per file: the largest have 20 million. */
#define EH_BUDGET (100ULL << 20)

struct eh_section {
	const __u8 *data;
	__u64 size;
	__u64 address; /* where the file says that it is loaded */
	bool is_debug_frame;
	bool ends_at_zero; /* its size is a guess: it ends with an empty entry */
};

/* One function, or part of one. Addresses are the file's until the owner converts them to offsets. */
struct eh_entry {
	__u64 start, end;
	const __u8 *code; /* its instructions, within the section */
	__u32 code_size;
	__u32 common; /* index */
	__u32 order; /* order of occurrence: of two entries for one address the first one counts */
};

struct eh_frame {
	struct eh_entry *entries;
	struct cfi_common *commons;
	__u32 entry_cnt, entry_cap, common_cnt, common_cap;
	__u64 budget; /* instructions left */
};

/* All zeroes initially, except the budget. */
void eh_frame_init(struct eh_frame *f);
void eh_frame_free(struct eh_frame *f);

/* Adds a section's entries, which point into its data. Returns 0, -ENOMEM or -E2BIG. */
int eh_frame_add(struct eh_frame *f, const struct eh_section *s)
	__attribute__((warn_unused_result));

/*
 * Reads a pointer in one of the encodings of .eh_frame; base: the address that corresponds to
 * c->pos at the start. false if it is indirect through memory that a file does not have.
 */
bool eh_frame_pointer(struct cfi_cursor *c, __u8 encoding, const struct eh_section *s, __u64 *ret);

#endif /* KRAIT_NATIVE_ROWS_EH_FRAME_H */
