/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * injector.h - krait's side of its injector: asks a process to run a script, and takes that back.
 *
 * Must hold: every wait for the injector is bounded. If krait gives it up, the kernel resumes what
 * it had stopped.
 */
#ifndef KRAIT_LOOK_EXEC_INJECTOR_H
#define KRAIT_LOOK_EXEC_INJECTOR_H

#include "look/exec/inject.h"

struct error;
struct injector;

/* Starts it while krait still has rights to pass on. Returns NULL with *err filled on failure. */
struct injector *injector__new(struct error *err) __attribute__((warn_unused_result, nonnull));
void injector__free(struct injector *i);

/*
 * dir, mem: of the process; script: of the file; all borrowed. Returns 0 and in *ret_report the
 * pipe for reports, which the caller now owns; or -errno with a sentence in ret->why: nothing was
 * written into the process.
 */
int injector__ask(struct injector *i, const struct inject_request *r, int dir, int mem, int script,
		  struct inject_answer *ret, int *ret_report)
	__attribute__((warn_unused_result, nonnull));
/* Returns 0 (it will not run), -EALREADY (it has begun), or -errno with ret->why. */
int injector__withdraw(struct injector *i, struct inject_answer *ret)
	__attribute__((warn_unused_result, nonnull));
/* Removes what the script's wrapper left. Returns 0 or -errno. */
int injector__remove(struct injector *i) __attribute__((nonnull));

#endif /* KRAIT_LOOK_EXEC_INJECTOR_H */
