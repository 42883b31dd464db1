/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forks.h - forked copies of tracked processes that nobody has needed yet.
 *
 * On a host that starts commands from Python, most forks execute something else, or end, within a moment. To open
 * each (its memory, its mappings, its names) was most of what a start costs. So a fork is opened when somebody needs
 * it: a record of it comes, its parent changes, or half a second is over. The kernel side has it all the time.
 *
 * The same may be done with what executes a known interpreter, where krait has to do with less (processes__spare()).
 *
 * Must hold: whoever asks for a process by its pid finds it opened (processes__find()), as its parent was when it forked.
 */
#ifndef KRAIT_FOLLOW_FORKS_H
#define KRAIT_FOLLOW_FORKS_H

#include <linux/types.h>

struct entry;
struct process;
struct processes;

/* e: its info and, of a fork, its parent's pid are there. */
void forks_put_off(struct processes *ps, struct entry *e);
/* Opens it if it is put off; does nothing to any other. */
void forks_open(struct processes *ps, struct entry *e);
/* The same for the children of that process: it changes, or goes. */
void forks_open_of(struct processes *ps, const struct process *parent);
/* It has become something else, or has gone. */
void forks_forget(struct processes *ps, struct entry *e);
/* Opens what is due. When the next one will be, 0 never. */
__u64 forks_open_due(struct processes *ps, __u64 now_ns);

#endif /* KRAIT_FOLLOW_FORKS_H */
