/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resting.h - samples of threads that are off the CPU.
 *
 * We read their stacks from outside, with the kernel side's walkers over the process's memory
 * (Python frames, and native ones if there are rows). Nothing holds the thread still, so a stack
 * counts only if, by the kernel's own counters, the thread was off the CPU and has not come to one
 * meanwhile.
 *
 * Must hold: bounded in time, whatever the processes do; each requested thread without a valid
 * stack counts as lost.
 */
#ifndef KRAIT_RECORD_SAMPLES_RESTING_H
#define KRAIT_RECORD_SAMPLES_RESTING_H

#include <linux/types.h>
#include <stdbool.h>

struct collector;
struct processes;
struct resting_memory;
struct sampler;
struct thread_look;
struct unwinding;

/* All are borrowed. */
struct resting_ask {
	struct resting_memory *memory; /* NULL: read each stack anew */
	struct collector *collector;
	struct processes *processes;
	struct sampler *sampler; /* that looks at threads */
	const struct unwinding *unwinding; /* NULL: no native frames */
	unsigned event; /* that the samples belong to */
	bool states; /* the samples are of waits, and have states */
	/* omit invalid stacks instead of counting them as lost: they will be sampled otherwise */
	bool only_true;
	/*
	 * NULL, or: the kernel side takes stacks of these waits, too, until this ends it. Those that it
	 * has taken are omitted, whether the thread ran before or after its stack was read here. It
	 * takes none after taken_until_ns (CLOCK_MONOTONIC); what is seen of a thread later says nothing
	 * about its wait at now_ns.
	 */
	void (*stop)(void *ctx);
	__u64 taken_until_ns;
	__u64 now_ns; /* CLOCK_MONOTONIC: time of the samples */
	/* How much of the event the thread's sample stands for; 0: no sample. */
	__u64 (*period)(void *ctx, const struct thread_look *look);
	void *ctx;
};

/*
 * Keeps the stacks of the last time: that of a thread that has not come to a CPU since then is not
 * read again. NULL: out of memory.
 */
struct resting_memory *resting_memory__new(void) __attribute__((warn_unused_result));
void resting_memory__free(struct resting_memory *m);

/* Passes a sample for each thread to the collector. Returns their number, or -errno. */
long resting_collect(const struct resting_ask *ask) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_RESTING_H */
