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
	/* Free-threaded builds. */
	STATE_WORLD, /* another thread has stopped all others */
	STATE_SECTION, /* waits for an object's lock */
	STATE_CNT
};

/* Beside a state, in one word with it. */
#define STATE_MASK 0xff
#define STATE_HOLDS_GIL (1U << 8)
#define STATE_GC (1U << 9) /* it collects garbage */
#define STATE_EXCEPTION (1U << 10) /* it handles an exception, or one is on its way */
#define STATE_STILL_WAITS                                                                          \
	(1U << 11) /* of a wait for the GIL: it goes on, as the thread's next one */
/* The number of the interpreter lock, of those of its process; 0 unknown, or none. */
#define STATE_GIL_SHIFT 16
#define STATE_GIL_MAX 0xffff

/* "gil"; "" of none. */
const char *state_name(enum state state);
/* That of a leaf that says what was waited for, "[io: read pipe]" (session/wait_state.h); STATE_UNKNOWN: it is none. */
enum state state_of_mark(const char *text);
/* The state of a sample's word; a number that is none is unknown. */
enum state state_of(__u32 word);

/*
 * A set of states and flags: a bit for each state, and from STATE_CNT on for each flag. "gil,lock", "gc", "exception",
 * "on" (on a CPU), "off". 0, or -EINVAL.
 */
int states_parse(__u64 *ret, const char *text) __attribute__((warn_unused_result, nonnull));
/* Is one of them off the CPU? */
bool states_has_off(__u64 set);
/* Is that sample one of the set? */
bool states_has(__u64 set, __u32 word);
/* The words of states_parse(), for help texts. */
#define STATES_WORDS                                                                                            \
	"cpu, python (with the GIL), native (without it), gc, exception, gil (waits for it), lock, io, sleep, " \
	"runnable, fault, stopped, waiting (for something unknown), stop-the-world and critical-section (free-threaded builds); on, off (all of these)"

#endif /* KRAIT_PROFILE_STATES_H */
