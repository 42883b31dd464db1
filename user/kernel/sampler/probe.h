/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - what this kernel and this user can do, found by trying, never by version number.
 */
#ifndef KRAIT_KERNEL_SAMPLER_PROBE_H
#define KRAIT_KERNEL_SAMPLER_PROBE_H

#include <stdbool.h>

struct error;

struct features {
	bool loops; /* bpf_loop(), and tail calls (5.17+, arm64: 6.0+); else bounded loops */
	bool task_regs; /* 5.15+; else user registers are read from the kernel's stack */
	bool cookies; /* 5.15+; else an interpreter in a library is found a little later */
};

/* Fails, naming the next step to take, if krait cannot work at all. */
int probe_features(struct features *ret, struct error *err);

#endif /* KRAIT_KERNEL_SAMPLER_PROBE_H */
