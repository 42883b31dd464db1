/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forks.h - forked copies of tracked processes that nobody has needed yet.
 *
 * On a host that starts commands from Python, most forks execute something else, or end, within a
 * moment. Opening each (its memory, its mappings, its names) was most of the cost of a start. So a
 * fork is opened when it is needed: a record of it comes, its parent changes, or half a second is
 * over. The kernel side knows it all the time.
 *
 * The same holds for processes that belong to a user who is not wanted: they may change that, and
 * then the kernel side sends their records. And it may be done with processes that execute a known interpreter, when krait has to save work
 * (processes__spare()).
 *
 * Must hold: a lookup by pid returns an opened process (processes__find()), with its parent's state
 * at the fork.
 */
#ifndef KRAIT_RECORD_FOLLOW_FORKS_H
#define KRAIT_RECORD_FOLLOW_FORKS_H

#include <linux/types.h>

struct entry;
struct process;
struct processes;

/* e: its info must be filled and, for a fork, its parent's pid. */
void forks_put_off(struct processes *ps, struct entry *e);
/* The same until a record of it comes: it is not wanted unless it changes its user. */
void forks_await(struct processes *ps, struct entry *e);
/* Opens it if it is put off; otherwise does nothing. */
void forks_open(struct processes *ps, struct entry *e);
/* The same for the children of that process, because it is about to change or go. */
void forks_open_of(struct processes *ps, const struct process *parent);
/* It has executed something else, or has gone. */
void forks_forget(struct processes *ps, struct entry *e);
/* Opens what is due. Returns when the next one will be; 0: never. */
__u64 forks_open_due(struct processes *ps, __u64 now_ns);

#endif /* KRAIT_RECORD_FOLLOW_FORKS_H */
