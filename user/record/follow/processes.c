/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/follow/process_table.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "record/follow/filter.h"
#include "record/follow/forks.h"
#include "python/code/symbolizer.h"
#include "kernel/sampler/sampler.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "process/proc/proc.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/share/quota.h"

/* Followed processes, Python or not: twice as many as the kernel side tracks. */
#define ENTRIES_MAX (2 * KRAIT_MAX_PROCS)
#define ROOT_RESERVE (ENTRIES_MAX / 8)

/*
 * Budget for looks at code objects of all processes of one owner other than root: enough for eight
 * that start together.
 */
#define OWNER_LOOKS_AT_ONCE (8 * PROCESS_LOOKS_AT_ONCE)
#define OWNER_LOOKS_PER_SEC (4 * PROCESS_LOOKS_PER_SEC)
/* Budget for searches for published tables, each some milliseconds of a prober. */
#define TABLE_LOOKS_AT_ONCE 256
#define TABLE_LOOKS_PER_SEC 32

struct processes *processes__new(const struct processes_config *config)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	TAILQ_INIT(&ps->forked);
	ps->threads = threads__new();
	ps->room = quota__new(ENTRIES_MAX, ROOT_RESERVE);
	if (!ps->threads || !ps->room) {
		processes__free(ps);
		return NULL;
	}
	ps->config = *config;
	name_watches_init(&ps->watches);
	for (unsigned i = 0; i < OWNER_CNT; i++) {
		if (i == OWNER_ROOT)
			continue;
		ps->names[i].looks = allowance_of(OWNER_LOOKS_AT_ONCE, OWNER_LOOKS_PER_SEC);
		ps->table_looks[i] = allowance_of(TABLE_LOOKS_AT_ONCE, TABLE_LOOKS_PER_SEC);
	}
	return ps;
}

void processes__make_room(struct processes *ps, size_t process_size, size_t thread_size)
{
	ps->own_size = process_size;
	threads__make_room(ps->threads, thread_size);
}

struct name_share *processes__names(struct processes *ps, unsigned owner)
{
	return &ps->names[owner % OWNER_CNT];
}

__u64 processes__unseen(const struct processes *ps)
{
	return ps->unseen_cnt;
}

void processes__hear_perf(struct processes *ps)
{
	ps->hears_perf = true;
}

bool processes_hear_mappings(const struct processes *ps)
{
	return ps->hears_perf || sampler__reports_mappings(ps->config.sampler);
}

void processes__prepare(struct processes *ps)
{
	prober__prepare(ps->config.prober, true);
}

void processes__connect(struct processes *ps, struct sampler *sampler)
{
	ps->config.sampler = sampler;
}

void processes__free(struct processes *ps)
{
	struct entry *e, *next;

	if (!ps)
		return;
	while ((e = TAILQ_FIRST(&ps->forked)))
		entry_remove(ps, e);
	HASH_ITER(hh, ps->by_pid, e, next)
		entry_remove(ps, e);
	threads__free(ps->threads);
	quota__free(ps->room);
	free(ps);
}

struct probe_image process_image(const struct process *p)
{
	const struct py_process *ids = p->probed ? probed__ids(p->probed, false) : NULL;

	return (struct probe_image){
		.image_addr = ids && ids->image_addr ? ids->image_addr : p->info.image_addr,
		.runtime_addr = p->info.runtime_addr,
		.alone = py_process_is_alone(&p->info),
	};
}

static const struct context *own_context(struct process *p)
{
	const struct py_process *ids = p->probed ? probed__ids(p->probed, true) : NULL;
	const struct context *own = ids ? probed__context(p->probed, false, NULL) : NULL;

	if (ids && !p->info.has_ids)
		py_process_copy_ids(&p->info, ids);
	if (own && !p->program->known) {
		p->program->context = *own;
		p->program->known = true;
	}
	return own;
}

/* Asks the one that has executed the program, if it still does. */
static void learn_program(struct processes *ps, const struct program *program)
{
	struct entry *e = program->known ? NULL : entry_find(ps, program->pid);

	if (e && e->process.state == PROCESS_TRACKED && e->process.program == program)
		own_context(&e->process);
}

const struct context *process_context(struct process *p)
{
	const struct program *program = p->program;
	const struct context *own;

	if (!program)
		return NULL;
	if (program->pid == p->pid)
		return own_context(p);
	learn_program(((struct entry *)((char *)p - offsetof(struct entry, process)))->table,
		      program);
	own = own_context(p);
	if (!program->known)
		return NULL;
	/* By the time that it is asked it may have set a title, or be about to execute something. */
	p->context = own ? *own : program->context;
	memcpy(p->context.script, program->context.script, sizeof(p->context.script));
	return &p->context;
}

bool processes__wants_user(const struct processes *ps, uid_t uid)
{
	return filter_wants_user(ps->config.filter, uid);
}

struct process *processes__find(struct processes *ps, pid_t pid)
{
	struct entry *e = entry_find(ps, pid);

	if (e)
		forks_open(ps, e);
	return e && e->process.state == PROCESS_TRACKED ? &e->process : NULL;
}

struct process *processes__find_mapped(struct processes *ps, pid_t pid)
{
	struct entry *e = entry_find(ps, pid);

	if (!e || e->process.state != PROCESS_FORKED || !processes__spares(ps))
		return processes__find(ps, pid);
	e->process.remapped = true;
	return NULL;
}

