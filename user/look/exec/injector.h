/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * injector.h - krait's side of its injector: asks a process to run a script, and takes that back.
 *
 * It is a worker of that name (base/worker/worker.h), which starts while krait still has rights to pass on.
 *
 * Must hold: every wait for the injector is bounded. If krait gives it up, the kernel resumes what
 * it had stopped.
 */
#ifndef KRAIT_LOOK_EXEC_INJECTOR_H
#define KRAIT_LOOK_EXEC_INJECTOR_H

#include "look/exec/inject.h"

struct worker;

/*
 * dir, mem: of the process; script: of the file; all borrowed. Returns 0 and in *ret_report the
 * pipe for reports, which the caller now owns; or -errno with a sentence in ret->why: nothing was
 * written into the process.
 */
int injector__ask(struct worker *injector, const struct inject_request *r, int dir, int mem,
		  int script, struct inject_answer *ret, int *ret_report)
	__attribute__((warn_unused_result, nonnull));
/* Returns 0 (it will not run), -EALREADY (it has begun), or -errno with ret->why. */
int injector__withdraw(struct worker *injector, struct inject_answer *ret)
	__attribute__((warn_unused_result, nonnull));
/* Removes what the script's wrapper left. Returns 0 or -errno. */
int injector__remove(struct worker *injector) __attribute__((nonnull));

#endif /* KRAIT_LOOK_EXEC_INJECTOR_H */
