/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * states.h - what a thread did at a sample, beside its stack: the words of --state.
 *
 * A sample has one state, and flags beside it. Sums of time are of states only, so that each nanosecond is in
 * one of them.
 *
 * Must hold: a word and a number, once released, keep their meaning: captures have the number, scripts the word.
 */
#ifndef KRAIT_PROFILE_STATES_H
#define KRAIT_PROFILE_STATES_H

#include <linux/types.h>
#include <stdbool.h>

enum state {
	STATE_UNKNOWN, /* nobody has asked */
	/* On a CPU. */
	STATE_CPU, /* whether it has the GIL is not known, or there is none */
	STATE_PYTHON, /* it holds the GIL */
	STATE_NATIVE, /* it does not */
	/* Off. */
	STATE_GIL, /* waits for the GIL */
	STATE_LOCK, /* waits for a lock: of Python, or of a library */
	STATE_IO, /* in a system call that waits for others: files, sockets, pipes, children */
	STATE_SLEEP, /* asleep for a time, or until a signal */
	STATE_RUNNABLE, /* could run, and others do */
	STATE_FAULT, /* waits for memory: a page fault, or a call that changes mappings */
	STATE_STOPPED, /* by a signal, or a debugger */
	STATE_WAITING, /* off the CPU, and that is all there is to tell */
	STATE_CNT
};

/* Beside a state, in one word with it. */
#define STATE_MASK 0xff
#define STATE_HOLDS_GIL (1U << 8)
#define STATE_GC (1U << 9) /* it collects garbage */

/* "gil"; "" of none. */
const char *state_name(enum state state);
/* The state of a sample's word; a number that is none is unknown. */
enum state state_of(__u32 word);

/*
 * A set of states and flags: a bit for each state, and from STATE_CNT on for each flag. "gil,lock", "gc", "on"
 * (on a CPU), "off". 0, or -EINVAL.
 */
int states_parse(__u64 *ret, const char *text) __attribute__((warn_unused_result, nonnull));
/* Is that sample one of the set? */
bool states_has(__u64 set, __u32 word);
/* The words of states_parse(), for help texts. */
#define STATES_WORDS                                                                                 \
	"cpu, python (with the GIL), native (without it), gc, gil (waits for it), lock, io, sleep, " \
	"runnable, fault, stopped, waiting (not known for what); on, off (all of these)"

#endif /* KRAIT_PROFILE_STATES_H */
