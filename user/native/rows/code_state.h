/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_state.h - what is known about the stack between two instructions of a function without unwind
 * information (code_rows.h): where the CFA is, and where the caller's values of the frame pointer, of the
 * base register and, where calls leave it in a register, of the return address are.
 *
 * One pair of files for each machine: what an instruction is (x86_insn, a64_insn), what it does to the stack
 * (x86_state.c, a64_state.c). There is also what else of code one has to know by its bytes.
 *
 * Must hold: what the preceding instructions do not prove is LOST, or the function is rejected.
 */
#ifndef KRAIT_ROWS_CODE_STATE_H
#define KRAIT_ROWS_CODE_STATE_H

#include <linux/types.h>
#include <stdbool.h>

/* What every machine's instructions are to code_rows.c; the machine's own kinds follow. */
enum code_kind {
	CODE_BAD, /* unknown */
	CODE_JCC, /* to value, relative to the end of the instruction */
	CODE_JMP,
	CODE_JMP_BY_REG, /* to an address from a register or memory: a jump table, or a tail call */
	CODE_JMP_BY_GOT, /* to an address in memory beside the code: a stub */
	CODE_CALL, /* to value, if that is known; else 0 */
	CODE_RET,
	CODE_TRAP, /* execution stops here */
	CODE_NOP,
	CODE_MACHINE,
};

struct unwind_rule;

/* One of them is this machine's, the other is empty. */
#include "native/rows/a64_insn.h"
#include "native/rows/x86_insn.h"

/* Reads no byte beyond the end. */
struct code_insn code_insn(const __u8 *code, __u64 left);
/* Bytes of padding between functions that begin there; 0: something else. */
__u64 code_filling(const __u8 *code, __u64 left);
/*
 * Does a function begin there that a just-in-time compiler puts on a page of its own? What precedes it may be
 * anything.
 */
bool code_is_trace(const __u8 *code, __u64 left);
/* Does only the beginning of a function look like that? */
bool code_is_prologue(const __u8 *code, __u64 left);

/*
 * The state at the first instruction. is_inner: hand-written code that is called without the usual convention, and may
 * change the base register.
 */
struct code_state code_state_begin(bool is_inner);
/* Applies one of the machine's own kinds, or what a call does to registers. False: it makes no sense here. */
bool code_state_apply(struct code_state *s, const struct code_insn *insn);
bool code_state_same(const struct code_state *a, const struct code_state *b);
/* Is the state as at the call? Then a jump goes to another function. */
bool code_state_is_left(const struct code_state *s, bool is_inner);
/* Is the state as the header of stubs leaves it to the dynamic linker, which finds the return address on the stack? */
bool code_state_is_binding(const struct code_state *s);
/* The register that gives the CFA has been overwritten. */
bool code_state_is_lost(const struct code_state *s);
struct unwind_rule code_state_rule(const struct code_state *s);

/*
 * In glibc the code after the system call of clone() and clone3() may have no entry: the rule for it, if that is
 * what lies there. The caller passes there, and so does the new thread, which has no caller.
 */
bool code_is_clone(const __u8 *code, __u64 size, struct unwind_rule *ret);
#define CODE_CLONE_MAX 16

/* CPython's trampoline (Python/asm_trampoline.S): its bytes, and an .eh_frame's instructions for them. */
struct code_trampoline {
	const __u8 *code, *cfi;
	__u32 size, cfi_size;
};
/* The one whose copy is there; NULL: none, or it can be read like other code. */
const struct code_trampoline *code_trampoline_at(const __u8 *code, __u64 left);
/* Bytes of an instruction that marks a target of calls; 0: something else is there. */
__u32 code_landing(const __u8 *code, __u64 left);

#endif /* KRAIT_ROWS_CODE_STATE_H */
