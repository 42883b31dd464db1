/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "sampler/sampler.h"
#include "symbol/native.h"
#include "session/filter.h"
#include "symbol/symbolizer.h"
#include "target/elf_cache.h"
#include "target/proc.h"
#include "target/remote.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/printable.h"

/* First pause before a process is looked at again; it doubles up to the longest. */
#define RETRY_FIRST_NS 1000000ULL
#define RETRY_LONGEST_NS 1000000000ULL
/* The same while its debug information is being read. */
#define RETRY_READING_NS 100000000ULL
/* With "all", a process that is not Python after this many looks (about a minute) is left alone. */
#define RETRY_MAX_ALL 70
/* Distinct reasons remembered for the closing report. */
#define MAX_REFUSALS 16

struct entry {
	struct process process;
	UT_hash_handle hh;
};

struct refusal {
	char why[256];
	unsigned cnt;
	pid_t pid; /* one of them */
};

struct processes {
	struct processes_config config;
	struct elf_cache *cache;
	struct entry *by_pid;
	process_gone_fn gone;
	void *gone_ctx;
	unsigned tracked_cnt, seen_cnt, refusal_cnt;
	unsigned unreadable_cnt; /* may be Python or not */
	struct refusal refusals[MAX_REFUSALS];
	char why[256];
};

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

static struct entry *find_entry(struct processes *ps, pid_t pid)
{
	struct entry *e;

	HASH_FIND_INT(ps->by_pid, &pid, e);
	return e;
}

/* Back to a process of which nothing is known. */
static void forget_image(struct processes *ps, struct entry *e)
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
	p->native = NULL;
	p->symbolizer = NULL;
	p->remote = NULL;
	p->node = 0;
	p->parent_pid = 0;
	p->state = PROCESS_PENDING;
	p->attempts = 0;
	p->retry_ns = 0;
}

static void remove_entry(struct processes *ps, struct entry *e)
{
	forget_image(ps, e);
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
		remove_entry(ps, e);
	elf_cache__free(ps->cache);
	free(ps);
}

/* start_ns: 0 if it is not known yet. */
static struct entry *add_entry(struct processes *ps, pid_t pid, __u64 start_ns)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->process.pid = pid;
	e->process.start_ns = start_ns;
	HASH_ADD(hh, ps->by_pid, process.pid, sizeof(pid_t), e);
	return e;
}

static void note_refusal(struct processes *ps, const struct process *p)
{
	unsigned i = 0;

	while (i < ps->refusal_cnt && strcmp(ps->refusals[i].why, p->info.why))
		i++;
	if (i == MAX_REFUSALS)
		return;
	if (i == ps->refusal_cnt) {
		memcpy(ps->refusals[i].why, p->info.why, sizeof(p->info.why));
		ps->refusals[i].pid = p->pid;
		ps->refusal_cnt++;
	}
	ps->refusals[i].cnt++;
}

/* Where an address alone does not identify a code object, the kernel takes fingerprints. */
static __u32 track_flags(const struct py_offsets *offsets)
{
	return offsets->interp.code_object_generation == PYOFF_ABSENT ? PROC_FINGERPRINT : 0;
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
		p->native = native__fork(parent->native, p->pid);
	else
		p->native = native__new(ps->config.native_files, p->pid, runtime_addr);
}

/* p->info is filled: from now on its records are named. */
static int open_process(struct processes *ps, struct process *p, const struct process *parent)
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
	ps->tracked_cnt++;
	ps->seen_cnt++;
	log_debug("processes", "%d is CPython %u.%u (%s)", p->pid, p->info.offsets.version >> 24,
		  (p->info.offsets.version >> 16) & 255, p->info.file);
	return 0;
}

