/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * environment.h - repairs a starting environment that krait cannot work with: closed standard
 * descriptors, signals that kill a writer, a tiny stack. Does so before anything else; a command
 * that krait launches gets the original environment.
 */
#ifndef KRAIT_BASE_SYSTEM_ENVIRONMENT_H
#define KRAIT_BASE_SYSTEM_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>

struct error;

/* Call first in main(). Returns 0, or a negative result with *err filled. */
int environment_prepare(struct error *err) __attribute__((warn_unused_result));
/* Call in a child that is about to exec another program. */
void environment_restore(void);
/* The file that exec would take for a command; false: there is none. */
bool environment_find(char ret[PATH_MAX], const char *command);

#endif /* KRAIT_BASE_SYSTEM_ENVIRONMENT_H */
