/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_stepper.h - the unwinder of bpf/unwind.h over a process that is stepped through by single
 * instructions: at every one of them the chain must be that of a shadow stack, which is kept from the calls and
 * returns that were seen, and whole.
 */
#ifndef KRAIT_TESTS_SUPPORT_STEPPER_H
#define KRAIT_TESTS_SUPPORT_STEPPER_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"

struct unwind_tables;

struct chain {
	__u32 cnt, reason;
	__u32 followed; /* as the walk before had them */
	struct native_frame frames[KRAIT_MAX_NATIVE];
};

#define SHADOW_MAX 512

struct call {
	__u64 at, ra; /* where the return address is */
};

struct stepper {
	pid_t pid;
	struct unwind_tables *tables;
	__u32 space;
	struct call shadow[SHADOW_MAX]; /* innermost last */
	unsigned depth;
	size_t steps, calls, wrong, by_fp, followed, cut;
	unsigned deepest;
};

/* A child that is traced and runs work, which stops itself when its code is loaded. */
pid_t stepper_start(void (*work)(void *), void *arg);
/* A process that is stopped. One at a time. */
void stepper_begin(struct stepper *s, pid_t pid);
/* Steps until the process stops itself again, or s->steps is max. */
void stepper_go(struct stepper *s, size_t max);
/* Lets it run for some time; what it has called meanwhile the shadow stack does not know. */
void stepper_run(struct stepper *s, unsigned us);
/* Says what was seen, and ends the process. */
void stepper_end(struct stepper *s, const char *what);
/* At least so many steps, all of them right. */
void stepper_check(const struct stepper *s, size_t least);

#endif /* KRAIT_TESTS_SUPPORT_STEPPER_H */
