/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resting.h - the stacks of threads that are off the CPU, as samples.
 *
 * They are read from here, by the kernel side's walkers over the process's memory (Python's, and where rows are there
 * the native part). Nothing holds the thread still, so a stack is believed only if the thread was off the CPU and has
 * not come to one meanwhile, by the kernel's own counts.
 *
 * Must hold: bounded in time, whatever the processes do; each thread that was asked for and is not believed is counted
 * as lost.
 */
#ifndef KRAIT_SESSION_RESTING_H
#define KRAIT_SESSION_RESTING_H

#include <linux/types.h>
#include <stdbool.h>

struct collector;
struct processes;
struct resting_memory;
struct sampler;
struct thread_look;
struct unwinding;

/* All is borrowed. */
struct resting_ask {
	struct resting_memory *memory; /* NULL: each stack is read anew */
	struct collector *collector;
	struct processes *processes;
	struct sampler *sampler; /* that looks at threads */
	const struct unwinding *unwinding; /* NULL: no native frames */
	unsigned event; /* of the samples */
	bool states; /* the samples are of waits, and say which */
	bool only_true; /* what is not believed is left out, and not lost: it will be seen otherwise */
	__u64 now_ns; /* CLOCK_MONOTONIC: when the samples are of */
	/* For how much of the event the thread's sample is to stand; 0: it is to have none. */
	__u64 (*period)(void *ctx, const struct thread_look *look);
	void *ctx;
};

/*
 * The stacks of the last time: one of a thread that has not come to a CPU since then is not read again. NULL: out of
 * memory.
 */
struct resting_memory *resting_memory__new(void) __attribute__((warn_unused_result));
void resting_memory__free(struct resting_memory *m);

/* Hands the collector a sample for each. How many, or -errno. */
long resting_collect(const struct resting_ask *ask) __attribute__((nonnull));

#endif /* KRAIT_SESSION_RESTING_H */
