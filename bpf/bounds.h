/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bounds.h - what a compiler must not change, or some kernel's verifier refuses the program.
 *
 * Compilers move, copy, merge and drop what is redundant to them. The verifier needs a bound in the
 * very register that is used; it forgets bounds of copies (before 6.8), of numbers that went
 * through the stack (before 5.16), and of "or" (before 6.6). So bounds are instructions here, which no
 * clang from 13 to 23 looks into; a comparison in C may come before them, never instead.
 *
 * Must hold: everything here is right on the host, too.
 */
#ifndef KRAIT_BPF_BOUNDS_H
#define KRAIT_BPF_BOUNDS_H

#include "bpf/types.h"

#ifdef __bpf__

/* value & mask */
static __always_inline __u64 masked(__u64 value, __u32 mask)
{
	asm volatile("%0 &= %1" : "+r"(value) : "ri"((__u64)mask));
	return value;
}

/* value, but no more than max. */
static __always_inline __u64 at_most(__u64 value, __u64 max)
{
	asm volatile("if %0 <= %1 goto +1\n\t%0 = %1" : "+r"(value) : "ri"(max));
	return value;
}

/*
 * Behind a call of a helper, with its result: clang 13 makes one call of two whose sizes are
 * different constants, and the size a variable.
 */
#define keep_apart(result) asm volatile("" : "+r"(result))

/*
 * Adds at once, and says nothing of the order: for a __sync_fetch_and_add() clang from 19
 * on makes an instruction that 5.10 does not have.
 */
#define atomic_add(ptr, n) ((void)__atomic_fetch_add(ptr, n, __ATOMIC_RELAXED))

#else

static inline __u64 masked(__u64 value, __u32 mask)
{
	return value & mask;
}

static inline __u64 at_most(__u64 value, __u64 max)
{
	return value < max ? value : max;
}

#endif /* __bpf__ */
#endif /* KRAIT_BPF_BOUNDS_H */
