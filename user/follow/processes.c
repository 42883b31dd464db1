/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/known_files.h"
#include "sampler/plain_files.h"
#include "sampler/sampler.h"
#include "follow/filter.h"
#include "follow/forks.h"
#include "follow/learn.h"
#include "proc/space.h"
#include "symbol/native.h"
#include "symbol/symbolizer.h"
#include "target/probed.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/quota.h"

/* Followed processes, Python or not: twice as many as the kernel side tracks. */
#define ENTRIES_MAX (2 * KRAIT_MAX_PROCS)
#define ROOT_RESERVE (ENTRIES_MAX / 8)

/*
 * Budget for looks at a process's code objects, each some round trips to a prober. The kernel
 * describes nearly all objects itself, so a program needs a few hundred at once; one that keeps
 * making code objects must not make krait burn a CPU.
 */
#define LOOKS_AT_ONCE 4096
#define LOOKS_PER_SEC 256
/* The same for all processes of one owner other than root: enough for eight that start together. */
#define OWNER_LOOKS_AT_ONCE (8 * LOOKS_AT_ONCE)
#define OWNER_LOOKS_PER_SEC (4 * LOOKS_PER_SEC)
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
	for (unsigned i = 0; i < OWNER_CNT; i++) {
		if (i == OWNER_ROOT)
			continue;
		ps->looks[i] = look_budget_of(OWNER_LOOKS_AT_ONCE, OWNER_LOOKS_PER_SEC);
		ps->table_looks[i] = look_budget_of(TABLE_LOOKS_AT_ONCE, TABLE_LOOKS_PER_SEC);
	}
	return ps;
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

struct entry *entry_find(struct processes *ps, pid_t pid)
{
	struct entry *e;

	HASH_FIND_INT(ps->by_pid, &pid, e);
	return e;
}

/* Reading the process never returned, so its samples lack some names: note that for the user. */
static void note_unread(struct processes *ps, const struct process *p)
{
	const char *why = p->probed ? probed__refused(p->probed) : NULL;

	if (why)
		refusals_note(&ps->refusals, -ETIMEDOUT, why, p->pid);
}

/* A process that ended without becoming Python is evidence about its executable. */
static void note_plain(struct processes *ps, struct process *p)
{
	ps->unseen_cnt += p->exited && p->state == PROCESS_PENDING && !p->looked;
	if (p->exec.file.inode && p->state == PROCESS_PENDING)
		plain_files__note(sampler__plain_files(ps->config.sampler), &p->exec, p->owner,
				  p->plain_looks);
	p->exec.file.inode = 0;
	p->plain_looks = 0;
}

/* Drops everything derived from the old image. */
void entry_forget_image(struct processes *ps, struct entry *e)
{
	struct process *p = &e->process;

	threads__remove_all(ps->threads, p);
	note_plain(ps, p);
	forks_forget(ps, e);
	if (p->state == PROCESS_TRACKED) {
		forks_open_of(ps, p);
		if (ps->gone)
			ps->gone(ps->gone_ctx, p);
		ps->tracked_cnt--;
	}
	if (p->asked)
		prober__forget(ps->config.prober, e);
	p->asked = false;
	p->watched = false;
	p->scanned = false;
	p->looked = p->remapped = false;
	note_unread(ps, p);
	free(p->gils);
	symbolizer__free(p->symbolizer);
	native__free(p->native);
	space__free(p->space);
	tables_forget(ps, p);
	greenlet_watch_forget(ps, p);
	learn_forget(ps->config.sampler, p);
	probed__free(p->probed);
	p->native = NULL;
	p->space = NULL;
	p->symbolizer = NULL;
	p->probed = NULL;
	p->gils = NULL;
	p->gil_cnt = p->gil_cap = 0;
	p->node = 0;
	p->main_interp_addr = 0;
	p->interp_looks = 0;
	p->parent_pid = 0;
	p->state = PROCESS_PENDING;
	p->attempts = 0;
	p->retry_ns = 0;
}

