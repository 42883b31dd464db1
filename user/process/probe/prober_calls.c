/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/prober_calls.h"

#include <stddef.h>
#include <stdlib.h>

#include "process/proc/proc.h"

void calls_init(struct calls *q)
{
	*q = (struct calls){ .end = &q->first };
}

void calls_add(struct calls *q, struct call *c)
{
	c->next = NULL;
	*q->end = c;
	q->end = &c->next;
	q->cnt++;
}

struct call *calls_take(struct calls *q)
{
	struct call *c = q->first;

	if (!c)
		return NULL;
	q->first = c->next;
	q->cnt--;
	if (!q->first)
		q->end = &q->first;
	return c;
}

void calls_put_back(struct calls *q, struct calls *from)
{
	if (!from->first)
		return;
	*from->end = q->first;
	if (!q->first)
		q->end = from->end;
	q->first = from->first;
	q->cnt += from->cnt;
	calls_init(from);
}

unsigned calls_forget(struct calls *q, const void *ctx)
{
	unsigned cnt = 0;

	for (struct call *c = q->first; c; c = c->next) {
		if (!c->done || c->ctx != ctx)
			continue;
		c->done = NULL;
		cnt++;
	}
	return cnt;
}

bool calls_has(const struct calls *q, const void *ctx)
{
	for (const struct call *c = q->first; c; c = c->next)
		if (c->done && c->ctx == ctx)
			return true;
	return false;
}

void calls_drop(struct calls *q)
{
	struct call *c;

	while ((c = calls_take(q)))
		free(c);
}

uid_t call_owner(struct call *c)
{
	if (!c->has_owner)
		c->owner = proc_owner(c->request.pid);
	c->has_owner = true;
	return c->owner;
}
