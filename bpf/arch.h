/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch.h - what the kernel's side and user space have to know about the machine. Registers are words by number, not
 * members by name: newer kernels have narrowed some members, and the verifier refuses a narrow load from the context
 * of a perf event program.
 *
 * One file for each: arch_x86.h, arch_arm64.h. For another one:
 *
 *   here                    registers: DWARF's numbers, the kernel's order of them (asm/ptrace.h), what tells user mode;
 *                           where a system call's number and arguments are, and how a thread looks behind one;
 *                           the thread pointer, what pthread_self() is beside it, and struct pthread's tid;
 *                           the form of thread-local variables of modules loaded later;
 *                           what a return address, and one to read from, may have besides the address
 *   vmlinux/ARCH            the kernel's types (scripts/gen-vmlinux)
 *   user/python/layout/     py_builtin_offsets.c: where the layouts of 3.8 to 3.12 differ
 *   user/native/rows/       ARCH_insn, ARCH_state: code without unwind tables, functions of the C library that no
 *                           table has, trampolines; cfi.c: forms that its linkers write
 *   user/native/names/      plt.c: stubs; their relocations, by the file's machine
 *   user/process/elf/       elf_runtime.c: main() from the entry point, by the file's machine
 *
 * No other file asks which machine it is built for (scripts/lint).
 */
#ifndef KRAIT_ARCH_H
#define KRAIT_ARCH_H

#if defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#include "bpf/arch_arm64.h"
#elif defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))
#include "bpf/arch_x86.h"
#else
#error "krait knows x86-64 and arm64"
#endif

#endif /* KRAIT_ARCH_H */
