/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * payers.h - whose new names are left out, so that one owner's excess costs no other anything: those
 * of whoever has cost most when the agent is over its budget, before the rate is lowered for all;
 * and those of whoever brings more bytes of names than its share of what is kept and sent. Who pays
 * for its cost has no deep stacks either: even frames without names cost something.
 *
 * An owner is a bucket of users (bpf/share.h). Root never pays. Who has cost too much pays for some
 * windows, each time for twice as many, unless it has kept quiet for long.
 *
 * It measures and changes nothing itself: it is told what names have cost, and says who pays.
 */
#ifndef KRAIT_AGENT_PAYERS_H
#define KRAIT_AGENT_PAYERS_H

#include <linux/types.h>
#include <stdbool.h>

#include "record/run/session.h"
#include "bpf/share.h"
#include "base/share/allowance.h"

struct payers_config {
	/* bytes of new names of one owner, at once and a second; 0: unlimited */
	__u32 bytes_at_once, bytes_per_sec;
};

struct payer {
	struct session_names now;
	__u64 ns_before[2]; /* by the beginning of the last window, and of this one */
	struct allowance bytes;
	unsigned windows; /* that it still pays because of its cost */
	unsigned next; /* how many it will be the next time */
	unsigned quiet; /* windows since it paid last */
	bool pays; /* its new names are left out */
	__u32 frames_max; /* deepest stack while it pays for its cost; 0: as deep as others' */
};

/* Zero initially. */
struct payers {
	struct payers_config config;
	struct payer list[OWNER_CNT];
};

/*
 * Names go to a place that holds so many bytes and is meant to hold what comes in ns: an owner's
 * share is a part of that.
 */
void payers_bound(struct payers_config *config, __u64 bytes, __u64 ns) __attribute__((nonnull));
void payers_configure(struct payers *p, const struct payers_config *config)
	__attribute__((nonnull));
/* What an owner's names have cost by now. True: from now on it pays, or no longer does. */
bool payers_take(struct payers *p, unsigned owner, const struct session_names *names)
	__attribute__((nonnull));
/*
 * Who has cost most in this window and the last, and does not pay for it yet; 0: nobody has cost
 * ns_min.
 */
unsigned payers_costliest(const struct payers *p, __u64 ns_min) __attribute__((nonnull));
/* It pays for what it has cost. Returns the number of windows. */
unsigned payers_charge(struct payers *p, unsigned owner) __attribute__((nonnull));
/* A window has ended. */
void payers_end_window(struct payers *p) __attribute__((nonnull));

#endif /* KRAIT_AGENT_PAYERS_H */
