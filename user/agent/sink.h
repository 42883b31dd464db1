/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - who gets what the agent samples: each sample as it comes, each window when it is over.
 *
 * A sink never blocks: the next window is being sampled meanwhile. What it keeps, it copies; ids of the dictionary
 * are good until its window() returns, unless it is a holder (profile/dict.h).
 */
#ifndef KRAIT_AGENT_SINK_H
#define KRAIT_AGENT_SINK_H

#include <linux/types.h>

#include "profile/profile.h"
#include "profile/window.h"

struct agent_sink {
	const char *name; /* for messages */
	/* NULL, or each sample of every event, in the order of the records. */
	void (*sample)(void *ctx, const struct profile *profile,
		       const struct profile_sample *sample);
	/* NULL, or each window: over, sorted (window__sort()), with its accounts. */
	void (*window)(void *ctx, const struct window *w);
	/* NULL, or called some times a second; and once before the first sample. */
	void (*step)(void *ctx, __u64 now_ns);
	/* NULL, or: the dictionary is about to forget; whoever is no holder drops its ids. */
	void (*forget)(void *ctx);
	void *ctx;
};

#endif /* KRAIT_AGENT_SINK_H */
