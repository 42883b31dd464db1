/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/forks.h"

#include <errno.h>

#include "record/follow/process_table.h"
#include "process/space/space.h"
#include "base/system/clock.h"

/*
 * After this time the fork is here to stay: its mappings and children should be known before its
 * first sample.
 */
#define PUT_OFF_NS (400 * 1000000ULL)

void forks_put_off(struct processes *ps, struct entry *e)
{
	__u64 delay_ns = processes__look_delay_ns(ps);

	e->process.state = PROCESS_FORKED;
	e->forked_due_ns = clock_monotonic_ns() + (delay_ns ? delay_ns : PUT_OFF_NS);
	TAILQ_INSERT_TAIL(&ps->forked, e, forked);
}

void forks_await(struct processes *ps, struct entry *e)
{
	forks_put_off(ps, e);
	e->awaited = true;
	ps->unwanted_cnt++;
}

void forks_forget(struct processes *ps, struct entry *e)
{
	if (e->process.state != PROCESS_FORKED)
		return;
	TAILQ_REMOVE(&ps->forked, e, forked);
	e->process.state = PROCESS_PENDING;
	e->awaited = false;
}

void forks_open(struct processes *ps, struct entry *e)
{
	struct entry *parent;

	if (e->process.state != PROCESS_FORKED)
		return;
	ps->unwanted_cnt -= e->awaited;
	forks_forget(ps, e);
	parent = entry_find(ps, e->process.parent_pid);
	if (parent && parent->process.state != PROCESS_TRACKED)
		parent = NULL;
	/* The caller is iterating over the table: an entry that fails stays there, to be looked at. */
	if (entry_open(ps, &e->process, parent ? &parent->process : NULL))
		entry_plan_retry(ps, &e->process, -EINPROGRESS);
	else if (e->process.remapped && e->process.space)
		space__outdate(e->process.space);
}

void forks_open_of(struct processes *ps, const struct process *parent)
{
	struct entry *e, *next;

	for (e = TAILQ_FIRST(&ps->forked); e; e = next) {
		next = TAILQ_NEXT(e, forked);
		if (e->process.parent_pid == parent->pid)
			forks_open(ps, e);
	}
}

__u64 forks_open_due(struct processes *ps, __u64 now_ns)
{
	struct entry *e, *next;

	/* While looks are spared, a process without samples needs none. */
	if (processes__spares(ps))
		return 0;
	for (e = TAILQ_FIRST(&ps->forked); e; e = next) {
		next = TAILQ_NEXT(e, forked);
		if (e->awaited)
			continue;
		if (e->forked_due_ns > now_ns)
			return e->forked_due_ns;
		forks_open(ps, e);
	}
	return 0;
}
