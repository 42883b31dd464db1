/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/sampler.h"
#include "session/filter.h"
#include "session/tracking.h"
#include "symbol/native.h"
#include "symbol/symbolizer.h"
#include "target/elf_cache.h"
#include "target/proc.h"
#include "target/remote.h"
#include "util/clock.h"
#include "util/log.h"

/* First pause before a process is looked at again; it doubles up to the longest. */
#define RETRY_FIRST_NS 1000000ULL
#define RETRY_LONGEST_NS 1000000000ULL
/* The same while its debug information is being read. */
#define RETRY_READING_NS 100000000ULL
/* With "all", a process that is not Python after this many looks (about a minute) is left alone. */
#define RETRY_MAX_ALL 70
struct processes *processes__new(const struct processes_config *config)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->config = *config;
	ps->cache = elf_cache__new();
	if (!ps->cache) {
		free(ps);
		return NULL;
	}
	return ps;
}

void processes__prepare(struct processes *ps)
{
	elf_cache__prepare(ps->cache);
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

/* Back to a process of which nothing is known. */
void entry_forget_image(struct processes *ps, struct entry *e)
{
	struct process *p = &e->process;

	if (p->state == PROCESS_TRACKED) {
		if (ps->gone)
			ps->gone(ps->gone_ctx, p);
		ps->tracked_cnt--;
	}
	symbolizer__free(p->symbolizer);
	remote__close(p->remote);
	native__free(p->native);
	tracking_end(ps->config.sampler, p);
	p->native = NULL;
	p->symbolizer = NULL;
	p->remote = NULL;
	p->node = 0;
	p->parent_pid = 0;
	p->state = PROCESS_PENDING;
	p->attempts = 0;
	p->retry_ns = 0;
}

void entry_remove(struct processes *ps, struct entry *e)
{
	entry_forget_image(ps, e);
	sampler__untrack(ps->config.sampler, e->process.pid, e->process.start_ns);
	HASH_DEL(ps->by_pid, e);
	free(e);
}

void processes__free(struct processes *ps)
{
	struct entry *e, *next;

	if (!ps)
		return;
	HASH_ITER(hh, ps->by_pid, e, next)
		entry_remove(ps, e);
	elf_cache__free(ps->cache);
	free(ps);
}

/* start_ns: 0 if it is not known yet. */
struct entry *entry_add(struct processes *ps, pid_t pid, __u64 start_ns)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->process.pid = pid;
	e->process.start_ns = start_ns;
	e->process.layout = KRAIT_NO_LAYOUT;
	HASH_ADD(hh, ps->by_pid, process.pid, sizeof(pid_t), e);
	return e;
}

/* The memory of a process that has gone. */
static int read_nothing(void *ctx, __u64 addr, void *buf, size_t len)
{
	return -ESRCH;
}

/* parent: whose memory a forked process has, or NULL. */
static void open_native(struct processes *ps, struct process *p, const struct process *parent)
{
	__u64 runtime_addr = p->info.build == PY_BUILD_EXE ? 0 : p->info.runtime_addr;

	if (!ps->config.native_files)
		return;
	if (parent && parent->native)
		p->native = native__fork(parent->native, NULL, p->pid);
	else
		p->native =
			native__new(ps->config.native_files, NULL, p->pid, runtime_addr, p->owner);
}

/* p->info is filled: from now on its records are named. */
int entry_open(struct processes *ps, struct process *p, const struct process *parent)
{
	static const struct memory nothing = { .read = read_nothing };

	p->remote = remote__open(p->pid);
	p->symbolizer =
		symbolizer__new(&p->info.offsets, p->remote ? remote__memory(p->remote) : &nothing);
	if (!p->symbolizer)
		return -ENOMEM;
	if (parent)
		symbolizer__inherit(p->symbolizer, parent->symbolizer, NULL);
	open_native(ps, p, parent);
	p->state = PROCESS_TRACKED;
	p->offered = false;
	ps->tracked_cnt++;
	ps->seen_cnt++;
	log_debug("processes", "%d is CPython %u.%u (%s)", p->pid, p->info.offsets.version >> 24,
		  (p->info.offsets.version >> 16) & 255, p->info.file);
	if (ps->opened)
		ps->opened(ps->opened_ctx, p);
	return 0;
}

/* The kernel may know it already, as it knows nothing of the filter. */
void entry_leave_alone(struct processes *ps, struct process *p)
{
	p->state = PROCESS_UNWANTED;
	p->retry_ns = 0;
	sampler__untrack(ps->config.sampler, p->pid, p->start_ns);
}

/* Not Python, but what it starts, or becomes, may be. */
static void watch(struct processes *ps, struct process *p)
{
	if (!ps->config.all && p->start_ns)
		sampler__watch(ps->config.sampler, p->pid, p->start_ns, p->owner);
}

/* Not Python yet, or not known yet: results after which a process is looked at again. */
static bool may_change(int err)
{
	return err == -ENOEXEC || err == -EINPROGRESS;
}

void entry_plan_retry(struct processes *ps, struct process *p, int err)
{
	__u64 pause = RETRY_LONGEST_NS;

	if (err == -EINPROGRESS) {
		p->attempts += !p->attempts;
		p->retry_ns = clock_monotonic_ns() + RETRY_READING_NS;
		return;
	}
	if (p->attempts < 10)
		pause = RETRY_FIRST_NS << p->attempts;
	if (pause > RETRY_LONGEST_NS)
		pause = RETRY_LONGEST_NS;
	p->attempts++;
	p->retry_ns = 0;
	if (!ps->config.all || p->attempts < RETRY_MAX_ALL)
		p->retry_ns = clock_monotonic_ns() + pause;
}