/* The next process that executes this file is ready at its first instruction. */
static void learn_binary(struct processes *ps, const struct process *p)
{
	struct proc_stat proc;
	struct binary binary;
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	if (p->info.build != PY_BUILD_EXE || proc_stat_read(p->pid, &proc) || stat(path, &st) ||
	    proc.start_ticks != p->info.start_ticks || proc.start_code <= 1)
		return;
	binary = (struct binary){ st.st_dev, st.st_ino, st.st_size };
	sampler__learn_binary(ps->config.sampler, &binary, p->info.runtime_addr - proc.start_code,
			      &p->info.offsets, track_flags(&p->info.offsets));
}

/* The next process in which this library begins an interpreter is ready at that moment. */
static void learn_library(struct processes *ps, const struct process *p)
{
	cleanup_close int fd = -1;
	char path[PATH_MAX];
	int err;

	if (p->info.build != PY_BUILD_SHARED || !p->info.map_start)
		return;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", p->pid, p->info.map_start,
		 p->info.map_end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", p->pid, p->info.file);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd < 0)
		return;
	err = sampler__learn_library(ps->config.sampler, fd, &p->info.offsets,
				     track_flags(&p->info.offsets));
	if (err)
		log_debug("processes", "%s is not probed: %s", p->info.file, strerror(-err));
}

/* The kernel may know it already, as it knows nothing of the filter. */
static void leave_alone(struct processes *ps, struct process *p)
{
	p->state = PROCESS_UNWANTED;
	p->retry_ns = 0;
	sampler__untrack(ps->config.sampler, p->pid, p->start_ns);
}

/* p->info is filled: hands the process to the kernel, too. */
static int start_tracking(struct processes *ps, struct process *p)
{
	struct proc_info info = {
		.runtime_addr = p->info.runtime_addr,
		.start_ns = p->start_ns,
		.flags = track_flags(&p->info.offsets),
	};
	int err = sampler__track(ps->config.sampler, p->pid, &info, &p->info.offsets);

	if (err)
		return err;
	learn_binary(ps, p);
	learn_library(ps, p);
	return open_process(ps, p, NULL);
}

/* Not Python, but what it starts, or becomes, may be. */
static void watch(struct processes *ps, struct process *p)
{
	if (!ps->config.all && p->start_ns)
		sampler__watch(ps->config.sampler, p->pid, p->start_ns);
}

/* Not Python yet, or not known yet: results after which a process is looked at again. */
static bool may_change(int err)
{
	return err == -ENOEXEC || err == -EINPROGRESS;
}

static void plan_retry(struct processes *ps, struct process *p, int err)
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
static int identify(struct processes *ps, struct process *p)
{
	int err = py_process_identify(p->pid, ps->cache, &p->info);
	__u64 start_ns = p->info.start_ticks * KRAIT_NS_PER_TICK;

	if (!p->start_ns)
		p->start_ns = start_ns;
	return start_ns && !same_start(p->start_ns, start_ns) ? -ESRCH : err;
}

/* Looks at the process and acts on what it is. -ESRCH: the entry is gone. */
static int look_at(struct processes *ps, struct entry *e)
{
	struct process *p = &e->process;
	int err = identify(ps, p);

	if (!err && !filter_matches(ps->config.filter, p->pid, p->info.comm)) {
		leave_alone(ps, p);
		return 0;
	}
	if (!err) {
		err = start_tracking(ps, p);
		if (err)
			snprintf(p->info.why, sizeof(p->info.why), "cannot be tracked: %s",
				 strerror(-err));
	}
	memcpy(ps->why, p->info.why, sizeof(ps->why));
	if (!err)
		return 0;
	if (err == -ESRCH) {
		remove_entry(ps, e);
	} else if (may_change(err)) {
		/* Once: it would take away what the kernel has found out meanwhile. */
		if (!p->attempts)
			watch(ps, p);
		plan_retry(ps, p, err);
	} else {
		watch(ps, p);
		p->state = PROCESS_REFUSED;
		p->retry_ns = 0;
		if (err == -EACCES)
			ps->unreadable_cnt++;
		else
			note_refusal(ps, p);
		log_debug("processes", "%d is not sampled: %s", p->pid, p->info.why);
	}
	return err;
}

