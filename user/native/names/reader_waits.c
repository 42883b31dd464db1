/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/reader_waits.h"

#include "base/system/clock.h"

/* How long krait waits for an owner, and for all owners but root together. */
static const struct time_share_limits limits = {
	.first_ns = 5 * NS_PER_SEC,
	.part = 10,
	.all_first_ns = 10 * NS_PER_SEC,
	.all_part = 3,
};
/*
 * Processor time at krait's priority. Reading everything about the libraries of a large program
 * takes a second: whoever records it wants that at once, however busy the machine is.
 */
static const struct time_share_limits urgent_limits = {
	.first_ns = 1 * NS_PER_SEC,
	.part = 100,
	.all_first_ns = 2 * NS_PER_SEC,
	.all_part = 50,
	.root_first_ns = 4 * NS_PER_SEC,
	.root_part = 20,
};
/*
 * For parsers that get no processor: an initial amount, and a fraction 1/STARVED_SHARE of the time, and
 * then a little longer for those that answer at once.
 */
#define STARVED_FIRST_NS (NS_PER_SEC / 2)
#define STARVED_SHARE 10
#define STARVED_LAST_NS (NS_PER_SEC / 4)
#define LAST_MS 2U

void reader_waits_begin(struct reader_waits *w, __u64 now_ns)
{
	w->begin_ns = now_ns;
	time_share_begin(&w->owners, &limits, now_ns);
	time_share_begin(&w->urgent, &urgent_limits, now_ns);
}

bool reader_waits_refuse(struct reader_waits *w, uid_t owner, __u64 now_ns)
{
	return time_share_refuses(&w->owners, owner, now_ns);
}

void reader_waits_note(struct reader_waits *w, uid_t owner, __u64 ns)
{
	time_share_note(&w->owners, owner, ns);
}

/* ---- processors ------------------------------------------------------------------------------- */

bool reader_waits_may_hurry(struct reader_waits *w, uid_t owner, __u64 now_ns)
{
	return w->hurries && !time_share_refuses(&w->urgent, owner, now_ns);
}

void reader_waits_note_urgent(struct reader_waits *w, uid_t owner, __u64 ns)
{
	time_share_note(&w->urgent, owner, ns);
}

unsigned reader_waits_ms(const struct reader_waits *w, __u64 now_ns)
{
	__u64 most_ns = STARVED_FIRST_NS + (now_ns - w->begin_ns) / STARVED_SHARE;

	if (!w->hurries || w->starved_ns < most_ns)
		return READER_LOOK_MS;
	return w->starved_ns < most_ns + STARVED_LAST_NS ? LAST_MS : 0;
}

void reader_waits_note_starved(struct reader_waits *w, __u64 ns)
{
	w->starved_ns += ns;
}
