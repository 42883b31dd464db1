/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checks.h - checks krait's needs one after another.
 *
 * Changes nothing. The decisive steps are tried as a recording does them; the other checks explain
 * a failure, or what krait does without.
 */
#ifndef KRAIT_CMD_DOCTOR_CHECKS_H
#define KRAIT_CMD_DOCTOR_CHECKS_H

#include <sys/types.h>

struct findings;
struct prober;

/* Checks what krait was started with: capabilities, namespaces, seccomp, limits of the container. */
void checks_rights(struct findings *f);
/* Checks type information, lockdown, sysctls and events. */
void checks_kernel(struct findings *f);
/*
 * Loads the programs and starts the timer, as a recording does. Comes last, since it needs all the
 * rest.
 */
void checks_sampling(struct findings *f);
/*
 * Checks this machine's interpreters, or those of one process (pid not 0), and says why any is
 * refused.
 */
void checks_pythons(struct findings *f, struct prober *prober, pid_t pid);

#endif /* KRAIT_CMD_DOCTOR_CHECKS_H */
