/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/perf_mappings.h"

#include <stdlib.h>

#include "record/follow/processes.h"
#include "process/space/space.h"
#include "kernel/sampler/mmap_events.h"
#include "record/unwinding/unwinding.h"
#include "base/system/clock.h"

/*
 * Between two looks: the shortest pause, and the longest while none of what was mapped belongs to
 * our processes. A process that has just started maps libraries, and is sampled in them at once.
 */
#define PAUSE_NS 1000000ULL
#define PAUSE_RARE_NS 100000000ULL
#define BEGIN_NS 200000000ULL

struct perf_mappings {
	struct processes *processes;
	struct unwinding *unwinding; /* NULL: nobody is in a hurry */
	struct mmap_events *events;
	__u64 cnt; /* mappings of our processes */
	__u64 next_ns, pause_ns; /* when to look again; the last pause */
	__u64 begun_ns; /* when the newest process was first seen */
	unsigned seen_cnt; /* how many had been seen by then */
};

struct perf_mappings *perf_mappings__new(struct processes *processes, struct unwinding *unwinding)
{
	struct perf_mappings *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->processes = processes;
	m->unwinding = unwinding;
	m->events = mmap_events__new();
	if (!m->events) {
		free(m);
		return NULL;
	}
	processes__hear_perf(processes);
	return m;
}

void perf_mappings__free(struct perf_mappings *m)
{
	if (!m)
		return;
	mmap_events__free(m->events);
	free(m);
}

int perf_mappings__fd(const struct perf_mappings *m, __u64 now_ns, __u64 *until_ns)
{
	if (!m->unwinding)
		return -1;
	if (now_ns >= m->next_ns)
		return mmap_events__fd(m->events);
	if (m->next_ns < *until_ns)
		*until_ns = m->next_ns;
	return -1;
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct perf_mappings *m = ctx;
	struct process *p;

	/* Lost mappings show in the samples, as far as the unwinder needs them. */
	p = pid && m->unwinding ? processes__find_mapped(m->processes, pid) : NULL;
	processes__mapped(m->processes, pid);
	if (!p || !p->space)
		return;
	m->cnt++;
	if (processes__spares(m->processes) && TAILQ_EMPTY(&p->threads)) {
		space__outdate(p->space); /* its first sample triggers reading it */
		return;
	}
	m->pause_ns = 0;
	unwinding__mapped(m->unwinding, p, clock_monotonic_ns());
}

static __u64 longest_pause(const struct perf_mappings *m, __u64 now_ns)
{
	if (processes__spares(m->processes))
		return PAUSE_RARE_NS;
	return now_ns < m->begun_ns + BEGIN_NS ? PAUSE_NS : PAUSE_RARE_NS;
}

void perf_mappings__take(struct perf_mappings *m)
{
	__u64 pause_ns = m->pause_ns, now_ns, longest_ns;

	if (!mmap_events__read(m->events, on_mapped, m) || !m->unwinding)
		return;
	now_ns = clock_monotonic_ns();
	longest_ns = longest_pause(m, now_ns);
	m->pause_ns = pause_ns && m->pause_ns ? 2 * pause_ns : PAUSE_NS;
	if (m->pause_ns > longest_ns || processes__spares(m->processes))
		m->pause_ns = longest_ns;
	m->next_ns = now_ns + m->pause_ns;
}

void perf_mappings__note_begins(struct perf_mappings *m, __u64 now_ns)
{
	unsigned cnt = processes__seen_cnt(m->processes);

	if (cnt == m->seen_cnt)
		return;
	m->seen_cnt = cnt;
	if (processes__spares(m->processes))
		return;
	m->begun_ns = now_ns;
	m->pause_ns = m->next_ns = 0;
}

void perf_mappings__follow_cpus(struct perf_mappings *m)
{
	mmap_events__follow_cpus(m->events);
}

__u64 perf_mappings__cnt(const struct perf_mappings *m)
{
	return m->cnt;
}
