/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - receivers of what the agent samples: each sample as it comes, each window when it has
 * ended.
 *
 * A sink never blocks, because the next window is already being sampled. It copies what it keeps;
 * ids of the dictionary are valid until its window() returns, unless it is a holder
 * (profile/dict.h).
 */
#ifndef KRAIT_AGENT_SINK_H
#define KRAIT_AGENT_SINK_H

#include <linux/types.h>

#include "profile/profile.h"
#include "profile/window.h"

struct agent_sink {
	const char *name; /* for messages */
	/* NULL, or called with each sample of every event, in the order of the records. */
	void (*sample)(void *ctx, const struct profile *profile,
		       const struct profile_sample *sample);
	/* NULL, or called with each window: ended, sorted (window__sort()), with its accounts. */
	void (*window)(void *ctx, const struct window *w);
	/* NULL, or called a few times a second; and once before the first sample. */
	void (*step)(void *ctx, __u64 now_ns);
	/*
	 * NULL, or called when the dictionary is about to forget: a sink that is not a holder must
	 * drop its ids.
	 */
	void (*forget)(void *ctx);
	void *ctx;
};

#endif /* KRAIT_AGENT_SINK_H */
