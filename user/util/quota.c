/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Callers' indexes are not trusted. */
static unsigned checked(unsigned owner)
{
	return owner % OWNER_CNT;
}

void owner_name(const struct owner_table *t, unsigned owner, char *buf, size_t size)
{
	unsigned i = checked(owner);

	if (i == OWNER_ROOT)
		snprintf(buf, size, "root");
	else
		snprintf(buf, size, "user %u%s", t->uids[i], t->shared[i] ? " and others" : "");
}

struct quota {
	__u64 total, root_reserve, held_by_all;
	struct {
		__u64 held, refused;
	} owners[OWNER_CNT];
};

struct quota *quota__new(__u64 total, __u64 root_reserve)
{
	struct quota *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->total = total;
	q->root_reserve = root_reserve;
	return q;
}

void quota__free(struct quota *q)
{
	free(q);
}

int quota__take(struct quota *q, unsigned owner, __u64 n)
{
	unsigned i = checked(owner);
	__u64 free_now = share_free(i, q->total, q->held_by_all, q->root_reserve,
				    q->owners[OWNER_ROOT].held);

	if (!share_allows(i, q->owners[i].held, n, q->total, free_now)) {
		q->owners[i].refused++;
		return -EDQUOT;
	}
	q->owners[i].held += n;
	q->held_by_all += n;
	return 0;
}

void quota__give(struct quota *q, unsigned owner, __u64 n)
{
	unsigned i = checked(owner);

	if (n > q->owners[i].held)
		n = q->owners[i].held;
	q->owners[i].held -= n;
	q->held_by_all -= n;
}

unsigned quota__largest(const struct quota *q)
{
	unsigned largest = 0;

	for (unsigned i = 1; i < OWNER_CNT; i++) {
		if (q->owners[i].held > q->owners[largest].held)
			largest = i;
	}
	return largest;
}

__u64 quota__total(const struct quota *q)
{
	return q->total;
}

__u64 quota__held(const struct quota *q, unsigned owner)
{
	return q->owners[checked(owner)].held;
}

__u64 quota__held_by_all(const struct quota *q)
{
	return q->held_by_all;
}

__u64 quota__refused(const struct quota *q, unsigned owner)
{
	return q->owners[checked(owner)].refused;
}
