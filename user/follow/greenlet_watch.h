/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_watch.h - finds out where the greenlets of a process are (target/greenlet_place.h), and tells the kernel side: when
 * the process is tracked, when it has mapped code, and then from time to time until a thread has used greenlet.
 *
 * A sample that may be a greenlet's brings the next look forward, so that a program which takes long to start has few of them.
 * A look may come while the module is only being loaded: what cannot be told then is asked again, some times.
 */
#ifndef KRAIT_FOLLOW_GREENLET_WATCH_H
#define KRAIT_FOLLOW_GREENLET_WATCH_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "follow/look_plan.h"

struct process;
struct processes;

/* Outermost functions of stacks that do not begin as threads do. */
#define GREENLET_ROOTS 8

/* All zero at first. */
struct greenlet_watch {
	struct look_plan look;
	struct greenlet_place place; /* once known */
	bool known;
	bool answered; /* there has been one */
	bool met; /* the last one has met greenlet's module, though no thread that has used it */
	bool refused; /* greenlet is there, and where its greenlets are cannot be told */
	__u8 refusals; /* looks that could not tell, one after another */
	/* Code objects that made us look; of them the look under way knew of asked_cnt, one that found no greenlet in use of plain_cnt. */
	__u64 roots[GREENLET_ROOTS];
	__u8 root_cnt, asked_cnt, plain_cnt;
	__u64 hurry_ns; /* no earlier look for the sake of a sample */
	__u64 hurry_pause_ns;
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
/*
 * A stack of that code object at the root, which is no thread's usual one, was met while is_late() holds: a greenlet may run, so
 * the next look is due now. False where such a look has found since that no thread uses greenlet: that root is a thread's.
 */
bool greenlet_watch_hurry(struct process *p, __u64 root_code_addr);
/* Another image, or none: nothing is known. */
void greenlet_watch_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_FOLLOW_GREENLET_WATCH_H */
