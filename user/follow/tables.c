/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/tables.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "follow/process_table.h"
#include "sampler/sampler.h"
#include "target/prober.h"
#include "target/task_layout.h"
#include "util/clock.h"
#include "util/log.h"

/* Between two looks; it doubles up to the longest. A program that starts maps libraries one by one. */
#define PAUSE_FIRST_NS 10000000ULL
#define PAUSE_LONGEST_NS NS_PER_SEC
/* The same where nobody reports mappings. */
#define BLIND_FIRST_NS 100000000ULL
#define BLIND_LONGEST_NS (16 * NS_PER_SEC)

static bool is_reported(const struct processes *ps)
{
	return sampler__reports_mappings(ps->config.sampler);
}

static void plan(struct processes *ps, struct tables *t, __u64 now_ns)
{
	__u64 longest = is_reported(ps) ? PAUSE_LONGEST_NS : BLIND_LONGEST_NS;

	t->next_ns = now_ns + t->pause_ns;
	t->pause_ns = 2 * t->pause_ns < longest ? 2 * t->pause_ns : longest;
}

/* The kernel side follows the tasks of that process from now on. */
static void publish_tasks(struct processes *ps, struct process *p)
{
	const struct published_table *found = &p->tables.found.tables[PUBLISHED_ASYNCIO];
	struct task_layout layout;
	int err;

	if (!found->addr)
		return;
	err = task_layout_of(&layout, &p->info.offsets, &found->asyncio, p->start_ns);
	if (!err)
		err = sampler__set_tasks(ps->config.sampler, p->pid, &layout);
	if (!err)
		p->tables.tasks_ns = clock_monotonic_ns();
	if (err)
		log_debug("tables", "tasks of %d are not followed: %s", p->pid, strerror(-err));
}

static void on_found(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct tables *t = ctx;
	struct process *p = (struct process *)((char *)t - offsetof(struct process, tables));
	struct entry *e = (struct entry *)((char *)p - offsetof(struct entry, process));

	t->asked = false;
	processes_due(e->table, t->next_ns);
	if (result || !data || len != sizeof(t->found)) {
		/* It cannot be read: that does not change. */
		t->outdated = result == -EAGAIN;
		t->next_ns = t->outdated ? t->next_ns : 0;
		return;
	}
	for (unsigned kind = 0; kind < PUBLISHED_KINDS; kind++) {
		const struct published_table *found =
			&((const struct published *)data)->tables[kind];

		if (!found->addr ||
		    !published_is_sane(kind, &found->asyncio, published_infos[kind].size))
			continue;
		t->found.tables[kind] = *found;
		log_debug("tables", "%d has %s at %llx", p->pid, published_infos[kind].section,
			  found->addr);
	}
	publish_tasks(e->table, p);
	if (published_is_whole(&t->found, p->info.version))
		t->next_ns = 0;
}

void tables_begin(struct processes *ps, struct process *p, const struct process *parent)
{
	struct tables *t = &p->tables;

	*t = (struct tables){ .pause_ns = is_reported(ps) ? PAUSE_FIRST_NS : BLIND_FIRST_NS };
	if (!ps->config.tables)
		return;
	if (!published_by(p->info.version)) {
		ps->taskless_cnt++;
		ps->taskless_version = p->info.version;
		return;
	}
	if (parent)
		t->found = parent->tables.found;
	publish_tasks(ps, p);
	if (published_is_whole(&t->found, p->info.version))
		return;
	t->outdated = true;
	t->next_ns = clock_monotonic_ns();
	processes_due(ps, t->next_ns);
}

void tables_mapped(struct processes *ps, struct process *p)
{
	p->tables.outdated = true;
	processes_due(ps, p->tables.next_ns);
}

static void look(struct processes *ps, struct process *p, __u64 now_ns)
{
	const struct probe_request r = {
		.op = PROBE_PUBLISHED,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.published = { p->info.version, p->info.runtime_addr },
	};
	struct look_budget *budget = &ps->table_looks[p->owner % OWNER_CNT];
	struct tables *t = &p->tables;

	plan(ps, t, now_ns);
	if (!look_budget_has(budget))
		return;
	look_budget_take(budget);
	t->outdated = !is_reported(ps);
	t->asked = !prober__ask(ps->config.prober, PROBER_LATER, &r, NULL, 0, on_found, t);
}

__u64 tables_step(struct processes *ps, struct process *p, __u64 now_ns)
{
	struct tables *t = &p->tables;

	if (!t->next_ns || t->asked || !t->outdated)
		return 0;
	if (now_ns < t->next_ns)
		return t->next_ns;
	look(ps, p, now_ns);
	return t->asked ? 0 : t->next_ns;
}

bool tables_tasks_are_late(const struct process *p, __u64 time_ns)
{
	const struct tables *t = &p->tables;

	if (t->found.tables[PUBLISHED_ASYNCIO].addr)
		return time_ns < t->tasks_ns;
	return t->asked || (t->next_ns && t->outdated);
}

void tables_forget(struct processes *ps, struct process *p)
{
	if (p->tables.asked)
		prober__forget(ps->config.prober, &p->tables);
	if (ps->config.tables)
		sampler__set_tasks(ps->config.sampler, p->pid, NULL);
	p->tables = (struct tables){ .next_ns = 0 };
}
