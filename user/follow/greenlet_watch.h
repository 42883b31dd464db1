/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_watch.h - finds out where the greenlets of a process are (target/greenlet_place.h), and tells the kernel side: when
 * the process is tracked, when it has mapped code, and then from time to time until a thread has used greenlet.
 */
#ifndef KRAIT_FOLLOW_GREENLET_WATCH_H
#define KRAIT_FOLLOW_GREENLET_WATCH_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "follow/look_plan.h"

struct process;
struct processes;

/* All zero at first. */
struct greenlet_watch {
	struct look_plan look;
	struct greenlet_place place; /* once known */
	bool known;
	bool answered; /* there has been one */
	bool met; /* the last one has met greenlet's module, though no thread that has used it */
	__u64 known_ns; /* CLOCK_MONOTONIC: since then the kernel follows them; 0 it does not */
};

/* The process is tracked. parent: of a forked one, whose memory it has, or NULL. */
void greenlet_watch_begin(struct processes *ps, struct process *p, const struct process *parent);
/* It has mapped code. */
void greenlet_watch_mapped(struct processes *ps, struct process *p);
/* Looks if it is time; when it will be, 0 never. */
__u64 greenlet_watch_step(struct processes *ps, struct process *p, __u64 now_ns);
/* Whether a greenlet of that time (CLOCK_MONOTONIC) may have had parents that the kernel did not know of yet. */
bool greenlet_watch_is_late(const struct process *p, __u64 time_ns);
/* Another image, or none: nothing is known. */
void greenlet_watch_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_FOLLOW_GREENLET_WATCH_H */
