/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_clock.h - a thread's CPU time by the kernel's own account, against what its ticks stand for.
 *
 * The account is read where the thread is first met, from time to time, and at its end
 * (bpf/wait/clock.h). What it has counted in between and no tick stands for, neither a sample nor one
 * that is known to be lost or missed, is CPU time that no tick found.
 *
 * Must hold: nothing is told that chance can explain, nor of a thread whose account is not known
 * from the moment on at which its ticks count; nothing is told twice.
 */
#ifndef KRAIT_RECORD_SAMPLES_THREAD_CLOCK_H
#define KRAIT_RECORD_SAMPLES_THREAD_CLOCK_H

#include <linux/types.h>
#include <stdbool.h>

struct record_clock;

struct thread_clock {
	bool known; /* since the first reading */
	bool vague; /* at that reading the account was up to THREAD_CLOCK_LAG_NS behind */
	__u64 since_ns; /* CLOCK_MONOTONIC, of the first reading; 0: the thread's begin */
	__u64 cpu_ns, switches, dropped; /* at that time */
	__u64 found_ns; /* what ticks since then stand for, and what was told */
	__u64 longest_ns; /* the longest time that a sample has stood for: rates change */
	__u64 over_ns; /* by how much that was too much at the last reading, beyond chance */
};

/* The kernel's own ticks, which bring the account of a running thread up to date, at 100 Hz. */
#define THREAD_CLOCK_LAG_NS 10000000ULL

/* So many ticks of the thread: samples, or known to be lost or missed. */
void thread_clock_tick(struct thread_clock *c, __u64 time_ns, __u64 period_ns, __u64 cnt)
	__attribute__((nonnull));
/*
 * A reading. period_ns: of the thread's clock. Returns how many ticks' time no tick has found; that
 * many count as told.
 */
__u64 thread_clock_read(struct thread_clock *c, const struct record_clock *record, __u64 period_ns)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_THREAD_CLOCK_H */
