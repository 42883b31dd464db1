/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch_x86.h - x86-64 (arch.h). */
#ifndef KRAIT_ARCH_X86_H
#define KRAIT_ARCH_X86_H

/* ---- DWARF's numbers (System V psABI, 3.6.2) ----------------------------------------------------- */

#define UNWIND_REG_FP 6
#define UNWIND_REG_SP 7
/* Preserved across calls; some functions address their frame by it: rbx in ld.so's trampolines. */
#define UNWIND_REG_BASE 3
#define UNWIND_REG_RA 16
/* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 */
#define UNWIND_REGS 16

/* ---- user registers, as the kernel saves them (struct pt_regs, asm/ptrace.h) --------------------- */

#define UNWIND_SAVED_WORDS 21
/* Word of each of DWARF's. */
#define UNWIND_REG_WORDS                                                                           \
	{                                                                                          \
		10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0                               \
	}
#define UNWIND_WORD_FP 4
#define UNWIND_WORD_IP 16
#define UNWIND_WORD_SP 19
#define UNWIND_WORD_MODE 17 /* cs */
#define MODE_IS_USER(mode) (((mode)&3) == 3)
/* General registers are the first words. */
#define REGS_GENERAL 15
/* Of the system call: orig_ax; negative if the kernel was entered in another way. */
#define REGS_SYSCALL(regs) ((__s32)(regs)[15])
/* For a thread whose number is said apart from the other registers: here it is one of them. */
#define REGS_PUT_SYSCALL(regs, number) ((void)(number))
/* di, si, dx, r10, r8, r9 */
#define REGS_SYSCALL_ARGS                                                                          \
	{                                                                                          \
		14, 13, 12, 7, 9, 8                                                                \
	}
/*
 * Right after a system call: its number is in orig_ax, and the syscall instruction has copied ip into rcx. If a
 * signal handler is about to begin, ip differs.
 */
#define REGS_BEHIND_SYSCALL(regs) ((__s64)(regs)[15] >= 0 && (regs)[11] == (regs)[UNWIND_WORD_IP])

/* ---- threads -------------------------------------------------------------------------------------- */

/* In struct task_struct. */
#define THREAD_POINTER thread.fsbase
/* pthread_self() is the thread pointer (psABI, TLS variant II), and begins with its own address. */
#define THREAD_IS(thread_id, thread_ptr) ((thread_id) == (thread_ptr))
#define THREAD_POINTER_ABOVE 0
/*
 * struct pthread of glibc 2.17 to 2.41 (nptl/descr.h): its tid, which no header publishes, follows a header of 704
 * bytes and a list; header.self is the third pointer. In musl 1.2 (pthread_impl.h) self is the first pointer.
 */
#define PTHREAD_GLIBC_SELF 16
#define PTHREAD_GLIBC_TID 720
#define PTHREAD_MUSL_TID 48
/* Bytes of glibc's pthread_mutex_t (sysdeps/x86/nptl/bits/pthreadtypes-arch.h). */
#define PTHREAD_GLIBC_MUTEX 40
/*
 * Where the dynamic linker stores the number of a module's block of thread-local variables (R_X86_64_DTPMOD64), or a
 * descriptor of a variable (R_X86_64_TLSDESC).
 */
#define TLS_RELOC_MODULE 16
#define TLS_RELOC_DESCRIPTOR 36
/*
 * A thread's table of blocks (dtv), by C library: bytes per entry; from entry 0 to the number of entries; from the
 * thread pointer to the table's address. glibc counts from entry 1 on; musl's entry 0 is the number.
 */
#define TLS_TABLES                                                                                 \
	{                                                                                          \
		{ 16, -16, 8 },                                                                    \
		{                                                                                  \
			8, 0, 8                                                                    \
		}                                                                                  \
	}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* The kernel refuses what is no address. */
#define READ_ADDR(addr) (addr)

/* ---- code ------------------------------------------------------------------------------------------ */

/* Return addresses are as they are. */
#define UNWIND_CODE_ADDR(addr) (addr)

/* Does a call leave the return address in a register, and not on the stack? */
#define UNWIND_RA_IN_REGISTER 0
/* Of ELF files: EM_X86_64. */
#define ARCH_ELF_MACHINE 62
#define ARCH_NAME "x86-64"
/* An instruction without effect, with a byte to read from it: nopl byte(%rax) */
#define ARCH_NOP(byte) (0x00401f0fU | (__u32)(byte) << 24)

#endif /* KRAIT_ARCH_X86_H */
