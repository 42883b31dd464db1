/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/priority.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

int priority_raise(struct priority *ret)
{
	struct sched_param lowest = { .sched_priority = 1 };

	ret->raised = false;
	ret->policy = sched_getscheduler(0);
	if (ret->policy < 0 || sched_getparam(0, &ret->param))
		return -errno;
	/* A user who started krait with a special policy has a reason for it. */
	if (ret->policy != SCHED_OTHER && ret->policy != SCHED_BATCH)
		return 0;
	if (sched_setscheduler(0, SCHED_RR, &lowest))
		return -errno;
	ret->raised = true;
	return 0;
}

void priority_restore(const struct priority *p)
{
	if (p->raised)
		sched_setscheduler(0, p->policy, &p->param);
}

static void lower(int number)
{
	const struct sched_param ordinary = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

void priority_bound(unsigned usec)
{
	struct rlimit limit;

	if (sched_getscheduler(0) != SCHED_RR)
		return;
	if (!usec || getrlimit(RLIMIT_RTTIME, &limit) || signal(SIGXCPU, lower) == SIG_ERR) {
		lower(0);
		return;
	}
	limit.rlim_cur = usec < limit.rlim_max ? usec : limit.rlim_max;
	if (setrlimit(RLIMIT_RTTIME, &limit))
		lower(0);
}
