/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbol/reader_waits.h"

#include "util/clock.h"

/*
 * How long krait waits for an owner: an initial amount, and then a fraction 1/SHARE of the time.
 * All owners but root together, since anyone with subordinate ids is many owners: 1/SHARE_ALL.
 */
#define WAIT_FIRST_NS (5 * NS_PER_SEC)
#define SHARE 10
#define WAIT_ALL_FIRST_NS (2 * WAIT_FIRST_NS)
#define SHARE_ALL 3
/*
 * For parsers that get no processor: an initial amount, and a fraction 1/SHARE of the time, and
 * then a little longer for those that answer at once.
 */
#define STARVED_FIRST_NS (NS_PER_SEC / 2)
#define STARVED_LAST_NS (NS_PER_SEC / 4)
#define LAST_MS 2U

void reader_waits_begin(struct reader_waits *w, __u64 now_ns)
{
	w->begin_ns = now_ns;
}

/* ---- owners ----------------------------------------------------------------------------------- */

static struct reader_wait *wait_of(struct reader_waits *w, uid_t owner)
{
	struct reader_wait *least = &w->owners[0];

	for (unsigned i = 0; i < w->owner_cnt; i++) {
		if (w->owners[i].owner == owner)
			return &w->owners[i];
		if (w->owners[i].ns < least->ns)
			least = &w->owners[i];
	}
	if (w->owner_cnt < READER_OWNERS_MAX)
		least = &w->owners[w->owner_cnt++];
	*least = (struct reader_wait){ .owner = owner };
	return least;
}

bool reader_waits_refuse(struct reader_waits *w, uid_t owner, __u64 now_ns)
{
	__u64 time_ns = now_ns - w->begin_ns;

	return owner && (wait_of(w, owner)->ns > WAIT_FIRST_NS + time_ns / SHARE ||
			 w->owners_ns > WAIT_ALL_FIRST_NS + time_ns / SHARE_ALL);
}

void reader_waits_note(struct reader_waits *w, uid_t owner, __u64 ns)
{
	if (!owner)
		return;
	wait_of(w, owner)->ns += ns;
	w->owners_ns += ns;
}

/* ---- processors ------------------------------------------------------------------------------- */

unsigned reader_waits_ms(const struct reader_waits *w, __u64 now_ns)
{
	__u64 most_ns = STARVED_FIRST_NS + (now_ns - w->begin_ns) / SHARE;

	if (!w->hurries || w->starved_ns < most_ns)
		return READER_LOOK_MS;
	return w->starved_ns < most_ns + STARVED_LAST_NS ? LAST_MS : 0;
}

void reader_waits_note_starved(struct reader_waits *w, __u64 ns)
{
	w->starved_ns += ns;
}
