/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switches.h - time off the CPU, kernel side: the programs of bpf/switch.bpf.c, and what they know of each thread.
 *
 * Must hold: nothing here is loaded or attached unless the events ask for time off the CPU.
 */
#ifndef KRAIT_SAMPLER_SWITCHES_H
#define KRAIT_SAMPLER_SWITCHES_H

#include <linux/types.h>
#include <stdbool.h>

struct error;
struct krait_bpf;
struct sampler_config;
struct switches;

/* One of the events is time off the CPU. */
bool switches_wanted(const struct sampler_config *config);

/*
 * Before the programs are loaded: picks those that this kernel takes. NULL with *err filled where it has no
 * place for them. skel is borrowed and outlives it.
 */
struct switches *switches__new(struct krait_bpf *skel, const struct sampler_config *config,
			       bool has_loop, struct error *err);
/* Ends the counting, too. */
void switches__free(struct switches *s);

/* Time is counted from now on. 0, or a negative result with *err filled. */
int switches__start(struct switches *s, struct error *err) __attribute__((warn_unused_result));
/* No more is. What lasts stays as it is. */
void switches__stop(struct switches *s);

#endif /* KRAIT_SAMPLER_SWITCHES_H */
