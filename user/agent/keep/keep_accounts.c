/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/keep_accounts.h"

#include "profile/window.h"

void keep_accounts_window(struct keep_accounts *a, const struct window *w)
{
	for (unsigned i = 0; i < w->profile->event_cnt && i < KRAIT_MAX_EVENTS; i++)
		accounts_add(&a->sum[i], &w->accounts[i]);
}

void keep_accounts_sample(struct keep_accounts *a, unsigned event)
{
	if (event < KRAIT_MAX_EVENTS)
		a->samples[event]++;
}

void keep_accounts_missed(struct keep_accounts *a, unsigned event)
{
	if (event < KRAIT_MAX_EVENTS)
		a->missed[event]++;
}

/*
 * What is on its way, or ahead, stays in the sum, possibly negative: numbers wrap around, and the
 * next windows balance them.
 */
void keep_accounts_take(struct keep_accounts *a, unsigned event, struct accounts *ret)
{
	const struct accounts sum = a->sum[event];
	__u64 sampled =
		accounts_total(&sum, OUTCOME_COMPLETE) + accounts_total(&sum, OUTCOME_TRUNCATED);

	*ret = sum;
	/* For samples whose window has not ended, only their number is known. */
	ret->reasons[REASON_PYTHON] += a->samples[event] - sampled;
	/* To readers of the capture, those that could not be written are lost. */
	ret->reasons[REASON_PYTHON] -= a->missed[event];
	ret->reasons[REASON_NO_ROOM] += a->missed[event];
	ret->interrupts = a->samples[event] + accounts_total(&sum, OUTCOME_LOST);
	a->sum[event] = (struct accounts){
		.interrupts = sum.interrupts - ret->interrupts,
		.reasons[REASON_PYTHON] = sampled - a->samples[event],
	};
	a->samples[event] = a->missed[event] = 0;
}
