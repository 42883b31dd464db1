/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/share/time_share.h"

#include <string.h>

void time_share_begin(struct time_share *t, const struct time_share_limits *limits, __u64 now_ns)
{
	memset(t, 0, sizeof(*t));
	t->limits = *limits;
	t->begin_ns = now_ns;
}

static struct time_share_owner *owner_of(struct time_share *t, uid_t owner)
{
	struct time_share_owner *least = &t->owners[0];

	for (unsigned i = 0; i < t->owner_cnt; i++) {
		if (t->owners[i].owner == owner)
			return &t->owners[i];
		if (t->owners[i].ns < least->ns)
			least = &t->owners[i];
	}
	if (t->owner_cnt < TIME_SHARE_OWNERS_MAX)
		least = &t->owners[t->owner_cnt++];
	*least = (struct time_share_owner){ .owner = owner };
	return least;
}

static bool is_more(__u64 ns, __u64 first_ns, __u64 part, __u64 time_ns)
{
	return part && ns > first_ns + time_ns / part;
}

bool time_share_refuses(struct time_share *t, uid_t owner, __u64 now_ns)
{
	const struct time_share_limits *l = &t->limits;
	__u64 time_ns = now_ns > t->begin_ns ? now_ns - t->begin_ns : 0;

	if (!owner)
		return is_more(t->root_ns, l->root_first_ns, l->root_part, time_ns);
	return is_more(owner_of(t, owner)->ns, l->first_ns, l->part, time_ns) ||
	       is_more(t->all_ns, l->all_first_ns, l->all_part, time_ns);
}

void time_share_note(struct time_share *t, uid_t owner, __u64 ns)
{
	if (!owner) {
		t->root_ns += ns;
		return;
	}
	owner_of(t, owner)->ns += ns;
	t->all_ns += ns;
}