static int scan_one(pid_t pid, void *ctx)
{
	struct processes *ps = ctx;
	struct entry *e;

	if (pid == getpid() || find_entry(ps, pid))
		return 0;
	e = add_entry(ps, pid, 0);
	/* What is not Python when we come may be left alone: exec tells when that changes. */
	if (e && look_at(ps, e) == -ENOEXEC)
		remove_entry(ps, e);
	return 0;
}

void processes__scan(struct processes *ps)
{
	process_each(scan_one, ps);
}

int processes__follow(struct processes *ps, pid_t pid, const char **ret_why)
{
	struct entry *e = find_entry(ps, pid);
	int err = 0;

	if (!e)
		e = add_entry(ps, pid, 0);
	if (!e || e->process.state == PROCESS_PENDING)
		err = e ? look_at(ps, e) : -ENOMEM;
	*ret_why = ps->why;
	return err;
}

/*
 * The process that an event or record is about, or NULL. One that had the pid before goes: its end has
 * not been told. *ret_past: another one has the pid by now, and a look at it came before its events.
 */
static struct entry *find_started(struct processes *ps, pid_t pid, __u64 start_ns, bool *ret_past)
{
	struct entry *e = find_entry(ps, pid);
	int order = e && e->process.start_ns ? start_order(start_ns, e->process.start_ns) : 0;

	*ret_past = order < 0;
	if (e && !order && start_ns % KRAIT_NS_PER_TICK)
		e->process.start_ns = start_ns; /* exactly now */
	if (order > 0)
		remove_entry(ps, e);
	return order ? NULL : e;
}

/* As find_started(), for an event; one that is not there begins if every process is followed. */
static struct entry *find_or_begin(struct processes *ps, const struct event_task *event)
{
	bool past;
	struct entry *e = find_started(ps, event->pid, event->start_ns, &past);

	if (!e && !past && ps->config.all && (pid_t)event->pid != getpid())
		e = add_entry(ps, event->pid, event->start_ns);
	return e;
}

/* A child has its parent's image: it is ready at once, without a look at its memory. */
static void on_fork(struct processes *ps, const struct event_task *event)
{
	struct entry *parent = find_entry(ps, event->parent_pid), *child;
	struct process *p;
	bool past;

	if (!parent || (pid_t)event->pid == getpid())
		return;
	if (find_started(ps, event->pid, event->start_ns, &past) || past)
		return; /* a scan was faster */
	child = add_entry(ps, event->pid, event->start_ns);
	if (!child)
		return;
	p = &child->process;
	if (parent->process.state == PROCESS_UNWANTED)
		leave_alone(ps, p);
	/* Python, but its debug information is still being read: the child's, too. */
	if (parent->process.state == PROCESS_PENDING && parent->process.info.version)
		plan_retry(ps, p, -EINPROGRESS);
	if (parent->process.state != PROCESS_TRACKED)
		return; /* its exec will tell */
	p->info = parent->process.info;
	p->parent_pid = event->parent_pid;
	p->info.pid = event->pid;
	p->info.start_ticks = event->start_ns / KRAIT_NS_PER_TICK;
	if (open_process(ps, p, &parent->process))
		remove_entry(ps, child);
}

/*
 * The kernel has resolved it already, by its executable or by a probe: nothing needs to be read, the
 * process may even have gone.
 */
static void on_known_image(struct processes *ps, struct entry *e, const struct event_task *event)
{
	struct process *p = &e->process;

	p->info = (struct py_process){
		.pid = event->pid,
		.start_ticks = event->start_ns / KRAIT_NS_PER_TICK,
		.runtime_addr = event->runtime_addr,
		.offsets = *sampler__layout(ps->config.sampler, event->layout),
		.build = event->type == EVENT_EXEC ? PY_BUILD_EXE : PY_BUILD_SHARED,
	};
	printable_into(p->info.comm, sizeof(p->info.comm), event->comm);
	if (!filter_matches(ps->config.filter, p->pid, event->comm))
		leave_alone(ps, p);
	else if (open_process(ps, p, NULL))
		remove_entry(ps, e);
}

