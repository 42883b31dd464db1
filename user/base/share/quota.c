/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/share/quota.h"

#include <errno.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <unistd.h>

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

void owner_table_init(struct owner_table *t)
{
	*t = (struct owner_table){ 0 };
	/* Without random numbers places can be foreseen, as if there were no seed. */
	if (getrandom(t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed[0] = (__u32)getpid();
}

struct quota {
	LIST_ENTRY(quota) all;
	__u64 total, root_reserve, held_by_all;
	struct {
		__u64 held, refused;
	} owners[OWNER_CNT];
};

static LIST_HEAD(quota_list, quota) quotas;
static pthread_mutex_t quotas_lock = PTHREAD_MUTEX_INITIALIZER;

struct quota *quota__new(__u64 total, __u64 root_reserve)
{
	struct quota *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->total = total;
	q->root_reserve = root_reserve;
	pthread_mutex_lock(&quotas_lock);
	LIST_INSERT_HEAD(&quotas, q, all);
	pthread_mutex_unlock(&quotas_lock);
	return q;
}

void quota__free(struct quota *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&quotas_lock);
	LIST_REMOVE(q, all);
	pthread_mutex_unlock(&quotas_lock);
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

bool quota_knows(unsigned owner)
{
	unsigned i = checked(owner);
	bool found = false;
	struct quota *q;

	pthread_mutex_lock(&quotas_lock);
	LIST_FOREACH(q, &quotas, all)
	found |= __atomic_load_n(&q->owners[i].held, __ATOMIC_RELAXED) ||
		 __atomic_load_n(&q->owners[i].refused, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&quotas_lock);
	return found;
}
