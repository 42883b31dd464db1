/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switches.h - time off the CPU, kernel side: the programs of bpf/switch.bpf.c, and what they know
 * about each thread.
 *
 * Must hold: nothing here is loaded or attached unless an event asks for time off the CPU.
 */
#ifndef KRAIT_KERNEL_SAMPLER_SWITCHES_H
#define KRAIT_KERNEL_SAMPLER_SWITCHES_H

#include <linux/types.h>
#include <stdbool.h>

struct error;
struct krait_bpf;
struct sampler_config;
struct switches;

/* The cost of following switches in ns, as the programs measured it themselves. */
struct switches_cost {
	__u64 switches_ns, stacks_ns;
	/*
	 * On the most affected CPU: how long switches alone took more than the budget, and what
	 * they took of that time.
	 */
	__u64 over_ns, over_switches_ns;
};

/* Is one of the events time off the CPU? */
bool switches_wanted(const struct sampler_config *config);

/*
 * Before the programs are loaded: picks those that this kernel accepts. NULL with *err filled if
 * there is no place for them. skel is borrowed and must outlive the result.
 */
struct switches *switches__new(struct krait_bpf *skel, const struct sampler_config *config,
			       bool has_loop, struct error *err);
/* Stops counting, too. */
void switches__free(struct switches *s);

/* Starts counting time. Returns 0, or a negative result with *err filled. */
int switches__start(struct switches *s, struct error *err) __attribute__((warn_unused_result));
/* Stops counting. Waits in progress stay as they are. */
void switches__stop(struct switches *s);
/* Returns 0 or -errno. */
int switches__cost(const struct switches *s, struct switches_cost *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_KERNEL_SAMPLER_SWITCHES_H */