/* An interpreter begins in a library. A look at the process may have been faster. */
static void on_runtime(struct processes *ps, const struct event_task *event)
{
	struct entry *e = find_or_begin(ps, event);

	if (!e || !sampler__layout(ps->config.sampler, event->layout) ||
	    (e->process.state == PROCESS_TRACKED &&
	     e->process.info.runtime_addr == event->runtime_addr))
		return;
	forget_image(ps, e);
	on_known_image(ps, e, event);
}

static void on_exec(struct processes *ps, const struct event_task *event)
{
	struct entry *e = find_or_begin(ps, event);

	if (!e)
		return;
	forget_image(ps, e);
	if (sampler__layout(ps->config.sampler, event->layout))
		on_known_image(ps, e, event);
	else
		look_at(ps, e);
}

static void on_end(struct processes *ps, const struct event_task *event)
{
	bool past;
	struct entry *e = find_started(ps, event->pid, event->start_ns, &past);

	if (!e)
		return;
	e->process.reasons[REASON_RING_FULL] += event->dropped;
	e->process.exited = true;
	remove_entry(ps, e);
}

void processes__event(struct processes *ps, const struct event_task *event)
{
	if (event->type == EVENT_FORK) {
		on_fork(ps, event);
	} else if (event->type == EVENT_EXEC) {
		on_exec(ps, event);
	} else if (event->type == EVENT_RUNTIME) {
		on_runtime(ps, event);
	} else if (event->type == EVENT_EXIT) {
		on_end(ps, event);
	} else if (event->type == EVENT_THREAD_EXIT) {
		sampler__remove_thread(ps->config.sampler, event->tid, event->start_ns);
	}
}

__u64 processes__retry(struct processes *ps, __u64 now_ns)
{
	struct entry *e, *next;
	__u64 soonest = 0;

	HASH_ITER(hh, ps->by_pid, e, next) {
		struct process *p = &e->process;

		if (p->state != PROCESS_PENDING || !p->retry_ns)
			continue;
		if (p->retry_ns <= now_ns && !may_change(look_at(ps, e)))
			continue;
		if (p->retry_ns && (!soonest || p->retry_ns < soonest))
			soonest = p->retry_ns;
	}
	return soonest;
}

struct process *processes__find(struct processes *ps, pid_t pid)
{
	struct entry *e = find_entry(ps, pid);

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
	e = add_entry(ps, event->pid, start_ticks * KRAIT_NS_PER_TICK);
	return e && !look_at(ps, e) ? e : NULL;
}

struct process *processes__of_record(struct processes *ps, const struct event_sample *event)
{
	struct entry *e = find_entry(ps, event->pid);

	if (e && !can_be_of(event, e->process.start_ns)) {
		if (event->thread_start_ns < e->process.start_ns)
			return NULL; /* a later process has the pid by now */
		remove_entry(ps, e);
		e = NULL;
	}
	if (!e)
		e = adopt(ps, event);
	else if (e->process.state == PROCESS_PENDING && look_at(ps, e))
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
	for (unsigned i = 0; i < ps->refusal_cnt; i++) {
		const struct refusal *r = &ps->refusals[i];

		fprintf(out, "krait: not sampled: %s (pid %d", r->why, r->pid);
		if (r->cnt > 1)
			fprintf(out, " and %u more", r->cnt - 1);
		fputs(")\n", out);
	}
	if (ps->unreadable_cnt)
		fprintf(out, "krait: %u process%s may not be read, Python or not (-v names %s)\n",
			ps->unreadable_cnt, ps->unreadable_cnt == 1 ? "" : "es",
			ps->unreadable_cnt == 1 ? "it" : "them");
}
