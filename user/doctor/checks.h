/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checks.h - what krait needs, looked at one after another.
 *
 * Nothing is changed. What decides is tried, in the way in which a recording does it; the rest explains why
 * that fails, or what krait does without.
 */
#ifndef KRAIT_DOCTOR_CHECKS_H
#define KRAIT_DOCTOR_CHECKS_H

#include <sys/types.h>

struct findings;
struct prober;

/* Capabilities, namespaces, seccomp, limits of the container: what krait was started with. */
void checks_rights(struct findings *f);
/* Type information, lockdown, sysctls, events. */
void checks_kernel(struct findings *f);
/* Loads the programs and starts the timer, as a recording does; last, since it needs all the rest. */
void checks_sampling(struct findings *f);
/* The interpreters of this machine, or those of one process (pid not 0), and why any is refused. */
void checks_pythons(struct findings *f, struct prober *prober, pid_t pid);

#endif /* KRAIT_DOCTOR_CHECKS_H */
