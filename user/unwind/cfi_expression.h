/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_expression.h - the DWARF expressions that compilers, libc and linkers put into call frame
 * information, and no others: a register plus an offset, what lies there, and stubs of the PLT.
 */
#ifndef KRAIT_UNWIND_CFI_EXPRESSION_H
#define KRAIT_UNWIND_CFI_EXPRESSION_H

#include "unwind/cfi.h"

/* Where a register is saved: CFI_AT_REG, or CFI_UNKNOWN. */
struct cfi_place cfi_expression_place(struct cfi_cursor body);
/* Sets the CFA of *s; UNWIND_CFA_NONE where the form is not known. */
void cfi_expression_cfa(struct cfi_cursor body, struct cfi_state *s);

#endif /* KRAIT_UNWIND_CFI_EXPRESSION_H */
