/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles process events in the order in which they happened. The processes themselves are ahead:
 * by the time an event is read, its process may have gone, and another have its pid.
 */
#include "record/follow/process_table.h"

#include <errno.h>
#include <unistd.h>

#include "process/space/space.h"
#include "record/replay/input_writer.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/layouts.h"
#include "kernel/sampler/record.h"
#include "kernel/sampler/sampler.h"
#include "record/follow/filter.h"
#include "record/follow/forks.h"
#include "record/follow/learn.h"
#include "process/probe/probed.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/text/printable.h"

/*
 * The process that an event or record is about, or NULL. If an older process still holds this pid we missed its
 * exit, and remove it. *ret_past: a newer process already has the pid, because a look at it came before its events.
 */
static struct entry *find_started(struct processes *ps, pid_t pid, __u64 start_ns, bool *ret_past)
{
	struct entry *e = entry_find(ps, pid);
	int order = e && e->process.start_ns ? start_order(start_ns, e->process.start_ns) : 0;

	*ret_past = order < 0;
	if (e && !order && start_ns % KRAIT_NS_PER_TICK)
		e->process.start_ns = start_ns; /* exactly now */
	if (order > 0)
		entry_remove(ps, e);
	return order ? NULL : e;
}

/* As find_started(), for an event; adds the process if we follow all of them. */
static struct entry *find_or_begin(struct processes *ps, const struct record_task *record)
{
	bool past;
	struct entry *e = find_started(ps, record->pid, record->start_ns, &past);

	if (!e && !past && ps->config.all && (pid_t)record->pid != getpid())
		e = entry_add(ps, record->pid, record->start_ns, record->owner);
	if (e)
		e->process.owner = record->owner;
	return e;
}

/* If the parent's exit or the next process's exec was dropped, the entry may be another process's. */
static struct entry *find_parent(struct processes *ps, const struct record_task *record)
{
	bool past;

	if (!record->parent_start_ns)
		return entry_find(ps, (pid_t)record->parent_pid);
	return find_started(ps, (pid_t)record->parent_pid, record->parent_start_ns, &past);
}

/* A child has its parent's image: it needs no look at its memory. */
static void on_fork(struct processes *ps, const struct record_task *record)
{
	struct entry *parent = find_parent(ps, record), *child;
	struct process *p;
	bool past;

	if (!parent || (pid_t)record->pid == getpid())
		return;
	forks_open(ps, parent);
	if (find_started(ps, record->pid, record->start_ns, &past) || past)
		return; /* a scan was faster */
	child = entry_add(ps, record->pid, record->start_ns, record->owner);
	if (!child)
		return;
	p = &child->process;
	p->owner = record->owner;
	/* What the parent is known to be the child is: it has the same image. */
	p->looked = parent->process.looked;
	if (parent->process.state == PROCESS_UNWANTED)
		entry_leave_alone(ps, p);
	/* It may be Python, but we do not know yet, so we do not know about the child either. */
	if (parent->process.state == PROCESS_PENDING &&
	    (parent->process.asked || parent->process.info.version))
		entry_plan_retry(ps, p, -EINPROGRESS);
	if (parent->process.state != PROCESS_TRACKED)
		return; /* its exec will tell */
	if (process_set_program(p, parent->process.program)) {
		entry_remove(ps, child);
		return;
	}
	p->info = parent->process.info;
	p->info.image_addr = process_image(&parent->process).image_addr;
	learn_known(ps->config.sampler, p, parent->process.layout, parent->process.known_file);
	p->parent_pid = record->parent_pid;
	p->info.pid = record->pid;
	p->info.start_ticks = record->start_ns / KRAIT_NS_PER_TICK;
	if (ps->config.all)
		forks_put_off(ps, child);
	else if (entry_open(ps, p, &parent->process))
		entry_remove(ps, child);
}

/* The filter needs facts that must be read; for a process that is gone only the command is left. */
static bool matches(const struct filter *filter, struct process *p, const char *comm,
		    bool *ret_awaits)
{
	const struct context *context = NULL;
	const char *cgroups = "";

	*ret_awaits = false;
	if (filter_is_empty(filter))
		return true;
	if (p->probed)
		context = probed__context(p->probed, true, &cgroups);
	*ret_awaits = filter_awaits(filter, comm, context, cgroups);
	return filter_matches(filter, comm, context, cgroups);
}

/*
 * The kernel has identified it already, by its executable or by a probe: nothing needs to be read,
 * and the process may even have gone.
 */
