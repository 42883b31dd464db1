/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_unwind.h - the kernel's own native stack walk (bpf/native/unwind.h), with the kernel's own tables,
 * over memory that can be read from user space: for waiting threads.
 *
 * The thread is not stopped: the caller must make sure that it did not run meanwhile.
 *
 * Must hold: at most KRAIT_MAX_NATIVE steps, whatever the memory contains.
 */
#ifndef KRAIT_NATIVE_ROWS_STACK_UNWIND_H
#define KRAIT_NATIVE_ROWS_STACK_UNWIND_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct memory;
struct unwind_tables;

struct stack_unwind;

/* tables: borrowed. NULL: out of memory. */
struct stack_unwind *stack_unwind__new(const struct unwind_tables *tables)
	__attribute__((warn_unused_result, nonnull));
void stack_unwind__free(struct stack_unwind *u);

/* Which thread of which process. */
struct stack_unwind_of {
	const struct memory *memory; /* borrowed */
	__u32 space; /* number of its space in the tables */
	__u64 now_ns; /* CLOCK_MONOTONIC */
	__u64 regs[UNWIND_SAVED_WORDS]; /* user-mode registers, as the kernel saves them */
	bool behind_call; /* they are those right after a system call instruction */
};

/* The stack pointer in such registers. */
__u64 stack_unwind_sp(const __u64 regs[UNWIND_SAVED_WORDS]) __attribute__((nonnull));

struct stack_unwind_result {
	enum native_reason reason;
	bool unmapped; /* as SAMPLE_UNMAPPED */
	__u32 cnt;
	struct native_frame frames[KRAIT_MAX_NATIVE]; /* leaf first */
};
void stack_unwind__walk(struct stack_unwind *u, const struct stack_unwind_of *of,
			struct stack_unwind_result *ret) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_ROWS_STACK_UNWIND_H */
