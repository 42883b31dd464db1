/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/pid_starts.h"

#include <stdlib.h>

#include "abi.h"
#include "util/search.h"
#include "util/vec.h"

void pid_starts_add(struct pid_starts *s, pid_t pid, __u64 start_ns)
{
	if (vec_reserve(s->list, s->cap, s->cnt + 1)) {
		s->incomplete = true;
		return;
	}
	s->list[s->cnt++] = (struct pid_start){ pid, start_ns };
	s->sorted = false;
}

static int by_pid(const void *a, const void *b)
{
	const struct pid_start *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

__u64 pid_starts_only(struct pid_starts *s, pid_t pid, __u64 now_ns)
{
	__u64 only_ns = now_ns;
	unsigned i;

	if (s->incomplete)
		return 0;
	if (!s->sorted && s->cnt)
		qsort(s->list, s->cnt, sizeof(*s->list), by_pid);
	s->sorted = true;
	i = (unsigned)sorted_below(s->cnt, k, s->list[k].pid < pid);
	for (; i < s->cnt && s->list[i].pid == pid; i++) {
		if (!s->list[i].start_ns || (only_ns && !same_start(only_ns, s->list[i].start_ns)))
			return 0;
		only_ns = s->list[i].start_ns;
	}
	return only_ns;
}

void pid_starts_free(struct pid_starts *s)
{
	free(s->list);
	*s = (struct pid_starts){ 0 };
}
