/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * states.h - what a thread was doing at a sample, besides its stack: the words of --state.
 *
 * A sample has one state, plus flags. Times are summed by state only, so each nanosecond is in
 * exactly one.
 *
 * Must hold: a released word or number keeps its meaning: captures contain the number, scripts the
 * word.
 */
#ifndef KRAIT_PROFILE_STATES_H
#define KRAIT_PROFILE_STATES_H

#include <linux/types.h>
#include <stdbool.h>

enum state {
	STATE_UNKNOWN, /* not recorded */
	/* On a CPU. */
	STATE_CPU, /* it is unknown whether it holds the GIL, or there is none */
	STATE_PYTHON, /* it holds the GIL */
	STATE_NATIVE, /* it does not hold the GIL */
	/* Off. */
	STATE_GIL, /* waits for the GIL */
	STATE_LOCK, /* waits for a lock: Python's or a library's */
	STATE_IO, /* in a system call that waits for others: files, sockets, pipes, children */
	STATE_SLEEP, /* sleeps for a time, or until a signal */
	STATE_RUNNABLE, /* runnable, but others are running */
	STATE_FAULT, /* waits for memory: a page fault, or a call that changes mappings */
	STATE_STOPPED, /* by a signal, or a debugger */
	STATE_WAITING, /* off the CPU, nothing more is known */
	/* Free-threaded builds. */
	STATE_WORLD, /* another thread has stopped the world */
	STATE_SECTION, /* waits for an object's lock */
	STATE_CNT
};

/* Flags, in one word with the state. */
#define STATE_MASK 0xff
#define STATE_HOLDS_GIL (1U << 8)
#define STATE_GC (1U << 9) /* it collects garbage */
#define STATE_EXCEPTION (1U << 10) /* it handles or raises an exception */
#define STATE_STILL_WAITS                                                                          \
	(1U << 11) /* in a wait for the GIL: the thread's next wait continues it */
/* The bits from this one on are the number of the GIL within its process; 0: unknown or none. */
#define STATE_GIL_SHIFT 16

/* "gil"; "": none. */
const char *state_name(enum state state);
/*
 * The state of a leaf mark that says what was waited for, "[io: read pipe]" (record/samples/wait_state.h);
 * STATE_UNKNOWN: it is not one.
 */
enum state state_of_mark(const char *text);
/* The state in a sample's word; invalid numbers give STATE_UNKNOWN. */
enum state state_of(__u32 word);

/*
 * A set of states and flags: a bit for each state, and from STATE_CNT on for each flag. Words:
 * "gil,lock", "gc", "exception", "on" (on a CPU), "off". Returns 0, or -EINVAL.
 */
int states_parse(__u64 *ret, const char *text) __attribute__((warn_unused_result, nonnull));
/* Is one of them off the CPU? */
bool states_has_off(__u64 set);
/* Does that sample match the set? */
bool states_has(__u64 set, __u32 word);
/* The words of states_parse(), for help texts. */
#define STATES_WORDS                                                                                            \
	"cpu, python (with the GIL), native (without it), gc, exception, gil (waits for it), lock, io, sleep, " \
	"runnable, fault, stopped, waiting (for something unknown), stop-the-world and critical-section (free-threaded builds); on, off (all of these)"

#endif /* KRAIT_PROFILE_STATES_H */
