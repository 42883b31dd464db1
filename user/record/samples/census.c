/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/census.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "record/follow/processes.h"
#include "record/samples/collector.h"
#include "record/samples/own.h"
#include "record/samples/task_chains.h"
#include "record/samples/whose.h"
#include "process/probe/probe_tasks.h"
#include "process/probe/probed.h"
#include "base/system/clock.h"
#include "base/data/vec.h"
#include "python/walk/stack_walk.h"
#include "python/walk/thread_list.h"

/* After a census, pause for at least this many times its duration. */
#define REST 20

struct stack_count {
	__u32 node, cnt;
};

struct census {
	struct collector *collector;
	struct processes *processes;
	unsigned event;
	__u64 period_ns, due_ns;
	bool names; /* put the tasks' names in their stacks */
	pid_t *pids;
	__u32 pid_cnt, pid_cap;
	struct stack_count *stacks; /* initially one per task */
	__u32 stack_cnt, stack_cap;
	struct census_stats stats;
	struct {
		struct record_sample record;
		struct frame parts[KRAIT_MAX_TASK_PARTS];
	} out;
};

struct census *census__new(struct collector *collector, struct processes *processes, unsigned event,
			   __u64 period_ns, bool names)
{
	struct census *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->collector = collector;
	c->processes = processes;
	c->event = event;
	c->period_ns = period_ns;
	c->names = names;
	return c;
}

void census__free(struct census *c)
{
	if (!c)
		return;
	free(c->pids);
	free(c->stacks);
	free(c);
}

/* ---- one process ---------------------------------------------------------------------------------- */

/* The interpreter that owns the code objects, if the process has not been sampled yet; 0 unknown. */
static __u64 main_interp(const struct process *p)
{
	const struct stack_walk walk = { .memory = probed__memory(p->probed),
					 .offsets = &p->info.offsets,
					 .runtime_addr = p->info.runtime_addr };
	struct thread_list_entry list[64];
	__u32 cnt = 0;

	if (p->own->main_interp_addr)
		return p->own->main_interp_addr;
	thread_list_read(&walk, list, sizeof(list) / sizeof(list[0]), &cnt);
	while (cnt-- > 0)
		if (!list[cnt].interp_id)
			return list[cnt].interp_addr;
	return 0;
}

/* Fills what all samples of the process have in common. False: it cannot be read. */
static bool begin(struct census *c, const struct process *p, __u64 time_ns)
{
	const __s32 generation = p->info.offsets.interp.code_object_generation;
	struct record_sample *r = &c->out.record;

	*r = (struct record_sample){
		.type = RECORD_SAMPLE,
		.owner = (__u16)p->owner,
		.time_ns = time_ns,
		.thread_start_ns = p->start_ns,
		.pid = (__u32)p->pid,
		.tid = (__u32)p->pid,
		.event = (__u8)c->event,
		.reason = REASON_PYTHON,
		.flags = SAMPLE_HAS_SLOT,
		.interp_addr = main_interp(p),
	};
	whose_now(p, &r->ids);
	if (r->ids.groups && !processes__wants_user(c->processes, r->ids.uid))
		return false;
	return generation == PYOFF_ABSENT ||
	       (r->interp_addr &&
		!memory_read(probed__memory(p->probed), r->interp_addr + (__u64)generation,
			     &r->code_generation, sizeof(r->code_generation)));
}

static int by_node(const void *a, const void *b)
{
	const struct stack_count *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* Merges tasks at the same node. */
static void put_stacks(struct census *c)
{
	if (c->stack_cnt)
		qsort(c->stacks, c->stack_cnt, sizeof(*c->stacks), by_node);
	for (__u32 i = 0, end; i < c->stack_cnt; i = end) {
		for (end = i + 1; end < c->stack_cnt && c->stacks[end].node == c->stacks[i].node;)
			end++;
		c->out.record.period = end - i;
		c->stats.samples +=
			collector__put_tasks(c->collector, &c->out.record, c->stacks[i].node);
	}
}

static void add_task(struct census *c, struct task_chains *chains, __u32 task)
{
	struct record_sample *r = &c->out.record;
	__u32 node;

	r->cnt[SECTION_TASKS] =
		(__u16)task_chains__of(chains, task, c->out.parts, KRAIT_MAX_TASK_PARTS);
	r->size = (__u32)(sizeof(*r) + r->cnt[SECTION_TASKS] * sizeof(c->out.parts[0]));
	node = collector__task_node(c->collector, r);
	if (!node || vec_reserve(c->stacks, c->stack_cap, c->stack_cnt + 1))
		return;
	c->stacks[c->stack_cnt++] = (struct stack_count){ node, 1 };
}

static void count_tasks(struct census *c, const struct probe_tasks *l)
{
	struct task_chains *chains = task_chains__new(l);

	if (!chains)
		return;
	c->stack_cnt = 0;
	/* A task that creates another one, or runs another loop, is not the running one, but does not wait. */
	for (__u32 i = 0; i < l->head.task_cnt; i++)
		if (!(l->tasks[i].flags & PROBE_TASK_RUNS) && !(l->tasks[i].notes & TASK_LIVE))
			add_task(c, chains, i);
	put_stacks(c);
	task_chains__free(chains);
	c->stats.tasks += l->head.task_cnt;
	c->stats.cut += (l->head.flags & (PROBE_TASKS_CHANGED | PROBE_TASKS_CUT)) != 0;
}

static void take(struct census *c, struct process *p)
{
	const struct published_table *found = &p->tables.found.tables[PUBLISHED_ASYNCIO];
	const struct probe_tasks_ask ask = {
		.offsets = p->info.offsets,
		.runtime_addr = p->info.runtime_addr,
		.asyncio = found->asyncio,
		.names = c->names,
	};
	const pid_t pid = p->pid;
	const __u32 image = p->image;
	struct probe_tasks l = { .memory = NULL };
	int err = probed__tasks(p->probed, &ask, &l);

	/* It may have gone meanwhile. */
	p = processes__find(c->processes, pid);
	if (!err && p && p->image == image && p->probed && begin(c, p, l.head.time_ns)) {
		c->stats.cnt++;
		count_tasks(c, &l);
	} else {
		c->stats.failed++;
	}
	probe_tasks_free(&l);
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static void add_pid(void *ctx, const struct process *p)
{
	struct census *c = ctx;

	if (p->state == PROCESS_TRACKED && p->probed &&
	    p->tables.found.tables[PUBLISHED_ASYNCIO].addr &&
	    !vec_reserve(c->pids, c->pid_cap, c->pid_cnt + 1))
		c->pids[c->pid_cnt++] = p->pid;
}

__u64 census__step(struct census *c, __u64 now_ns)
{
	__u64 spent_ns;

	if (now_ns < c->due_ns)
		return c->due_ns;
	c->pid_cnt = 0;
	processes__each(c->processes, add_pid, c);
	for (__u32 i = 0; i < c->pid_cnt; i++) {
		struct process *p = processes__find(c->processes, c->pids[i]);

		if (p && p->probed)
			take(c, p);
	}
	spent_ns = clock_monotonic_ns() - now_ns;
	c->stats.spent_ns += spent_ns;
	c->due_ns += c->period_ns;
	if (c->due_ns < now_ns + REST * spent_ns)
		c->due_ns = now_ns + REST * spent_ns;
	/* This is the first census, or krait was held up. */
	if (c->due_ns < now_ns + c->period_ns / 2)
		c->due_ns = now_ns + c->period_ns;
	return c->due_ns;
}

const struct census_stats *census__stats(const struct census *c)
{
	return &c->stats;
}
