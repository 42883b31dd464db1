/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_expression.h - recognises just those DWARF expressions that compilers, libc and linkers put
 * into call frame information: a register plus an offset, the word in memory there, and stubs of
 * the PLT.
 */
#ifndef KRAIT_UNWIND_CFI_EXPRESSION_H
#define KRAIT_UNWIND_CFI_EXPRESSION_H

#include "unwind/cfi.h"

/* Where a register is saved: CFI_AT_REG, or CFI_UNKNOWN. */
struct cfi_place cfi_expression_place(struct cfi_cursor body);
/* Sets the CFA of *s; UNWIND_CFA_NONE if the form is unsupported. */
void cfi_expression_cfa(struct cfi_cursor body, struct cfi_state *s);

#endif /* KRAIT_UNWIND_CFI_EXPRESSION_H */
