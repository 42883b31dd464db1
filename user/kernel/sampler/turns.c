/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/turns.h"

#include <stdbool.h>

#include "kernel/sampler/queue.h"
#include "kernel/sampler/ring.h"

/*
 * Stacks that may be worth an anchor come in each turn, but the placer finds again and again that
 * it would not pay. A new thread, or news about an anchor, starts anew.
 */
static bool is_in_vain(struct turns *t, const struct ring_moved *m)
{
	if (m->newcomer || m->noted)
		t->vain = 0;
	else if (m->deep && t->vain <= VAIN_TURNS)
		t->vain++;
	return t->vain > VAIN_TURNS;
}

__u64 turns_next_ns(struct turns *t, const struct ring_moved *m, __u64 now_ns)
{
	bool vain = is_in_vain(t, m), deep = m->deep && !vain;
	bool quiet = !m->news && !m->newcomer && !deep && m->bytes < QUEUE_CHUNK;

	if (m->newcomer)
		t->short_until_ns = now_ns + SHORT_TURNS_NS;
	if (!quiet || !t->turn_ns)
		t->turn_ns = TURN_NS;
	else if (t->turn_ns < QUIET_TURN_NS)
		t->turn_ns *= 2;
	return now_ns < t->short_until_ns ? SHORT_TURN_NS : t->turn_ns;
}