void entry_remove(struct processes *ps, struct entry *e)
{
	entry_forget_image(ps, e);
	/* The kernel deletes what it inserted itself, but we may have inserted an entry after that. */
	if (!e->process.exited || e->process.told)
		sampler__untrack(ps->config.sampler, e->process.pid, e->process.start_ns);
	if (e->look)
		*e->look = (struct look){ true, -ESRCH };
	HASH_DEL(ps->by_pid, e);
	quota__give(ps->room, e->payer, 1);
	free(e);
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

struct entry *entry_add(struct processes *ps, pid_t pid, __u64 start_ns, unsigned owner)
{
	struct entry *e = quota__take(ps->room, owner, 1) ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->table = ps;
	e->payer = owner;
	e->process.owner = owner;
	e->process.pid = pid;
	e->process.start_ns = start_ns;
	e->process.layout = KRAIT_NO_LAYOUT;
	e->process.known_file = KNOWN_FILE_NONE;
	TAILQ_INIT(&e->process.threads);
	HASH_ADD(hh, ps->by_pid, process.pid, sizeof(pid_t), e);
	return e;
}

/*
 * Reads the mappings at once, because the process may not live long. Pretends that this was long
 * ago: a process that has just started has mapped few libraries yet, so the first address elsewhere
 * makes us read again.
 */
static struct space *new_space(struct processes *ps, struct process *p)
{
	struct space *space = space__new(&(struct space_config){
		.modules = native_files__modules(ps->config.native_files),
		.probed = p->probed,
		.pid = p->pid,
		.runtime_addr = p->info.build == PY_BUILD_EXE ? 0 : p->info.runtime_addr,
		.owner = p->owner,
		.reported = sampler__reports_mappings(ps->config.sampler),
	});

	if (space)
		space__read(space, 0);
	return space;
}

/* parent: for a fork, the process whose memory it has; or NULL. */
static void open_space(struct processes *ps, struct process *p, const struct process *parent)
{
	if (!ps->config.native_files)
		return;
	if (parent && parent->space)
		p->space = space__fork(parent->space, p->probed, p->pid);
	else
		p->space = new_space(ps, p);
	if (p->space)
		p->native = native__new(ps->config.native_files, p->space);
}

/* p->info is filled: from now on its records can be named. */
int entry_open(struct processes *ps, struct process *p, const struct process *parent)
{
	if (!p->probed)
		p->probed = probed__open(ps->config.prober, p->pid, p->info.start_ticks);
	p->symbolizer = symbolizer__new(&p->info.offsets,
					p->probed ? probed__memory(p->probed) : &probed_nothing);
	if (!p->symbolizer)
		return -ENOMEM;
	symbolizer__bound_looks(p->symbolizer, LOOKS_AT_ONCE, LOOKS_PER_SEC,
				&ps->looks[p->owner % OWNER_CNT]);
	if (parent) {
		symbolizer__inherit(p->symbolizer, parent->symbolizer, NULL);
		p->main_interp_addr = parent->main_interp_addr;
	}
	open_space(ps, p, parent);
	tables_begin(ps, p, parent);
	greenlet_watch_begin(ps, p, parent);
	p->state = PROCESS_TRACKED;
	p->told = true; /* its mappings will be reported */
	if (p->exec.file.inode)
		plain_files__is_python(sampler__plain_files(ps->config.sampler), &p->exec,
				       p->owner);
	p->offered = false;
	ps->tracked_cnt++;
	p->image = ++ps->seen_cnt;
	log_debug("processes", "%d is CPython %u.%u (%s)", p->pid, p->info.offsets.version >> 24,
		  (p->info.offsets.version >> 16) & 255, p->info.file);
	if (ps->opened)
		ps->opened(ps->opened_ctx, p);
	return 0;
}

/* The kernel may know the process already, since it does not apply the filter. */
void entry_leave_alone(struct processes *ps, struct process *p)
{
	ps->unwanted_cnt++;
	p->state = PROCESS_UNWANTED;
	p->retry_ns = 0;
	sampler__untrack(ps->config.sampler, p->pid, p->start_ns);
}

const struct context *process_context(struct process *p)
{
	const struct py_process *ids = p->probed ? probed__ids(p->probed, true) : NULL;

	if (ids && !p->info.has_ids)
		py_process_copy_ids(&p->info, ids);
	return ids ? probed__context(p->probed, false, NULL) : NULL;
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

	if (!e || e->process.state != PROCESS_FORKED || !processes_spare_all(ps))
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
	if (e && TAILQ_EMPTY(&e->process.threads) && processes_spare_all(ps))
		processes_due(ps, clock_monotonic_ns());
	if (!e)
		e = adopt(ps, record);
	else if (e->process.state == PROCESS_PENDING && entry_look_at(ps, e, true))
		return NULL;
	if (!e || e->process.state == PROCESS_REFUSED)
		return NULL;
	return &e->process;
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
			      e->process.pid);
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
		note_unread(ps, &e->process);
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

void processes__on_opened(struct processes *ps, process_gone_fn fn, void *ctx)
{
	ps->opened = fn;
	ps->opened_ctx = ctx;
}

unsigned processes__followed_cnt(const struct processes *ps)
{
	return HASH_COUNT(ps->by_pid);
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

__u64 processes__refused_cnt(const struct processes *ps)
{
	return refusals_cnt(&ps->refusals);
}

void processes__print_refused(const struct processes *ps, FILE *out)
{
	refusals_print(&ps->refusals, out);
}

__u64 processes__room_refused(const struct processes *ps, unsigned owner)
{
	return quota__refused(ps->room, owner);
}
