/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/share/owner_turns.h"

#include <stdbool.h>
#include <stddef.h>

void owner_turns_add(struct owner_turns *t, uid_t owner)
{
	struct owner_turn *last = t->cnt ? &t->list[t->cnt - 1] : NULL;

	if (!last || (last->owner != owner && t->cnt < OWNER_TURNS_MAX)) {
		__u32 first = last ? last->end : 0;

		last = &t->list[t->cnt++];
		*last = (struct owner_turn){ .owner = owner, .next = first, .end = first };
	}
	last->end++;
}

/* Considers root's only, or all but root's. */
static struct owner_turn *least(struct owner_turns *t, bool roots)
{
	struct owner_turn *found = NULL;

	for (unsigned i = 0; i < t->cnt; i++) {
		struct owner_turn *turn = &t->list[i];

		if (turn->next < turn->end && !turn->owner == roots &&
		    (!found || turn->ns < found->ns))
			found = turn;
	}
	return found;
}

struct owner_turn *owner_turns_next(struct owner_turns *t)
{
	bool roots = t->root_ns <= t->others_ns;
	struct owner_turn *turn = least(t, roots);

	return turn ? turn : least(t, !roots);
}

void owner_turns_note(struct owner_turns *t, struct owner_turn *turn, __u64 ns)
{
	turn->ns += ns;
	if (turn->owner)
		t->others_ns += ns;
	else
		t->root_ns += ns;
}

__u32 owner_turns_left(const struct owner_turns *t)
{
	__u32 left = 0;

	for (unsigned i = 0; i < t->cnt; i++)
		left += t->list[i].end - t->list[i].next;
	return left;
}
