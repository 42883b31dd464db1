/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_state.h - derives from what the kernel knows about a wait (struct wait_facts) what the
 * thread waited for.
 *
 * Must hold: without sufficient facts it is STATE_WAITING. A futex other than the GIL's counts as a
 * lock; the stack shows whose.
 */
#ifndef KRAIT_RECORD_SAMPLES_WAIT_STATE_H
#define KRAIT_RECORD_SAMPLES_WAIT_STATE_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "profile/states.h"

/* The longest text, with its NUL: "[io: name-of-a-call socket]". */
#define WAIT_TEXT_SIZE 64

/* What the thread waited for until it could run again. */
enum state wait_state(const struct wait_facts *w) __attribute__((nonnull));
/* The same as text, in brackets: "[gil]", "[io: recvfrom socket]". */
void wait_text(char text[WAIT_TEXT_SIZE], const struct wait_facts *w) __attribute__((nonnull));

/* A sample's time: the part in that state, and the part being runnable. */
struct wait_parts {
	__u64 waited_ns, runnable_ns;
};

/*
 * Splits the record's period by what the thread did in its wait. A small part of either kind is
 * rounded at random to nothing or to a useful size, so that few samples need two parts: right on
 * average. random: any bits.
 */
struct wait_parts wait_split(const struct wait_facts *w, __u64 period_ns, __u32 random)
	__attribute__((nonnull));

/* What the record's thread was doing besides its state: STATE_HOLDS_GIL, STATE_EXCEPTION. */
__u32 state_flags(const struct record_sample *record) __attribute__((nonnull));
/* For a sample on a CPU. */
enum state cpu_state(const struct record_sample *record) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_WAIT_STATE_H */
