/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keep_accounts.h - the accounts of windows as those of captures, whose ends they do not share: interrupts that are
 * counted, but not sampled yet, go on to the next capture, and so does what a capture had before its window ended.
 *
 * Must hold: those of each capture balance, with as many samples as are in it; all together are those of the windows,
 * but for what is still on its way.
 */
#ifndef KRAIT_KEEP_KEEP_ACCOUNTS_H
#define KRAIT_KEEP_KEEP_ACCOUNTS_H

#include <linux/types.h>

#include "abi.h"
#include "profile/accounts.h"

struct window;

/* All zero at first. */
struct keep_accounts {
	struct accounts sum[KRAIT_MAX_EVENTS]; /* of windows, less what was taken */
	__u64 samples[KRAIT_MAX_EVENTS]; /* since the last capture: in it, */
	__u64 missed[KRAIT_MAX_EVENTS]; /* or not, as it could not be written */
};

void keep_accounts_window(struct keep_accounts *a, const struct window *w);
void keep_accounts_sample(struct keep_accounts *a, unsigned event);
void keep_accounts_missed(struct keep_accounts *a, unsigned event);
/* Those of the capture that ends now; the next one begins. */
void keep_accounts_take(struct keep_accounts *a, unsigned event, struct accounts *ret);

#endif /* KRAIT_KEEP_KEEP_ACCOUNTS_H */
