/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h - what was sampled in one stretch of time, sample by sample: an agent passes it on every
 * few seconds.
 *
 * A window is open until window__end(); later samples belong to the next one, even if their time is
 * before its end.
 *
 * Must hold: every sample of the window is in its store, or counted there as dropped.
 */
#ifndef KRAIT_PROFILE_WINDOW_H
#define KRAIT_PROFILE_WINDOW_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "profile/profile.h"
#include "profile/sample_store.h"

/* Samples per window. */
#define WINDOW_SAMPLES_MAX (1U << 19)

/*
 * How it was sampled, and the cost. If that changed during the window, the values are those at its
 * end.
 */
struct window_price {
	__u64 frequency; /* Hz */
	__u32 frames_max;
	bool natives;
	__u64 wait_ns; /* every wait that long had its own stack; 0: waits were not sampled */
	unsigned level; /* 0: everything requested; otherwise how many steps less */
	bool stalled; /* over budget, but less detail would cost as much */
	__u64 look_delay_ns; /* delay before new processes were looked at */
	__u64 starved_ns; /* how long everything that can wait was postponed */
	__u64 unseen, names_put_off; /* in this window; as in struct session_progress */
	__u64 names_left_out; /* frames, because their owner had cost too much */
	/* of krait's processes and BPF programs, in this window */
	__u64 cpu_ns, kernel_ns, rss_bytes;
	__u64 server_ns; /* of the HTTP server, which is not in cpu_ns */
};

struct window {
	const struct profile *profile; /* borrowed: its dictionary and events, not its counts */
	__u64 number; /* from 1, set by its creator */
	__u64 from_ns, to_ns; /* CLOCK_MONOTONIC; to_ns: once it has ended */
	__s64 wall_offset_ns; /* add this to get ns since 1970, by the clock at its end */
	struct sample_store samples;
	/* For this window only; the caller fills them in. */
	struct accounts accounts[KRAIT_MAX_EVENTS];
	struct window_price price; /* all 0: not measured */
};

/* Begins an empty window. The profile must outlive it. */
void window__begin(struct window *w, const struct profile *profile, __u64 from_ns);
/*
 * Sorts by process, by profile (event and rate; waits for the GIL are separate), then state, node
 * and time, so that related samples are adjacent.
 */
void window__sort(struct window *w);
/* Do two samples belong together, and so are adjacent after sorting? */
bool window__same_process(const struct stored_sample *a, const struct stored_sample *b);
bool window__same_profile(const struct window *w, const struct stored_sample *a,
			  const struct stored_sample *b);
/* Its time is that of a tick, and its weight the time between two ticks. */
bool window__is_clock(const struct window *w, const struct stored_sample *s);
/* Frees its memory. */
void window__end(struct window *w);

#endif /* KRAIT_PROFILE_WINDOW_H */
