/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_arch.h - what the unwinder has to know about the machine. To add one: DWARF's register
 * numbers, and where the kernel saves each register.
 */
#ifndef KRAIT_BPF_NATIVE_UNWIND_ARCH_H
#define KRAIT_BPF_NATIVE_UNWIND_ARCH_H

#if defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))
#define UNWIND_REG_FP 6
#define UNWIND_REG_SP 7
/* Preserved across calls; some functions address their frame by it: rbx in ld.so's trampolines. */
#define UNWIND_REG_BASE 3
/* DWARF's rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15, in struct pt_regs (asm/ptrace.h). */
#define UNWIND_REGS 16
#define UNWIND_REG_WORDS                                                                           \
	{                                                                                          \
		10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0                               \
	}
#define UNWIND_WORD_IP 16
/* All that the kernel saves: TASK_REGS_WORDS. */
#define UNWIND_SAVED_WORDS 21
#else
#define UNWIND_REG_FP 29
#define UNWIND_REG_SP 31
#define UNWIND_REG_BASE 19
#define UNWIND_REGS 32
#define UNWIND_REG_WORDS                                                                           \
	{                                                                                          \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  \
			23, 24, 25, 26, 27, 28, 29, 30, 31                                         \
	}
#define UNWIND_WORD_IP 32
#define UNWIND_SAVED_WORDS 36
#endif

#endif /* KRAIT_BPF_NATIVE_UNWIND_ARCH_H */
