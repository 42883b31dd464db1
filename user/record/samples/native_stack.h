/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_stack.h - the native frames of one record: the module of each, and its relation to the
 * interpreter.
 *
 * Must hold: no frame reached only by a frame pointer lies outside of code; the stack ends before
 * it.
 */
#ifndef KRAIT_RECORD_SAMPLES_NATIVE_STACK_H
#define KRAIT_RECORD_SAMPLES_NATIVE_STACK_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"

struct module;
struct native;

struct native_stack {
	struct native *native; /* of the process; NULL: unknown */
	__u32 cnt;
	struct native_frame frames[KRAIT_MAX_NATIVE]; /* leaf first */
	const struct module *modules[KRAIT_MAX_NATIVE]; /* NULL: in no known code */
	__u8 origins[KRAIT_MAX_NATIVE]; /* enum module_origin; never ORIGIN_EMBEDDER */
	bool guessed[KRAIT_MAX_NATIVE]; /* as join_input.guessed */
	bool evals[KRAIT_MAX_NATIVE]; /* as join_input.evals, if requested */
	__u32 evals_known; /* as join_input.evals_known */
	bool has_frame; /* as join_input.has_frame */
	__u32 evaluator; /* as join_input.evaluator */
	bool missed_made; /* the walk passed code without rows that the process has generated */
};

/* Makes it a stack without frames. */
void native_stack_clear(struct native_stack *s, struct native *native) __attribute__((nonnull(1)));
/* Takes the record's frames. *reason: how the chain ended; changed if it ends earlier here. */
void native_stack_take(struct native_stack *s, const struct record_sample *record,
		       enum native_reason *reason) __attribute__((nonnull));
/*
 * evals: find out which frames evaluate Python; needed if Python frames have no addresses on the
 * stack.
 */
void native_stack_find_roles(struct native_stack *s, const struct record_sample *record, bool evals)
	__attribute__((nonnull));

/* The position in the frame's code: for a caller, its call. */
__u64 native_stack_place(const struct native_stack *s, __u32 i) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_NATIVE_STACK_H */
