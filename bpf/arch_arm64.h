/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arch_arm64.h - arm64 (arch.h). */
#ifndef KRAIT_ARCH_ARM64_H
#define KRAIT_ARCH_ARM64_H

/* ---- DWARF's numbers (AADWARF64) ------------------------------------------------------------------ */

#define UNWIND_REG_FP 29
#define UNWIND_REG_SP 31
/* Preserved across calls: what a compiler takes first. */
#define UNWIND_REG_BASE 19
#define UNWIND_REG_RA 30
#define UNWIND_REGS 32

/* ---- user registers, as the kernel saves them (struct pt_regs, asm/ptrace.h) --------------------- */

/* user_regs of 34 words, orig_x0, syscallno. */
#define UNWIND_SAVED_WORDS 36
#define UNWIND_REG_WORDS                                                                           \
	{                                                                                          \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  \
			23, 24, 25, 26, 27, 28, 29, 30, 31                                         \
	}
#define UNWIND_WORD_FP 29
#define UNWIND_WORD_IP 32
#define UNWIND_WORD_SP 31
#define UNWIND_WORD_MODE 33 /* pstate: the exception level is 0 */
#define MODE_IS_USER(mode) (((mode)&15) == 0)
#define REGS_GENERAL 29
/* syscallno: -1 if the kernel was entered in another way, or a signal's handler is about to begin */
#define REGS_SYSCALL(regs) ((__s32)(regs)[35])
/* For a thread whose number is said apart from the other registers; x0 has not been overwritten yet. */
#define REGS_PUT_SYSCALL(regs, number) ((regs)[34] = (regs)[0], (regs)[35] = (__u32)(number))
/* orig_x0, x1 ... x5 */
#define REGS_SYSCALL_ARGS                                                                          \
	{                                                                                          \
		34, 1, 2, 3, 4, 5                                                                  \
	}
#define REGS_BEHIND_SYSCALL(regs) (REGS_SYSCALL(regs) >= 0)

/* ---- threads -------------------------------------------------------------------------------------- */

/* In struct task_struct: tpidr_el0, as of the thread's last switch. */
#define THREAD_POINTER thread.uw.tp_value
/*
 * Between pthread_self() and the thread pointer lies the C library's struct pthread (TLS variant I; glibc 2.36: 0x740
 * bytes, musl: 200), which is less than what lies between two threads: each is at the top of its own stack.
 */
#define THREAD_POINTER_ABOVE 4096
#define THREAD_IS(thread_id, thread_ptr) ((thread_ptr) - (thread_id) < THREAD_POINTER_ABOVE)
/*
 * struct pthread of glibc 2.17 to 2.41 (nptl/descr.h): 24 words, a list, the tid; it has no pointer to itself. musl
 * 1.2 (pthread_impl.h) begins with one.
 */
#define PTHREAD_GLIBC_SELF (-1)
#define PTHREAD_GLIBC_TID 208
#define PTHREAD_MUSL_TID 32
/* Bytes of glibc's pthread_mutex_t (sysdeps/aarch64/nptl/bits/pthreadtypes-arch.h). */
#define PTHREAD_GLIBC_MUTEX 48
/*
 * Where the dynamic linker stores the number of a module's block of thread-local variables (R_AARCH64_TLS_DTPMOD), or
 * a descriptor of a variable (R_AARCH64_TLSDESC).
 */
#define TLS_RELOC_MODULE 1028
#define TLS_RELOC_DESCRIPTOR 1031
/*
 * A thread's table of blocks (dtv), by C library: bytes per entry; from entry 0 to the number of entries; from the
 * thread pointer to the table's address. glibc counts from entry 1 on; musl's entry 0 is the number, and struct
 * pthread, which is below the thread pointer, ends with the table's address.
 */
#define TLS_TABLES                                                                                 \
	{                                                                                          \
		{ 16, -16, 0 },                                                                    \
		{                                                                                  \
			8, 0, -8                                                                   \
		}                                                                                  \
	}

/* ---- memory ---------------------------------------------------------------------------------------- */

/*
 * bpf_probe_read_user() ignores the top byte, a tag (arch/arm64/include/asm/uaccess.h: access_ok()); process_vm_readv()
 * and /proc/PID/mem do not. CPython's pointers have none: here, too, such an address has no memory.
 */
#define READ_ADDR(addr) ((addr) >> 56 ? ~0ULL : (addr))

/* ---- code ------------------------------------------------------------------------------------------ */

/*
 * Without the signature of pointer authentication, which is above the address. Code is below 2^48 even where user
 * space has 52 bits: who wants more must ask mmap() for it (Documentation/arch/arm64/memory.rst).
 */
#define UNWIND_CODE_ADDR(addr) ((addr) & ((1ULL << 48) - 1))

/* Does a call leave the return address in a register, and not on the stack? */
#define UNWIND_RA_IN_REGISTER 1
/* Of ELF files: EM_AARCH64. */
#define ARCH_ELF_MACHINE 183
#define ARCH_NAME "arm64"
/* An instruction without effect, with a byte to read from it: movz xzr, #byte; nop without one */
#define ARCH_NOP(byte) ((byte) ? 0xd280001fU | (__u32)(byte) << 5 : 0xd503201fU)

#endif /* KRAIT_ARCH_ARM64_H */
