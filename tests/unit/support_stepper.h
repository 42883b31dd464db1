/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_stepper.h - runs the unwinder of bpf/native/unwind.h over a process while single-stepping it: at
 * every instruction the chain must be complete and equal a shadow stack, which is maintained from
 * the observed calls and returns.
 */
#ifndef KRAIT_TESTS_SUPPORT_STEPPER_H
#define KRAIT_TESTS_SUPPORT_STEPPER_H

#include <linux/types.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct unwind_tables;

struct chain {
	__u32 cnt, reason;
	__u32 followed; /* as the walk before had them */
	struct native_frame frames[KRAIT_MAX_NATIVE];
};

#define SHADOW_MAX 512

struct call {
	__u64 at, ra; /* where the return address is stored */
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

/* Starts a traced child that runs work; it stops itself once its code is loaded. */
pid_t stepper_start(void (*work)(void *), void *arg);
/* For a stopped process. Only one at a time. */
void stepper_begin(struct stepper *s, pid_t pid);
/* Steps until the process stops itself again or s->steps reaches max. */
void stepper_go(struct stepper *s, size_t max);
/* Lets it run freely for some time; the shadow stack does not see calls meanwhile. */
void stepper_run(struct stepper *s, unsigned us);
/* Prints what was seen and ends the process. */
void stepper_end(struct stepper *s, const char *what);
/* Requires at least so many steps, all of them right. */
void stepper_check(const struct stepper *s, size_t least);

#endif /* KRAIT_TESTS_SUPPORT_STEPPER_H */
