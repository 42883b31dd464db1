/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greenlet_watch.h - finds out where the greenlets of a process are (process/identify/greenlet_place.h), and
 * tells the kernel side: when the process is tracked, when it has mapped code, and then from time
 * to time until a thread has used greenlet.
 *
 * A sample that may be a greenlet's brings the next look forward, so that a program with a long
 * start has few such samples. A look may come while the module is still being loaded: an
 * inconclusive look is repeated a few times.
 */
#ifndef KRAIT_RECORD_FOLLOW_GREENLET_WATCH_H
#define KRAIT_RECORD_FOLLOW_GREENLET_WATCH_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "record/follow/look_plan.h"

struct process;
struct processes;

/* Outermost functions of stacks that do not begin as threads do. */
#define GREENLET_ROOTS 8

/* All zero initially. */
struct greenlet_watch {
	struct look_plan look;
	struct greenlet_place place; /* valid once known */
	bool known;
	bool answered; /* there has been an answer */
	bool met; /* the last look found greenlet's module, but no thread that has used it */
	bool refused; /* greenlet is loaded, but where its greenlets are cannot be determined */
	__u8 refusals; /* inconclusive looks in a row */
	/*
	 * Code objects that made us look. The pending look was started with the first asked_cnt of
	 * them; a look that found no greenlet in use, with the first plain_cnt.
	 */
	__u64 roots[GREENLET_ROOTS];
	__u8 root_cnt, asked_cnt, plain_cnt;
	__u64 hurry_ns; /* no earlier look because of a sample */
	__u64 hurry_pause_ns;
	__u64 known_ns; /* CLOCK_MONOTONIC: since when the kernel follows them; 0: it does not */
};

/* The process is tracked now. parent: for a fork, the process whose memory it has; else NULL. */
void greenlet_watch_begin(struct processes *ps, struct process *p, const struct process *parent);
/* The look that look_plan_is_due() says is due. */
void greenlet_watch_look(struct processes *ps, struct process *p);
/* May a greenlet at that time (CLOCK_MONOTONIC) have had parents that the kernel did not know yet? */
bool greenlet_watch_is_late(const struct process *p, __u64 time_ns);
/*
 * A stack with that code object at the root, which is not a thread's usual one, was met while
 * is_late() holds: a greenlet may be running, so the next look is due now. False if such a look has
 * since found that no thread uses greenlet: then the root is a thread's.
 */
bool greenlet_watch_hurry(struct process *p, __u64 root_code_addr);
/* The process has another image, or has gone: forgets everything. */
void greenlet_watch_forget(struct processes *ps, struct process *p);

#endif /* KRAIT_RECORD_FOLLOW_GREENLET_WATCH_H */