static void on_known_image(struct processes *ps, struct entry *e, const struct record_task *record)
{
	struct sampler *sampler = ps->config.sampler;
	const struct known_file *file = known_files__at(sampler__parts(sampler)->known_files,
							record->file, clock_monotonic_ns());
	struct process *p = &e->process;
	bool wanted, awaits;

	p->info = (struct py_process){
		.pid = record->pid,
		.start_ticks = record->start_ns / KRAIT_NS_PER_TICK,
		.runtime_addr = record->runtime_addr,
		.offsets = *layouts__at(sampler__parts(sampler)->layouts, record->layout),
		.of_file = true, /* nothing else is learned (learn.c) */
		.build = record->type == RECORD_EXEC ? PY_BUILD_EXE : PY_BUILD_SHARED,
	};
	snprintf(p->info.anchors_why, sizeof(p->info.anchors_why), "%s",
		 py_offsets_anchors_why(&p->info.offsets, true));
	if (file) {
		p->info.version = file->version;
		p->info.debug = file->debug;
		p->info.alone = file->alone;
		p->info.file_id = file->id;
		snprintf(p->info.file, sizeof(p->info.file), "%s", file->name);
	}
	log_debug("processes", "%d is known by its file", p->pid);
	learn_known(sampler, p, record->layout, record->file);
	printable_into(p->info.comm, sizeof(p->info.comm), record->comm);
	if (processes__spares(ps)) {
		forks_put_off(ps, e);
		return;
	}
	p->probed = probed__open(ps->config.prober, p->pid, p->info.start_ticks, process_image(p));
	wanted = matches(ps->config.filter, p, record->comm, &awaits);
	if (awaits)
		forks_await(ps, e);
	else if (!wanted)
		entry_leave_alone(ps, p);
	else if (entry_open(ps, p, NULL))
		entry_remove(ps, e);
}

/* An interpreter starts in a library. A look at the process may have found it first. */
static void on_runtime(struct processes *ps, const struct record_task *record)
{
	struct entry *e = find_or_begin(ps, record);
	struct plain_key exec;

	if (e)
		forks_open(ps, e);
	if (!e || !layouts__at(sampler__parts(ps->config.sampler)->layouts, record->layout) ||
	    (e->process.state == PROCESS_TRACKED &&
	     e->process.info.runtime_addr == record->runtime_addr))
		return;
	/* Keep what it executes: that file is not plain, whatever earlier looks found. */
	exec = e->process.exec;
	e->process.plain_looks = 0;
	entry_forget_image(ps, e);
	e->process.exec = exec;
	on_known_image(ps, e, record);
}

static void on_exec(struct processes *ps, const struct record_task *record)
{
	const struct record_exec *exec = record_exec(record);
	struct entry *e = find_or_begin(ps, record);

	if (!e)
		return;
	entry_forget_image(ps, e);
	if (layouts__at(sampler__parts(ps->config.sampler)->layouts, record->layout)) {
		on_known_image(ps, e, record);
		return;
	}
	if (exec)
		e->process.exec = (struct plain_key){ .file = exec->file, .uid = record->uid };
	/* processes of that file were looked at before */
	e->process.looked = record->file == RECORD_FILE_PLAIN;
	if (record->file == RECORD_FILE_PLAIN || ((ps->sparing || ps->starving) && ps->config.all))
		entry_look_later(ps, &e->process);
	else
		entry_look_at(ps, e, true);
}

static void on_end(struct processes *ps, const struct record_task *record)
{
	bool past;
	struct entry *e = find_started(ps, record->pid, record->start_ns, &past);

	if (!e)
		return;
	e->process.dropped = record->dropped;
	e->process.exited = true;
	entry_remove(ps, e);
}

/* A thread that was never sampled has no entry. */
static void on_thread_end(struct processes *ps, const struct record_task *record)
{
	struct thread *t = threads__find(ps->threads, (pid_t)record->tid, record->start_ns);

	if (t)
		threads__remove(ps->threads, t);
}

void processes__mmap(struct processes *ps, const struct record_mmap *record)
{
	bool past;
	struct entry *e = find_started(ps, (pid_t)record->pid, record->start_ns, &past);

	ps->mmap_cnt++;
	/* After an exec nothing is shared with the parent: read the process when it is opened. */
	if (e && e->process.state == PROCESS_FORKED && !e->process.parent_pid)
		return;
	if (e) {
		forks_open(ps, e);
		forks_open_of(ps, &e->process);
	}
	if (e && e->process.space)
		space__report(e->process.space, record, clock_monotonic_ns());
	if (!e)
		return;
	look_plan_outdate(&e->process.tables.look, ps);
	look_plan_outdate(&e->process.greenlets.look, ps);
}

static void missed(struct processes *ps)
{
	__u64 now_ns = clock_monotonic_ns();
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next)
		if (e->process.state == PROCESS_TRACKED) {
			look_plan_missed(&e->process.tables.look, ps, now_ns);
			look_plan_missed(&e->process.greenlets.look, ps, now_ns);
		}
}

void processes__mapped(struct processes *ps, pid_t pid)
{
	struct entry *e = pid ? entry_find(ps, pid) : NULL;

	/* If it is opened later, its first look finds what is mapped by then. */
	if (pid && (!e || e->process.state != PROCESS_TRACKED))
		return;
	input_writer__fact(ps->config.inputs, QUESTION_MAPPED, pid, 0, 0);
	if (!ps->hears_perf)
		return;
	if (!e) {
		missed(ps);
		return;
	}
	look_plan_outdate(&e->process.tables.look, ps);
	look_plan_outdate(&e->process.greenlets.look, ps);
}

void processes__event(struct processes *ps, const struct record_task *record)
{
	if (record->type == RECORD_FORK) {
		on_fork(ps, record);
	} else if (record->type == RECORD_EXEC) {
		on_exec(ps, record);
	} else if (record->type == RECORD_RUNTIME) {
		on_runtime(ps, record);
	} else if (record->type == RECORD_EXIT) {
		on_end(ps, record);
	} else if (record->type == RECORD_THREAD_EXIT) {
		on_thread_end(ps, record);
	}
}
