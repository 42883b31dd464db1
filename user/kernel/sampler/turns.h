/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turns.h - how long the ring's reader lets records wait before it moves the next ones: at 997 Hz
 * most of a sample's cost is waking up for it.
 *
 * Must hold: process events, which are news, never wait longer than TURN_NS, as long as any come
 * (unless the reader is hushed).
 */
#ifndef KRAIT_KERNEL_SAMPLER_TURNS_H
#define KRAIT_KERNEL_SAMPLER_TURNS_H

#include <linux/types.h>

#include "base/system/clock.h"

struct ring_moved;

/* Longest wait of records: short enough that a process usually still exists and can be read. */
#define TURN_NS (50 * NS_PER_MS)
/* Turns grow to this while only a few samples of known threads come. */
#define QUIET_TURN_NS (200 * NS_PER_MS)
/*
 * Turns while a new thread's first samples come, and how long they stay so short after each of
 * them.
 */
#define SHORT_TURN_NS (6 * NS_PER_MS)
#define SHORT_TURNS_NS (100 * NS_PER_MS)
/* Turns with stacks that may be worth an anchor, but no news about one: then none is urgent. */
#define VAIN_TURNS 20

/* All zeroes initially. */
struct turns {
	__u64 short_until_ns;
	__u64 turn_ns; /* 0 before the first one */
	unsigned vain;
};

/* After a move: ns to wait until the next one. */
__u64 turns_next_ns(struct turns *t, const struct ring_moved *m, __u64 now_ns);

#endif /* KRAIT_KERNEL_SAMPLER_TURNS_H */
