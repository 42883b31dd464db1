/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/pid_starts.h"

#include <stdlib.h>

#include "bpf/abi.h"
#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/data/vec.h"

static int by_pid_and_start(const void *a, const void *b)
{
	const struct pid_start *x = a, *y = b;

	return compare_numbers(x->pid, y->pid) ?: compare_numbers(x->start_ns, y->start_ns);
}

/* What is known of a pid once a process that began then has had it, too. A start in ticks sorts before the exact one. */
static void merge_start(__u64 *start_ns, __u64 other_ns)
{
	if (*start_ns)
		*start_ns = same_start(*start_ns, other_ns) ? other_ns : 0;
}

static void merge(struct pid_starts *s)
{
	unsigned kept = 0;

	if (s->merged == s->cnt)
		return;
	qsort(s->list, s->cnt, sizeof(*s->list), by_pid_and_start);
	for (unsigned i = 0; i < s->cnt; i++) {
		if (kept && s->list[kept - 1].pid == s->list[i].pid)
			merge_start(&s->list[kept - 1].start_ns, s->list[i].start_ns);
		else
			s->list[kept++] = s->list[i];
	}
	s->cnt = s->merged = kept;
}

void pid_starts_add(struct pid_starts *s, pid_t pid, __u64 start_ns)
{
	if (s->cnt == s->cap)
		merge(s);
	/* With less than half of it free, too few are added between two times that all are sorted. */
	if (s->cnt == s->merged && vec_reserve(s->list, s->cap, 2 * s->merged + 1)) {
		s->incomplete = true;
		return;
	}
	s->list[s->cnt++] = (struct pid_start){ pid, start_ns };
}

__u64 pid_starts_only(struct pid_starts *s, pid_t pid, __u64 now_ns)
{
	const struct pid_start *found;
	unsigned i;

	if (s->incomplete)
		return 0;
	merge(s);
	i = (unsigned)sorted_below(s->cnt, k, s->list[k].pid < pid);
	if (i == s->cnt || s->list[i].pid != pid)
		return now_ns;
	found = &s->list[i];
	return now_ns && !same_start(now_ns, found->start_ns) ? 0 : found->start_ns;
}

void pid_starts_free(struct pid_starts *s)
{
	free(s->list);
	*s = (struct pid_starts){ 0 };
}
