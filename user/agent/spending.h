/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spending.h - what an agent costs, and what it does about that: measures it (usage.h), asks the
 * budget how to go on (budget.h) and whose names to leave out (payers.h), and tells the session. A burst overrides the budget for a while.
 */
#ifndef KRAIT_AGENT_SPENDING_H
#define KRAIT_AGENT_SPENDING_H

#include <linux/types.h>
#include <stdbool.h>

#include "agent/budget.h"
#include "agent/payers.h"
#include "agent/usage.h"
#include "profile/window.h"
#include "record/run/session.h"

/* Begins as zeroes; has nothing to free. */
struct spending {
	struct session *session; /* borrowed */
	struct budget budget;
	struct payers payers;
	__u64 left_out; /* frames without names so far, because somebody pays */
	/* what krait had used by the beginning of the last window, and of this one */
	__u64 used_before_ns[2];
	struct usage usage; /* at the last check, including the programs */
	__u64 kernel_ns;
	__u64 window_cpu_ns, window_kernel_ns,
		window_server_ns; /* the same at the last window's end */
	__u64 burst_hz, burst_until_ns; /* 0: no burst */
	__u64 judge_ns, meter_ns; /* when cost is next judged and checked */
	__u64 window_starved_ns, window_unseen, window_put_off,
		window_left_out; /* as of the last window's end */
};

void spending_begin(struct spending *s, struct session *session, const struct budget_config *config,
		    const struct payers_config *payers) __attribute__((nonnull));
/* Other limits; running: the session has them at once. */
void spending_renew(struct spending *s, const struct budget_config *config, bool running)
	__attribute__((nonnull));
/* Between two steps: judges the cost if that is due, and changes the detail. */
void spending_check(struct spending *s, __u64 now_ns) __attribute__((nonnull));
/* At a window's end: notes its price, and then decides how to sample the next one. */
void spending_take_price(struct spending *s, struct window *w) __attribute__((nonnull));
/* For that long, samples at that rate in full detail: agent__burst(). */
void spending_burst(struct spending *s, __u64 frequency, __u64 ns) __attribute__((nonnull));
/*
 * Pause between two turns that saves what waking up costs, if the budget is used up; longer if
 * process starts cost most. 0: none.
 */
__u64 spending_nap_ns(const struct spending *s) __attribute__((nonnull));

#endif /* KRAIT_AGENT_SPENDING_H */
