/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - what this kernel and this user can do, found by trying, never by version number.
 */
#ifndef KRAIT_KERNEL_SAMPLER_PROBE_H
#define KRAIT_KERNEL_SAMPLER_PROBE_H

#include <stdbool.h>

struct error;

struct features {
	bool bpf_loop; /* 5.17+ */
	bool tail_calls; /* of programs with functions: 5.10+, arm64: 6.0+; with the JIT */
	bool task_regs; /* 5.15+; else user registers are read from the kernel's stack */
	bool cookies; /* 5.15+; else an interpreter in a library is found a little later */
};

/* Both, for stacks of any depth with tasks and greenlets; else they are walked in bounded loops. */
static inline bool features_loops(const struct features *f)
{
	return f->bpf_loop && f->tail_calls;
}

/* Fails, naming the next step to take, if krait cannot work at all. */
int probe_features(struct features *ret, struct error *err);

#endif /* KRAIT_KERNEL_SAMPLER_PROBE_H */