/* The main thread is as old as its process, and no thread is older. */
static bool can_be_of(const struct record_sample *record, __u64 start_ns)
{
	int order = start_order(record->thread_start_ns, start_ns);

	return record->tid == record->pid ? order == 0 : order >= 0;
}

/* The kernel knows the process and we do not: its event was dropped. */
static struct entry *adopt(struct processes *ps, const struct record_sample *record)
{
	__u64 start_ticks;
	struct entry *e;

	if (entry_start_ticks(ps, (pid_t)record->pid, &start_ticks) ||
	    !can_be_of(record, start_ticks * KRAIT_NS_PER_TICK))
		return NULL;
	log_debug("processes", "%d was not known, its records were", record->pid);
	e = entry_add(ps, record->pid, start_ticks * KRAIT_NS_PER_TICK, record->owner);
	return e && !entry_look_at(ps, e, true) ? e : NULL;
}

struct process *processes__of_record(struct processes *ps, const struct record_sample *record)
{
	struct entry *e = entry_find(ps, record->pid);

	if (e && !can_be_of(record, e->process.start_ns)) {
		if (record->thread_start_ns < e->process.start_ns)
			return NULL; /* a later process has the pid by now */
		entry_remove(ps, e);
		e = NULL;
	}
	if (e)
		forks_open(ps, e);
	/* Processes that are looked at only because of a first sample are due now. */
	if (e && TAILQ_EMPTY(&e->process.threads) && processes__spares(ps))
		processes_due(ps, clock_monotonic_ns());
	if (!e)
		e = adopt(ps, record);
	else if (e->process.state == PROCESS_PENDING && entry_look_at(ps, e, true))
		return NULL;
	if (!e || e->process.state == PROCESS_REFUSED)
		return NULL;
	return &e->process;
}

void processes__charge(struct processes *ps, struct process *p, unsigned owner)
{
	if (p->owner == owner)
		return;
	p->owner = owner;
	if (p->symbolizer)
		symbolizer__charge(p->symbolizer, processes__names(ps, owner));
}

struct threads *processes__threads(struct processes *ps)
{
	return ps->threads;
}

/* Its look had no answer by the end, through no fault of krait's. */
static void note_unanswered(struct processes *ps, const struct entry *e)
{
	struct prober *prober = ps->config.prober;

	if (e->process.asked && prober__is_slow(prober, e))
		refusals_note(&ps->refusals, -ETIMEDOUT,
			      prober__is_parked(prober, e) ? PROBED_PARKED : PROBED_HUNG_SO_FAR,
			      e->process.pid, e->process.info.comm);
}

void processes__each(struct processes *ps, void (*fn)(void *ctx, const struct process *p),
		     void *ctx)
{
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next)
		fn(ctx, &e->process);
}

void processes__close_books(struct processes *ps)
{
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next) {
		process_note_unread(ps, &e->process);
		note_unanswered(ps, e);
		if (e->process.state == PROCESS_TRACKED && ps->gone)
			ps->gone(ps->gone_ctx, &e->process);
	}
}

void processes__on_gone(struct processes *ps, process_gone_fn fn, void *ctx)
{
	ps->gone = fn;
	ps->gone_ctx = ctx;
}

void processes__on_opened(struct processes *ps, process_opened_fn fn, void *ctx)
{
	ps->opened = fn;
	ps->opened_ctx = ctx;
}

void processes__on_renamed(struct processes *ps, thread_gone_fn fn, void *ctx)
{
	ps->renamed = fn;
	ps->renamed_ctx = ctx;
}

unsigned processes__followed_cnt(const struct processes *ps)
{
	return HASH_COUNT(ps->by_pid) - ps->unheard_cnt;
}

static bool has_ended(const struct process *p)
{
	__u64 ticks;
	int err = process_start_ticks(p->pid, &ticks);

	/* Where /proc hides others' processes (hidepid), they are there all the same. */
	return (err == -ESRCH && kill(p->pid, 0) && errno == ESRCH) ||
	       (!err && p->start_ns && !same_start(p->start_ns, ticks * KRAIT_NS_PER_TICK));
}

void processes__note_ended(struct processes *ps)
{
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next) {
		if (e->process.unheard)
			continue;
		if (!has_ended(&e->process))
			return;
		/* What it has started may still be on its way through the ring. */
		if (e->process.was_ended)
			entry_unheard(ps, &e->process);
		e->process.was_ended = true;
	}
}

unsigned processes__tracked_cnt(const struct processes *ps)
{
	return ps->tracked_cnt;
}

unsigned processes__taskless(const struct processes *ps, __u32 *ret_version)
{
	*ret_version = ps->taskless_version;
	return ps->taskless_cnt;
}

__u64 processes__mmap_cnt(const struct processes *ps)
{
	return ps->mmap_cnt;
}

unsigned processes__seen_cnt(const struct processes *ps)
{
	return ps->seen_cnt;
}

unsigned processes__unwanted_cnt(const struct processes *ps)
{
	return ps->unwanted_cnt;
}

__u64 processes__late(const struct processes *ps, __u64 *ret_cpu_ns)
{
	*ret_cpu_ns = ps->late_ns;
	return ps->late_cnt;
}

const struct refusals *processes__refusals(const struct processes *ps)
{
	return &ps->refusals;
}

__u64 processes__room_refused(const struct processes *ps, unsigned owner)
{
	return quota__refused(ps->room, owner);
}
