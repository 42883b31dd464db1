/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h - what was sampled in one stretch of time, sample by sample: what an agent hands on every few seconds.
 *
 * A window is open until window__end(); samples that come afterwards, of a time before its end, belong to the next one.
 *
 * Must hold: every sample of the window is in the list or in dropped; nodes follow the dictionary when it forgets.
 */
#ifndef KRAIT_PROFILE_WINDOW_H
#define KRAIT_PROFILE_WINDOW_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "profile/profile.h"

/* Samples of one window, 56 bytes each. */
#define WINDOW_SAMPLES_MAX (1U << 19)

struct window_sample {
	__u64 time_ns, weight; /* CLOCK_MONOTONIC; a wait has its end, and ns */
	__u32 node;
	__u32 state; /* profile/states.h, without flags */
	__u32 event; /* index of the profile's event */
	__u32 image; /* as struct profile_sample */
	int pid, tid; /* host */
	__u32 cpu;
};

/* How it was sampled, and at what price; of a window in which that changed, as it was at its end. */
struct window_price {
	__u64 frequency; /* Hz */
	__u32 frames_max;
	bool natives;
	unsigned level; /* 0: all that was asked for; else so many steps less */
	bool stalled; /* beyond the budget, though less would cost as much */
	__u64 look_delay_ns; /* what starts was looked at so much later */
	__u64 starved_ns; /* so long nothing was done that could wait */
	__u64 unseen, names_put_off; /* in this window: as struct session_progress */
	__u64 cpu_ns, kernel_ns, rss_bytes; /* of krait's processes and programs, in this window */
};

struct window {
	const struct profile *profile; /* borrowed: dictionary and events; not its counts */
	__u64 number; /* from 1, by its maker */
	__u64 from_ns, to_ns; /* CLOCK_MONOTONIC; to: once it is over */
	__s64 wall_offset_ns; /* what to add to have ns since 1970, as the clock was at its end */
	struct window_sample *list; /* in the order in which they came */
	__u32 cnt, cap;
	__u64 dropped; /* that found no room */
	struct accounts
		accounts[KRAIT_MAX_EVENTS]; /* of what came in this window; the caller fills them in */
	struct window_price price; /* all 0: not measured */
	struct dict_holder holder;
};

/* Nothing is in it. The profile outlives it. */
void window__begin(struct window *w, const struct profile *profile, __u64 from_ns);
void window__add(struct window *w, const struct profile_sample *sample);
/*
 * By process, by profile (event and rate; waits for the GIL are apart), then state, node and time: so is what belongs
 * together side by side.
 */
void window__sort(struct window *w);
/* Of two samples: do they stand side by side when sorted? */
bool window__same_process(const struct window_sample *a, const struct window_sample *b);
bool window__same_profile(const struct window *w, const struct window_sample *a,
			  const struct window_sample *b);
/* Its time is that of a tick, and its weight the time between two. */
bool window__is_clock(const struct window *w, const struct window_sample *s);
/* Memory is given back. */
void window__end(struct window *w);

#endif /* KRAIT_PROFILE_WINDOW_H */
