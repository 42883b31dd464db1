/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * losses.h - which processes lost interrupts, and why.
 *
 * Must hold: bounded. Those that lost most are listed, the rest only summed up.
 */
#ifndef KRAIT_PROFILE_LOSSES_H
#define KRAIT_PROFILE_LOSSES_H

#include <linux/types.h>
#include <stdio.h>

#include "bpf/abi.h"

/* As many lines as anybody reads. */
#define LOSSES_MAX 64

struct process_loss {
	int pid;
	char comm[64]; /* printable */
	__u64 interrupts, lost;
	__u64 reasons[REASON_CNT];
};

struct losses {
	__u32 cnt, processes; /* listed, and in total */
	__u64 others; /* interrupts lost by processes not listed */
	struct process_loss list[LOSSES_MAX];
};

/* Adds a process, if it has lost anything. */
void losses_add(struct losses *l, int pid, const char *comm, const __u64 reasons[REASON_CNT]);
/* Prints one line for each: "lost by 123 (python3): 4 of 90 (ring full 3, thread torn 1)". */
void losses_print(const struct losses *l, FILE *out);

#endif /* KRAIT_PROFILE_LOSSES_H */
