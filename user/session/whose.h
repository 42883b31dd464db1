/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whose.h - the owner of a process at its first sample, for the capture (profile/identities.h).
 *
 * Must hold: asks only the kernel and never blocks; leaves out uncertain answers.
 */
#ifndef KRAIT_SESSION_WHOSE_H
#define KRAIT_SESSION_WHOSE_H

struct identities;
struct py_process;

void whose_is(struct identities *set, const struct py_process *process);

#endif /* KRAIT_SESSION_WHOSE_H */
