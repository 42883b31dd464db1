/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * injector.h - krait's side of its injector: asks a process to run a script, and takes that back.
 *
 * Must hold: nothing waits for the injector for ever; where it is given up, the kernel lets go of what it has
 * stopped.
 */
#ifndef KRAIT_INJECT_INJECTOR_H
#define KRAIT_INJECT_INJECTOR_H

#include "inject/inject.h"

struct error;
struct injector;

/* Starts it, while there are rights to give. NULL and *err. */
struct injector *injector__new(struct error *err) __attribute__((warn_unused_result, nonnull));
void injector__free(struct injector *i);

/*
 * dir, mem: of the process; script: of the file; all borrowed. 0 and *ret_report, the pipe in which it reports, now the
 * caller's; or -errno with ret->why a sentence: nothing was written into the process.
 */
int injector__ask(struct injector *i, const struct inject_request *r, int dir, int mem, int script,
		  struct inject_answer *ret, int *ret_report)
	__attribute__((warn_unused_result, nonnull));
/* 0 it will not run; -EALREADY it has begun; -errno with ret->why. */
int injector__withdraw(struct injector *i, struct inject_answer *ret)
	__attribute__((warn_unused_result, nonnull));
/* Removes what the script's wrapper has not removed. 0 or -errno. */
int injector__remove(struct injector *i) __attribute__((nonnull));

#endif /* KRAIT_INJECT_INJECTOR_H */
