/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turns.h - how long the ring's reader lets records wait before it moves the next ones: most of what a sample costs
 * at 997 Hz is to wake up for it.
 *
 * Must hold: process events, which are news, never wait longer than TURN_NS, as long as any come (but where the reader
 * is hushed).
 */
#ifndef KRAIT_SAMPLER_TURNS_H
#define KRAIT_SAMPLER_TURNS_H

#include <linux/types.h>

#include "util/clock.h"

struct ring_moved;

/* Records wait at most this long: short enough that a process is mostly still there to be read. */
#define TURN_NS (50 * NS_PER_MS)
/* Turns grow to this while all that comes is some samples of threads that are known. */
#define QUIET_TURN_NS (200 * NS_PER_MS)
/* The same while a new thread's first samples come, and how long that is after each of them. */
#define SHORT_TURN_NS (6 * NS_PER_MS)
#define SHORT_TURNS_NS (100 * NS_PER_MS)
/* Of turns with stacks that an anchor may be worth, and no word of one: then there is none to come in a hurry. */
#define VAIN_TURNS 20

/* All zeroes at first. */
struct turns {
	__u64 short_until_ns;
	__u64 turn_ns; /* 0 before the first one */
	unsigned vain;
};

/* After a move: how long to wait until the next one, ns. */
__u64 turns_next_ns(struct turns *t, const struct ring_moved *m, __u64 now_ns);

#endif /* KRAIT_SAMPLER_TURNS_H */
