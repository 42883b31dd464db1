/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whose.h - whose a process is when its first sample comes, for the capture (profile/identities.h).
 *
 * Must hold: asks the kernel alone, and waits for nobody; what is not certain is left out.
 */
#ifndef KRAIT_SESSION_WHOSE_H
#define KRAIT_SESSION_WHOSE_H

struct identities;
struct py_process;

void whose_is(struct identities *set, const struct py_process *process);

#endif /* KRAIT_SESSION_WHOSE_H */