/* Fills p->info. -ESRCH also when another process has the pid by now. */
static int identify(struct processes *ps, struct process *p, struct py_process_fds *fds)
{
	int err = py_process_identify_fds(p->pid, ps->cache, &p->info, fds);
	__u64 start_ns = p->info.start_ticks * KRAIT_NS_PER_TICK;

	if (!p->start_ns)
		p->start_ns = start_ns;
	/* Who pays for it follows the credentials. */
	if (p->info.has_ids)
		p->owner = sampler__owner(ps->config.sampler, p->info.uid);
	return start_ns && !same_start(p->start_ns, start_ns) ? -ESRCH : err;
}

/* Looks at the process and acts on what it is. -ESRCH: the entry is gone. */
int entry_look_at(struct processes *ps, struct entry *e)
{
	struct process *p = &e->process;
	struct py_process_fds fds = PY_PROCESS_NO_FDS;
	int err = identify(ps, p, &fds);

	if (!err && !filter_matches(ps->config.filter, p->pid, p->info.comm)) {
		py_process_fds_close(&fds);
		entry_leave_alone(ps, p);
		return 0;
	}
	if (!err) {
		err = tracking_begin(ps->config.sampler, p, fds.file);
		py_process_fds_close(&fds);
		if (!err && entry_open(ps, p, NULL)) {
			tracking_end(ps->config.sampler, p);
			err = -ENOMEM;
			snprintf(p->info.why, sizeof(p->info.why), "cannot be tracked: %s",
				 strerror(-err));
		}
	}
	memcpy(ps->why, p->info.why, sizeof(ps->why));
	if (!err)
		return 0;
	if (err == -ESRCH) {
		entry_remove(ps, e);
	} else if (may_change(err)) {
		/* Once: it would take away what the kernel has found out meanwhile. */
		if (!p->attempts)
			watch(ps, p);
		entry_plan_retry(ps, p, err);
	} else {
		watch(ps, p);
		p->state = PROCESS_REFUSED;
		p->retry_ns = 0;
		refusals_note(&ps->refusals, err, p->info.why, p->pid);
		log_debug("processes", "%d is not sampled: %s", p->pid, p->info.why);
	}
	return err;
}

static int scan_one(pid_t pid, void *ctx)
{
	struct processes *ps = ctx;
	struct entry *e;

	if (pid == getpid() || entry_find(ps, pid))
		return 0;
	e = entry_add(ps, pid, 0);
	/* What is not Python when we come may be left alone: exec tells when that changes. */
	if (e && entry_look_at(ps, e) == -ENOEXEC)
		entry_remove(ps, e);
	return 0;
}

void processes__scan(struct processes *ps)
{
	process_each(scan_one, ps);
}

int processes__follow(struct processes *ps, pid_t pid, const char **ret_why)
{
	struct entry *e = entry_find(ps, pid);
	int err = 0;

	if (!e)
		e = entry_add(ps, pid, 0);
	if (!e || e->process.state == PROCESS_PENDING)
		err = e ? entry_look_at(ps, e) : -ENOMEM;
	*ret_why = ps->why;
	return err;
}

__u64 processes__retry(struct processes *ps, __u64 now_ns)
{
	struct entry *e, *next;
	__u64 soonest = 0;

	HASH_ITER(hh, ps->by_pid, e, next) {
		struct process *p = &e->process;

		if (p->state != PROCESS_PENDING || !p->retry_ns)
			continue;
		if (p->retry_ns <= now_ns && !may_change(entry_look_at(ps, e)))
			continue;
		if (p->retry_ns && (!soonest || p->retry_ns < soonest))
			soonest = p->retry_ns;
	}
	return soonest;
}

struct process *processes__find(struct processes *ps, pid_t pid)
{
	struct entry *e = entry_find(ps, pid);

	return e && e->process.state == PROCESS_TRACKED ? &e->process : NULL;
}

/* The main thread is as old as its process, and no other is older. */
static bool can_be_of(const struct event_sample *event, __u64 start_ns)
{
	int order = start_order(event->thread_start_ns, start_ns);

	return event->tid == event->pid ? order == 0 : order >= 0;
}

/* The kernel knows it, we do not: the event that says so has been dropped. */
static struct entry *adopt(struct processes *ps, const struct event_sample *event)
{
	__u64 start_ticks;
	struct entry *e;

	if (process_start_ticks(event->pid, &start_ticks) ||
	    !can_be_of(event, start_ticks * KRAIT_NS_PER_TICK))
		return NULL;
	log_debug("processes", "%d was not known, its records were", event->pid);
	e = entry_add(ps, event->pid, start_ticks * KRAIT_NS_PER_TICK);
	return e && !entry_look_at(ps, e) ? e : NULL;
}

struct process *processes__of_record(struct processes *ps, const struct event_sample *event)
{
	struct entry *e = entry_find(ps, event->pid);

	if (e && !can_be_of(event, e->process.start_ns)) {
		if (event->thread_start_ns < e->process.start_ns)
			return NULL; /* a later process has the pid by now */
		entry_remove(ps, e);
		e = NULL;
	}
	if (!e)
		e = adopt(ps, event);
	else if (e->process.state == PROCESS_PENDING && entry_look_at(ps, e))
		return NULL;
	if (!e || e->process.state == PROCESS_REFUSED)
		return NULL;
	return &e->process;
}

void processes__close_books(struct processes *ps)
{
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next) {
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

unsigned processes__seen_cnt(const struct processes *ps)
{
	return ps->seen_cnt;
}

void processes__print_refused(const struct processes *ps, FILE *out)
{
	refusals_print(&ps->refusals, out);
}
