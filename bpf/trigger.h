/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trigger.h - what an entry point knows about an interrupt. From here on nothing knows which kind of program it is.
 */
#ifndef KRAIT_BPF_TRIGGER_H
#define KRAIT_BPF_TRIGGER_H

#include "bpf/abi.h"
#include "bpf/native/walk_state.h"

struct wait_note;

/* What an entry point knows about the interrupt. The interrupted thread is the current one. */
struct trigger {
	void *ctx; /* the program's own context, for bpf_get_stack() */
	__u64 now_ns; /* CLOCK_MONOTONIC */
	__u64 time_ns; /* the time that the stack stands for: now_ns or a moment before */
	__u64 period; /* what the stack stands for, in units of the event */
	__u64 missed; /* ticks before it that never came, if period does not include them */
	__u32 event; /* index of the event */
	enum sample_context context; /* context that the program runs in: scratch.h */
	bool in_kernel; /* kernel code was interrupted: regs are invalid */
	struct native_regs regs; /* of the interrupted code */
	__u64 regs_addr; /* of all registers, in the kernel's memory; 0: not available, or ctx */
	/*
	 * The wait that is over, valid if has_wait. A separate flag, because the 6.1 verifier does
	 * not believe a NULL check on a pointer that may be NULL.
	 */
	const struct wait_note *wait;
	bool has_wait;
	__u64 wait_ns; /* the wait time, and CPU time with it, that the sample stands for */
	/* Constants of each program: */
	bool has_loop; /* bpf_loop() is available (5.17+) */
	bool ctx_is_regs; /* ctx is all registers of the interrupted code */
	bool has_kernel_stack; /* bpf_get_stack() takes ctx */
	__u64 kernel_skip; /* kernel frames at the top that belong to the program itself */
	__u64 began_ns; /* own_begin() */
	void *chains; /* who takes the chains of tasks and greenlets: see sample.h; NULL: the program itself */
};

#endif /* KRAIT_BPF_TRIGGER_H */
