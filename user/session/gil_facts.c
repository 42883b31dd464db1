/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/gil_facts.h"

#include "follow/processes.h"
#include "util/vec.h"

__u32 gil_number(struct process *p, __u64 gil_addr)
{
	if (!gil_addr)
		return 0;
	for (__u32 i = 0; i < p->gil_cnt; i++) {
		if (p->gils[i] == gil_addr)
			return i + 1;
	}
	if (p->gil_cnt == GIL_FACTS_LOCKS || vec_reserve(p->gils, p->gil_cap, p->gil_cnt + 1))
		return 0;
	p->gils[p->gil_cnt++] = gil_addr;
	return p->gil_cnt;
}

pid_t gil_holder(const struct process *p, __u64 tstate_addr)
{
	const struct thread *t;
	unsigned looked = 0;

	if (!tstate_addr)
		return 0;
	TAILQ_FOREACH(t, &p->threads, of_process)
	{
		if (t->tstate_addr == tstate_addr)
			return t->tid;
		if (++looked == GIL_FACTS_THREADS)
			break;
	}
	return 0;
}
