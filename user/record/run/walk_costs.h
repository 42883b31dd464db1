/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_costs.h - what samples take of the time of each process, and what to do about it: deep stacks at a high rate
 * take most of a program's time, and nothing in a profile shows it.
 *
 * A process that has had few samples since it was last asked for costs little, and is not asked for.
 */
#ifndef KRAIT_RECORD_RUN_WALK_COSTS_H
#define KRAIT_RECORD_RUN_WALK_COSTS_H

#include <linux/types.h>
#include <sys/types.h>

struct processes;
struct sampler;
struct sampler_config;

/* The process that pays most. */
struct walk_cost {
	pid_t pid; /* 0: none */
	char comm[64];
	double share; /* of its time, without a budget */
};

struct walk_costs {
	/* those that pay more than is said, and how many of them have been named */
	unsigned cnt, named;
	struct walk_cost worst;
};

/* Asks for processes with new samples; names those that pay too much, the first time. */
void walk_costs_look(struct walk_costs *w, struct processes *processes,
		     const struct sampler *sampler, const struct sampler_config *config)
	__attribute__((nonnull));

/* At the end: says which paid most. */
void walk_costs_warn(const struct walk_costs *w, const struct sampler_config *config)
	__attribute__((nonnull));

#endif /* KRAIT_RECORD_RUN_WALK_COSTS_H */
