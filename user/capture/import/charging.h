/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * charging.h - native threads that work for a line of Python: OpenBLAS, OpenMP and Rayon spread what one call does over
 * threads of their own, while the thread that called waits, or does its part.
 *
 * A sample of a native thread belongs to the call that is in the same library at that moment: a Python thread that waits
 * there (off-CPU time), or that has samples there before and after. If that is true of exactly one thread, the sample's
 * stack becomes that thread's as far as its innermost Python function, then its own; it stays the native thread's sample.
 * Libraries that are in every stack (libc, libstdc++, the interpreter, malloc's replacements) say nothing; an OpenMP runtime only
 * if nothing else does.
 *
 * Must hold: every sample that was added is passed on once, with its weight, in the same order; a sample that none or
 * several wait for keeps its stack.
 */
#ifndef KRAIT_CAPTURE_IMPORT_CHARGING_H
#define KRAIT_CAPTURE_IMPORT_CHARGING_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/profile.h"

struct charging;

struct charging_config {
	struct dict *dict; /* forgets nothing meanwhile */
	/* Stacks are passed on without such frames, which have to be there until then. */
	bool no_native, no_kernel;
	/* Returns 0 or -ENOMEM. */
	int (*take)(void *ctx, const struct profile_sample *s);
	void *ctx;
};

/* Samples of native threads: on a CPU, and wanted. */
struct charging_stats {
	__u64 samples, charged, several; /* several: more than one thread waits */
	__u64 crowded; /* of several: so many calls were under way that none was looked at */
};

struct charging_sample {
	struct profile_sample sample;
	__u64 from_ns,
		to_ns; /* as recorded, the sample's may be cut; from_ns 0: a moment, or unknown */
	__u64 near_ns; /* between two samples of a thread that runs */
	bool is_wait; /* or it counts tasks or memory: the thread does not use a CPU at that moment */
	bool wanted; /* else it only says who waits */
};

/* NULL: out of memory. */
struct charging *charging__new(const struct charging_config *config);
void charging__free(struct charging *c);
/* Holds the sample; passes on all that it holds if these are too many. Returns 0, -ENOMEM or what take() returns. */
int charging__add(struct charging *c, const struct charging_sample *s)
	__attribute__((warn_unused_result));
/* Passes on the rest. */
int charging__finish(struct charging *c, struct charging_stats *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_IMPORT_CHARGING_H */
