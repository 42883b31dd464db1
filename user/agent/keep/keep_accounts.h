/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keep_accounts.h - converts the accounts of windows to those of captures, which end at other
 * times: interrupts that are counted but not sampled yet go to the next capture, and so does what a
 * capture contained before its window ended.
 *
 * Must hold: each capture's accounts balance, with as many samples as are in it; together they
 * equal those of the windows, except for what is still on its way.
 */
#ifndef KRAIT_AGENT_KEEP_KEEP_ACCOUNTS_H
#define KRAIT_AGENT_KEEP_KEEP_ACCOUNTS_H

#include <linux/types.h>

#include "bpf/abi.h"
#include "profile/accounts.h"

struct window;

/* All zero initially. */
struct keep_accounts {
	struct accounts sum[KRAIT_MAX_EVENTS]; /* of windows, minus what was taken */
	__u64 samples[KRAIT_MAX_EVENTS]; /* since the last capture: samples in it, */
	__u64 missed[KRAIT_MAX_EVENTS]; /* and those that could not be written */
};

void keep_accounts_window(struct keep_accounts *a, const struct window *w);
void keep_accounts_sample(struct keep_accounts *a, unsigned event);
void keep_accounts_missed(struct keep_accounts *a, unsigned event);
/* The accounts of the capture that ends now; the next one begins. */
void keep_accounts_take(struct keep_accounts *a, unsigned event, struct accounts *ret);

#endif /* KRAIT_AGENT_KEEP_KEEP_ACCOUNTS_H */
