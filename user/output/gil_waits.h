/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gil_waits.h - adds up what threads did with one interpreter's lock, and attributes the waits for it to
 * the holds that each wait overlaps.
 *
 * Times are sums of samples. Some stand for more time than passed: chance gives a thread a few ticks too
 * many, and when switches were many, one short wait stands for a second of them. So samples are fitted
 * first: the surest keep what they say (waits recorded whole, then ticks, then waits that stand for
 * others), as far as there is time left.
 *
 * Must hold: a thread's times add up to at most all_ns, and so do the holds of all threads. For each
 * thread and each function, the waits for all holders, including the unknown one, add up to its
 * waiting time.
 */
#ifndef KRAIT_OUTPUT_GIL_WAITS_H
#define KRAIT_OUTPUT_GIL_WAITS_H

#include <linux/types.h>
#include <stddef.h>

#include "output/gil_holds.h"

struct dict;

/* A function of the dictionary, as string ids. All zero: unknown. */
struct gil_function {
	__u32 name, file;
};

/* A function that waited while another held the lock. */
struct gil_pair {
	struct gil_function waiter, holder;
	double ns;
	__u64 longest_ns; /* the most that one wait contributed */
	__u64 wait, wait_ns; /* the wait last counted here, and how much of it so far */
};

/* A thread that gave the lock to another that waited for it. */
struct gil_hand {
	int from, to;
	double cnt;
};

struct gil_thread {
	int tid;
	__u32 node; /* of its last sample: the thread's name is on the path to the root */
	/* away: off the CPU for anything else, without the lock */
	double waits_ns, holds_ns, without_ns, away_ns;
};

struct gil_waits {
	struct gil_pair *pairs;
	struct gil_hand *hands;
	struct gil_thread *threads;
	size_t pair_cnt, pair_cap, hand_cnt, hand_cap, thread_cnt, thread_cap;
	double ns; /* sum over all pairs */
	double holds_ns; /* sum over all threads */
};

/* What the samples' times are measured by. */
struct gil_times {
	double all_ns; /* how long the recording, or what is shown of it, lasted */
	double stretch; /* the time a tick stands for, in periods; above 1 if ticks were missed */
	__u64 reach_ns; /* see gil_holds_sort() */
};

/*
 * samples: of one lock, grouped by thread, each thread's sorted by to_ns; sets their ns. Returns 0 or
 * -ENOMEM.
 */
int gil_waits_count(struct gil_waits *w, const struct dict *dict, struct gil_sample *samples,
		    size_t cnt, const struct gil_times *times) __attribute__((warn_unused_result));
void gil_waits_free(struct gil_waits *w);

#endif /* KRAIT_OUTPUT_GIL_WAITS_H */
