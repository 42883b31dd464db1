/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window_facts.h - facts about a whole window besides its samples, as attributes of its profiles:
 * its number, how all interrupts of the host ended in it, and how the agent sampled.
 */
#ifndef KRAIT_AGENT_WINDOW_FACTS_H
#define KRAIT_AGENT_WINDOW_FACTS_H

#include <linux/types.h>

#include "emit/otlp.h"
#include "profile/window.h"

#define WINDOW_FACTS_MAX 96
#define WINDOW_FACT_KEY_MAX 64

/* Must outlive the use of the attributes. */
struct window_facts {
	struct otlp_attribute list[WINDOW_FACTS_MAX];
	char keys[WINDOW_FACTS_MAX][WINDOW_FACT_KEY_MAX];
	unsigned cnt;
};

void window_facts_fill(struct window_facts *f, const struct window *w) __attribute__((nonnull));

#endif /* KRAIT_AGENT_WINDOW_FACTS_H */
