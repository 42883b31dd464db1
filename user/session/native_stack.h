/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_stack.h - the native frames of one record: which module each is in, and what it is to the interpreter.
 *
 * Must hold: no frame that only a frame pointer has led to lies outside of code; the stack ends before it.
 */
#ifndef KRAIT_SESSION_NATIVE_STACK_H
#define KRAIT_SESSION_NATIVE_STACK_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct module;
struct native;

struct native_stack {
	struct native *native; /* of the process; NULL unknown */
	__u32 cnt;
	struct native_frame frames[KRAIT_MAX_NATIVE]; /* leaf first */
	const struct module *modules[KRAIT_MAX_NATIVE]; /* NULL: in no code that is known */
	__u8 origins[KRAIT_MAX_NATIVE]; /* enum native_origin */
	bool guessed[KRAIT_MAX_NATIVE]; /* as join_input.guessed */
	bool evals[KRAIT_MAX_NATIVE]; /* as join_input.evals, if asked for */
	__u32 evaluator; /* as join_input.evaluator */
	bool missed_made; /* it goes through code without rows that the process has made */
};

/* A stack of no frames. */
void native_stack_clear(struct native_stack *s, struct native *native) __attribute__((nonnull(1)));
/* The record's frames. *reason: how the chain ended, changed where it ends earlier here. */
void native_stack_take(struct native_stack *s, const struct record_sample *record,
		       enum native_reason *reason) __attribute__((nonnull));
/* evals: which frames evaluate Python is needed, as frames of Python have no addresses on the stack. */
void native_stack_find_roles(struct native_stack *s, const struct record_sample *record, bool evals)
	__attribute__((nonnull));

/* Where the frame's code is: a caller's, at its call. */
__u64 native_stack_place(const struct native_stack *s, __u32 i) __attribute__((nonnull));

#endif /* KRAIT_SESSION_NATIVE_STACK_H */
