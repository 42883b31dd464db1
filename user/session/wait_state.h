/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_state.h - from what the kernel knows of a wait (struct wait_facts) to what the thread waited for.
 *
 * Must hold: what does not follow from the facts is STATE_WAITING. A futex that is not the GIL's is a lock:
 * whose it is, the stack says.
 */
#ifndef KRAIT_SESSION_WAIT_STATE_H
#define KRAIT_SESSION_WAIT_STATE_H

#include <linux/types.h>

#include "abi.h"
#include "profile/states.h"

/* The longest text, with its end: "[io: name-of-a-call socket]". */
#define WAIT_TEXT_SIZE 64

/* What the thread waited for until it could run again. */
enum state wait_state(const struct wait_facts *w) __attribute__((nonnull));
/* The same for people, in brackets: "[gil]", "[io: recvfrom socket]". */
void wait_text(char text[WAIT_TEXT_SIZE], const struct wait_facts *w) __attribute__((nonnull));

/* A sample's time: so much in that state, the rest ready to run. */
struct wait_parts {
	__u64 waited_ns, runnable_ns;
};

/*
 * The record's period by what the thread did in its wait. Small parts of either kind are given to one of the
 * two by chance, so that few samples need two parts: right on average. random: any bits.
 */
struct wait_parts wait_split(const struct wait_facts *w, __u64 period_ns, __u32 random)
	__attribute__((nonnull));

/* What the record's thread was at beside its state: STATE_HOLDS_GIL, STATE_EXCEPTION. */
__u32 state_flags(const struct record_sample *record) __attribute__((nonnull));
/* On a CPU. */
enum state cpu_state(const struct record_sample *record) __attribute__((nonnull));

#endif /* KRAIT_SESSION_WAIT_STATE_H */
