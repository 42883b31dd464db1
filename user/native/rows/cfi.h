/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi.h - runs call frame instructions (DWARF 5, 6.4.2), as far as finding callers needs them. It
 * tracks only the canonical frame address, the return address, the frame pointer and the one
 * register by which a few functions address their frame.
 *
 * The machine's register numbers and the form of its stubs are here; the rest of the decoder does
 * not depend on the machine.
 *
 * Must hold: reads only what the cursor covers, and ends: every instruction takes at least one
 * byte, and one unit of the budget. Anything that krait has no rule for becomes "unknown", never
 * something else.
 */
#ifndef KRAIT_NATIVE_ROWS_CFI_H
#define KRAIT_NATIVE_ROWS_CFI_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/arch.h"
#include "bpf/native/rows.h"

/* What is left to read, of a section, an entry, or its instructions. */
struct cfi_cursor {
	const __u8 *pos, *end;
	bool bad; /* a read went beyond the end; everything reads as 0 from then on */
};

__u64 cfi_fixed(struct cfi_cursor *c, unsigned size);
__u64 cfi_uleb(struct cfi_cursor *c);
__s64 cfi_sleb(struct cfi_cursor *c);
/* That many bytes; or NULL, and c->bad is set. */
const __u8 *cfi_bytes(struct cfi_cursor *c, __u64 len);

/* Nested remember_state: compilers make two. */
#define CFI_STATES_MAX 16

enum cfi_how {
	CFI_SAME, /* the register is unchanged; for the return address: as at entry */
	CFI_AT_CFA, /* [CFA + off] */
	CFI_AT_REG, /* [reg + off] */
	CFI_IN_REG, /* only the return address: in another register */
	CFI_UNDEFINED,
	CFI_UNKNOWN, /* in a form that krait does not support */
};

struct cfi_place {
	__u8 how; /* enum cfi_how */
	__u8 reg;
	__s64 off;
};

struct cfi_state {
	__u8 cfa; /* enum unwind_cfa */
	__u64 cfa_reg;
	__s64 cfa_off, cfa_add;
	struct cfi_place fp, ra, base;
};

/* What a CIE, the entry shared by several functions, says about their instructions. */
struct cfi_common {
	__u64 code_align;
	__s64 data_align;
	__u64 ra_reg;
	bool signal;
	bool bad; /* krait cannot use it */
	struct cfi_state initial;
};

struct cfi_machine {
	const struct cfi_common *common;
	struct cfi_state state;
	struct cfi_state saved[CFI_STATES_MAX];
	unsigned saved_cnt;
	__u64 *budget; /* how many more instructions may be run */
	__u64 pc; /* address from which the state holds */
};

enum cfi_step {
	CFI_ADVANCED, /* to another pc: the earlier state holds up to there */
	CFI_END,
	CFI_BAD, /* the instructions make no sense, or the budget is used up */
};

void cfi_begin(struct cfi_machine *m, const struct cfi_common *common, __u64 pc, __u64 *budget);
/*
 * Runs instructions up to the next change of pc. set_loc, which compilers do not use, is bad. A
 * CIE's own instructions run with that CIE, whose initial state then comes from the machine's
 * calling convention.
 */
enum cfi_step cfi_run(struct cfi_machine *m, struct cfi_cursor *c);

/* Converts the state to a rule for the kernel. */
struct unwind_rule cfi_rule(const struct cfi_state *s, bool signal);

#endif /* KRAIT_NATIVE_ROWS_CFI_H */
