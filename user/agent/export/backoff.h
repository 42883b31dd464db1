/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backoff.h - when to try again: after 1, 2, 4 ... seconds, at most 15 s apart during the first two
 * minutes of an outage and 60 s later; a random part of up to half is subtracted, so that a fleet
 * does not come back in step. A server that asks for more time gets it, up to five minutes.
 *
 * Must hold: times are monotonic, so a clock that jumps changes nothing. A pause counts from the
 * start of the attempt, which may have taken long to fail.
 */
#ifndef KRAIT_AGENT_EXPORT_BACKOFF_H
#define KRAIT_AGENT_EXPORT_BACKOFF_H

#include <linux/types.h>

#define BACKOFF_MS 1000000ULL /* ns */
#define BACKOFF_FIRST_MS 1000ULL
#define BACKOFF_EARLY_MS 15000ULL
#define BACKOFF_EARLY_FOR_MS 120000ULL
#define BACKOFF_LATE_MS 60000ULL
#define BACKOFF_ASKED_MAX_MS 300000ULL
/* Least time between the end of an attempt and the next one. */
#define BACKOFF_LEAST_MS 250ULL

/* All zero: no outage. */
struct backoff {
	__u64 since_ns; /* start of the first failed attempt */
	unsigned failures; /* in a row */
	__u64 next_ns; /* not before this time */
};

static inline void backoff_succeeded(struct backoff *b)
{
	*b = (struct backoff){ 0 };
}

/* asked_ms: what the server asks for, 0: nothing; chance: a random number. */
static inline void backoff_failed(struct backoff *b, __u64 began_ns, __u64 now_ns, __u64 asked_ms,
				  __u64 chance)
{
	__u64 step_ms, longest_ms, pause_ms, next_ns;

	if (!b->failures)
		b->since_ns = began_ns;
	longest_ms = now_ns - b->since_ns < BACKOFF_EARLY_FOR_MS * BACKOFF_MS ? BACKOFF_EARLY_MS :
										BACKOFF_LATE_MS;
	step_ms = BACKOFF_FIRST_MS << (b->failures < 10 ? b->failures : 10);
	if (step_ms > longest_ms)
		step_ms = longest_ms;
	b->failures++;
	pause_ms = step_ms - chance % (step_ms / 2 + 1);
	next_ns = began_ns + pause_ms * BACKOFF_MS;
	if (next_ns < now_ns + BACKOFF_LEAST_MS * BACKOFF_MS)
		next_ns = now_ns + BACKOFF_LEAST_MS * BACKOFF_MS;
	if (asked_ms > BACKOFF_ASKED_MAX_MS)
		asked_ms = BACKOFF_ASKED_MAX_MS;
	if (next_ns < now_ns + asked_ms * BACKOFF_MS)
		next_ns = now_ns + asked_ms * BACKOFF_MS;
	b->next_ns = next_ns;
}

#endif /* KRAIT_AGENT_EXPORT_BACKOFF_H */
