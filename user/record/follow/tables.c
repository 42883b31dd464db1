/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/tables.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "record/follow/process_table.h"
#include "kernel/sampler/sampler.h"
#include "process/probe/prober.h"
#include "python/layout/task_layout.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/* A starting program maps libraries one by one. */
#define PAUSE_FIRST_NS 10000000ULL
/* The same if nobody reports mappings. */
#define BLIND_FIRST_NS 100000000ULL

/* Lets the kernel side follow the tasks of that process from now on. */
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

	look_plan_answered(&t->look, e->table);
	if (result || !data || len != sizeof(t->found)) {
		t->look.outdated = result == -EAGAIN;
		/* It cannot be used: that will not change. */
		if (result != -EAGAIN)
			look_plan_end(&t->look);
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
		look_plan_end(&t->look);
}

void tables_begin(struct processes *ps, struct process *p, const struct process *parent)
{
	struct tables *t = &p->tables;

	*t = (struct tables){ .look.pause_ns = processes_hear_mappings(ps) ? PAUSE_FIRST_NS :
									     BLIND_FIRST_NS };
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
	if (parent && look_plan_is_settled(&parent->tables.look, ps))
		look_plan_begin_settled(&t->look);
	else
		look_plan_begin(&t->look, ps);
}

void tables_look(struct processes *ps, struct process *p)
{
	const struct probe_request r = {
		.op = PROBE_PUBLISHED,
		.pid = p->pid,
		.start_ticks = p->info.start_ticks,
		.image = process_image(p),
		.published = { p->info.version, p->info.runtime_addr },
	};
	struct tables *t = &p->tables;

	ps->asked_cnt++;
	t->look.asked = !prober__ask(ps->config.prober, PROBER_LATER, &r, NULL, 0, on_found, t);
}

bool tables_tasks_are_late(const struct process *p, __u64 time_ns)
{
	const struct tables *t = &p->tables;

	if (t->found.tables[PUBLISHED_ASYNCIO].addr)
		return time_ns < t->tasks_ns;
	return look_plan_is_open(&t->look);
}

void tables_forget(struct processes *ps, struct process *p)
{
	if (p->tables.look.asked)
		prober__forget(ps->config.prober, &p->tables);
	/* What the kernel copied at a fork, the kernel removes itself. */
	if (p->tables.tasks_ns)
		sampler__set_tasks(ps->config.sampler, p->pid, NULL);
	p->tables = (struct tables){ .tasks_ns = 0 };
}
