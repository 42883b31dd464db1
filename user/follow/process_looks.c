/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at processes: when, and what comes of each. A prober does the looking; until it has answered, the
 * process is one that may be Python.
 */
#include "follow/process_table.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/sampler.h"
#include "follow/filter.h"
#include "follow/forks.h"
#include "follow/learn.h"
#include "target/probed.h"
#include "target/prober.h"
#include "replay/input_writer.h"
#include "target/proc.h"
#include "util/clock.h"
#include "util/log.h"

/* First pause before a process is looked at again; it doubles up to the longest. */
#define RETRY_FIRST_NS 1000000ULL
#define RETRY_LONGEST_NS 1000000000ULL
/* The same with "all": there are many processes, and hardly any becomes Python this late. */
#define RETRY_LONGEST_ALL_NS 8000000000ULL
#define RETRY_DOUBLINGS 13U
/* Looks skipped for a process of a plain executable: its first look comes after half a second. */
#define RETRY_PLAIN 9U
/* The same while its debug information is being read. */
#define RETRY_READING_NS 100000000ULL
/* With "all", a process that is not Python after about a minute is left alone: looks, and those that were spared. */
#define RETRY_MAX_ALL 26
/*
 * How much longer a scan may take if processes keep probers waiting; no other process is sampled later because of it.
 */
#define SCAN_HUNG_NS 2000000000ULL
#define NS_PER_MS 1000000ULL
/* Between two goes through all processes for what is due, where krait spares looks. */
#define SPARING_LOOK_NS 250000000ULL
/* The same between two while krait starves. */
#define STARVING_LOOK_NS NS_PER_SEC
/* And how many looks one of these begins: each takes a prober some tenths of a millisecond. */
#define SPARING_LOOKS 4
/* For a look that others wait for: a slow one continues without them. */
#define LOOK_PATIENCE_NS 20000000ULL

unsigned entry_owner_now(const struct processes *ps, pid_t pid)
{
	uid_t uid = proc_owner(pid);

	input_writer__fact(ps->config.inputs, QUESTION_OWNER, pid, 0, uid);
	return sampler__owner(ps->config.sampler, uid);
}

int entry_start_ticks(const struct processes *ps, pid_t pid, __u64 *ret)
{
	int err;

	*ret = 0;
	err = process_start_ticks(pid, ret);
	return input_writer__fact(ps->config.inputs, QUESTION_START, pid, err, *ret);
}

/*
 * Python or not, what it starts, or becomes, may be. Once: it would take away what the kernel has found
 * out meanwhile. Before the look, which others need not wait for.
 */
static void watch(struct processes *ps, struct process *p)
{
	__u64 ticks;

	if (ps->config.all || p->watched)
		return;
	p->watched = true;
	p->owner = entry_owner_now(ps, p->pid);
	if (!p->start_ns && !entry_start_ticks(ps, p->pid, &ticks))
		p->start_ns = ticks * KRAIT_NS_PER_TICK;
	p->told = p->told || p->start_ns;
	if (p->start_ns)
		sampler__watch(ps->config.sampler, p->pid, p->start_ns, p->owner);
}

/* Not Python yet, or not known yet: after these results we look at the process again. */
static bool may_change(int err)
{
	return err == -ENOEXEC || err == -EINPROGRESS;
}

void entry_plan_retry(struct processes *ps, struct process *p, int err)
{
	__u64 pause, longest = ps->config.all ? RETRY_LONGEST_ALL_NS : RETRY_LONGEST_NS;

	if (err == -EINPROGRESS) {
		p->attempts += !p->attempts;
		p->retry_ns = clock_monotonic_ns() + RETRY_READING_NS;
		processes_due(ps, p->retry_ns);
		return;
	}
	pause = RETRY_FIRST_NS << (p->attempts < RETRY_DOUBLINGS ? p->attempts : RETRY_DOUBLINGS);
	if (pause > longest)
		pause = longest;
	/* With "all", every other look is enough for a process with no sign of Python. */
	p->attempts += ps->config.all && !p->info.version ? 2 : 1;
	p->retry_ns = 0;
	if (!ps->config.all || p->attempts < RETRY_MAX_ALL)
		p->retry_ns = clock_monotonic_ns() + pause;
	processes_due(ps, p->retry_ns);
}

/* One step later for each step of sparing but the first, which is as late as it is for what is plain. */
static unsigned looks_spared(const struct processes *ps)
{
	return RETRY_PLAIN + (ps->sparing ? ps->sparing - 1 : 0);
}

__u64 processes__look_delay_ns(const struct processes *ps)
{
	return ps->sparing ? RETRY_FIRST_NS << looks_spared(ps) : 0;
}

bool processes_spare_all(const struct processes *ps)
{
	unsigned from = ps->config.native_files ? 2 : 1;

	return (ps->sparing >= from || ps->starving) && ps->config.all &&
	       filter_is_empty(ps->config.filter);
}

void entry_look_later(struct processes *ps, struct process *p)
{
	unsigned spared = looks_spared(ps);

	p->attempts = spared + 2;
	p->retry_ns = clock_monotonic_ns() + (RETRY_FIRST_NS << spared);
	processes_due(ps, p->retry_ns);
}

/* One that was there before is none that was found late. */
static void note_late(struct processes *ps, const struct process *p)
{
	struct timespec used;
	clockid_t clock;

	if (p->scanned)
		return;
	ps->late_cnt++;
	if (!clock_getcpuclockid(p->pid, &clock) && !clock_gettime(clock, &used))
		ps->late_ns += (__u64)used.tv_sec * NS_PER_SEC + (__u64)used.tv_nsec;
}

static int begin_tracking(struct processes *ps, struct process *p)
{
	int err = learn_process(ps->config.sampler, p, probed__file(p->probed));

	probed__close_file(p->probed);
	if (!err)
		note_late(ps, p);
	if (err || !entry_open(ps, p, NULL))
		return err;
	learn_forget(ps->config.sampler, p);
	snprintf(p->info.why, sizeof(p->info.why), "cannot be tracked: %s", strerror(ENOMEM));
	return -ENOMEM;
}

/*
 * Is that one of those the user asked for? Of a process that nobody may read a filter knows the command
 * only, as of one that has gone.
 */
static bool is_wanted_unread(const struct processes *ps, const struct process *p)
{
	return filter_matches(ps->config.filter, p->info.comm, NULL, "");
}

/* It is not to be sampled, or not now. */
static void put_off(struct processes *ps, struct entry *e, int err)
{
	struct process *p = &e->process;

	if (err == -ESRCH || (err == -ENOEXEC && p->scanned)) {
		/* A process that was not Python when we came may be left alone: its exec will be reported. */
		entry_remove(ps, e);
	} else if (may_change(err)) {
		entry_plan_retry(ps, p, err);
	} else {
		p->state = PROCESS_REFUSED;
		p->retry_ns = 0;
		if (err != -EACCES || is_wanted_unread(ps, p))
			refusals_note(&ps->refusals, err, p->info.why, p->pid);
		log_debug("processes", "%d is not sampled: %s", p->pid, p->info.why);
	}
}

/* p->info is filled, and with 0 p->probed. */
static void act(struct processes *ps, struct entry *e, int err)
{
	struct process *p = &e->process;
	struct look *look = e->look;
	const struct context *context = NULL;
	const char *cgroups = "";

	/* Who pays for it follows the credentials. */
	if (p->info.has_ids)
		p->owner = sampler__owner(ps->config.sampler, p->info.uid);
	e->look = NULL;
	if (!err)
		context = probed__context(p->probed, false, &cgroups);
	if (!err && !filter_matches(ps->config.filter, p->info.comm, context, cgroups)) {
		entry_leave_alone(ps, p);
	} else {
		if (!err)
			err = begin_tracking(ps, p);
		memcpy(ps->why, p->info.why, sizeof(ps->why));
		if (err)
			put_off(ps, e, err);
	}
	if (look)
		*look = (struct look){ true, err };
}

/* Without an answer: why there is none. */
static int explain_no_answer(struct process *p, int err)
{
	const char *why = err == -ETIMEDOUT ? PROBED_HUNG :
			  err == -EUSERS    ? PROBED_OWNER_REFUSED :
					      NULL;

	p->info = (struct py_process){ .pid = p->pid };
	if (why)
		snprintf(p->info.why, sizeof(p->info.why), "%s", why);
	else
		snprintf(p->info.why, sizeof(p->info.why), "krait cannot look at it: %s",
			 strerror(-err));
	/* There was no prober to be had: there may be one later. */
	return err == -EAGAIN ? -EINPROGRESS : err;
}

static void on_looked(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	const struct probe_found *found = data;
	struct entry *e = ctx;
	struct process *p = &e->process;
	__u64 start_ns;

	p->asked = false;
	if (!data || len < sizeof(found->process)) {
		act(e->table, e, explain_no_answer(p, data ? -EPROTO : result));
		return;
	}
	p->info = found->process;
	start_ns = p->info.start_ticks * KRAIT_NS_PER_TICK;
	if (!p->start_ns)
		p->start_ns = start_ns;
	/* If the process changed its user since its exec, the new user may control it, so it proves nothing. */
	p->plain_looks += result == -ENOEXEC && !p->info.version && p->info.has_ids &&
			  p->info.uid == p->exec.uid;
	/* Another process has the pid by now. */
	if (start_ns && !same_start(p->start_ns, start_ns))
		result = -ESRCH;
	if (!result) {
		p->probed = probed__new(e->table->config.prober, data, len, fds);
		result = p->probed ? 0 : -ENOMEM;
	}
	act(e->table, e, result);
}

static int ask(struct processes *ps, struct entry *e)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY, .pid = e->process.pid };
	int err;

	if (e->process.asked)
		return 0;
	watch(ps, &e->process);
	err = prober__ask(ps->config.prober, PROBER_LATER, &r, NULL, 0, on_looked, e);
	e->process.asked = !err;
	e->process.looked = true;
	ps->asked_cnt++;
	e->process.retry_ns = 0;
	return err;
}

/* Without a step, which could end other looks: somebody goes through the table. */
static void again(struct processes *ps, struct entry *e)
{
	int err = ask(ps, e);

	if (err)
		act(ps, e, explain_no_answer(&e->process, err));
}

int entry_look_at(struct processes *ps, struct entry *e, bool wait)
{
	__u64 end_ns = clock_monotonic_ns() + LOOK_PATIENCE_NS, now_ns;
	struct look look = { .result = -EINPROGRESS };
	int err;

	e->look = &look;
	err = ask(ps, e);
	if (err)
		act(ps, e, explain_no_answer(&e->process, err));
	prober__step(ps->config.prober);
	while (wait && !look.done && !prober__is_slow(ps->config.prober, e) &&
	       (now_ns = clock_monotonic_ns()) < end_ns)
		prober__wait(ps->config.prober, (int)((end_ns - now_ns) / 1000000) + 1);
	if (!look.done) {
		e->look = NULL;
		snprintf(ps->why, sizeof(ps->why), "it is still being looked at");
	}
	return look.result;
}

static int scan_one(pid_t pid, void *ctx)
{
	struct processes *ps = ctx;
	struct entry *e;

	if (pid == getpid() || prober__is_ours(ps->config.prober, pid) || entry_find(ps, pid))
		return 0;
	input_writer__fact(ps->config.inputs, QUESTION_SCAN, pid, 0, 0);
	e = entry_add(ps, pid, 0, entry_owner_now(ps, pid));
	if (!e)
		return 0;
	e->process.scanned = true;
	entry_look_at(ps, e, false);
	return 0;
}

void processes__scan(struct processes *ps, int wait_ms)
{
	struct prober *prober = ps->config.prober;
	__u64 begin_ns = clock_monotonic_ns(), end_ns, now_ns;

	input_writer__fact(ps->config.inputs, QUESTION_SCAN, 0, 0, (__u64)wait_ms);
	process_each(scan_one, ps);
	while (prober__others_wait(prober)) {
		end_ns = begin_ns + (__u64)wait_ms * NS_PER_MS;
		if (wait_ms && (prober__slow_cnt(prober) || prober__hung_cnt(prober)))
			end_ns += SCAN_HUNG_NS;
		now_ns = clock_monotonic_ns();
		if (now_ns >= end_ns)
			return;
		prober__wait(prober, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	}
}

int processes__follow(struct processes *ps, pid_t pid, const char **ret_why)
{
	struct entry *e = entry_find(ps, pid);
	int err = 0;

	input_writer__fact(ps->config.inputs, QUESTION_FOLLOW, pid, 0, 0);
	if (!e)
		e = entry_add(ps, pid, 0, entry_owner_now(ps, pid));
	else
		forks_open(ps, e);
	if (!e || e->process.state == PROCESS_PENDING)
		err = e ? entry_look_at(ps, e, true) : -ENOMEM;
	*ret_why = ps->why;
	return err;
}

void processes_due(struct processes *ps, __u64 ns)
{
	if (ns && (!ps->due_ns || ns < ps->due_ns))
		ps->due_ns = ns;
}

/* Where krait spares looks, what has no samples needs none. */
static bool is_met(const struct processes *ps, const struct process *p)
{
	return !processes_spare_all(ps) || !TAILQ_EMPTY(&p->threads);
}

/* Looks for what tracked processes have later, or only says when that is due. */
static void step_plans(struct processes *ps, struct process *p, __u64 now_ns, bool may)
{
	if (may) {
		processes_due(ps, tables_step(ps, p, now_ns));
		processes_due(ps, greenlet_watch_step(ps, p, now_ns));
		return;
	}
	processes_due(ps, look_plan_next(&p->tables.look));
	processes_due(ps, look_plan_next(&p->greenlets.look));
}

static bool is_due(const struct process *p, __u64 now_ns)
{
	return p->state == PROCESS_PENDING && p->retry_ns && p->retry_ns <= now_ns && !p->asked;
}

static __u64 *owner_asked(struct processes *ps, const struct process *p)
{
	return &ps->owner_asked[p->owner % OWNER_CNT];
}

static bool comes_before(struct processes *ps, const struct process *a, const struct process *b)
{
	__u64 of_a = *owner_asked(ps, a), of_b = *owner_asked(ps, b);

	return of_a != of_b ? of_a < of_b : a->retry_ns < b->retry_ns;
}

/*
 * Whoever is to be looked at next: of the owner whose last look is longest ago, the process that has been due longest. So
 * however many one owner starts, they cost the others no look. NULL: none is due.
 */
static struct entry *next_due(struct processes *ps, __u64 now_ns)
{
	struct entry *e, *next, *first = NULL;

	HASH_ITER(hh, ps->by_pid, e, next)
		if (is_due(&e->process, now_ns) &&
		    (!first || comes_before(ps, &e->process, &first->process)))
			first = e;
	return first;
}

/* False: none is due. */
static bool look_at_next(struct processes *ps, __u64 now_ns)
{
	struct entry *e = next_due(ps, now_ns);

	if (!e)
		return false;
	*owner_asked(ps, &e->process) = ps->asked_cnt + 1;
	again(ps, e);
	return true;
}

/* Where looks are spared: so many of those that are due. Half of them at least are for what is not known yet. */
static void look_at_some(struct processes *ps, __u64 now_ns)
{
	__u64 half = ps->asked_cnt + SPARING_LOOKS / 2, last = ps->asked_cnt + SPARING_LOOKS;
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next)
		if (e->process.state == PROCESS_TRACKED && is_met(ps, &e->process))
			step_plans(ps, &e->process, now_ns, ps->asked_cnt < half);
	while (ps->asked_cnt < last && look_at_next(ps, now_ns))
		;
	HASH_ITER(hh, ps->by_pid, e, next)
		if (e->process.state == PROCESS_PENDING && !e->process.asked)
			processes_due(ps, e->process.retry_ns);
}

static void look_at_all(struct processes *ps, __u64 now_ns)
{
	struct entry *e, *next;

	/* A look may end at once; then it removes this entry or none. */
	HASH_ITER(hh, ps->by_pid, e, next) {
		struct process *p = &e->process;

		if (p->state == PROCESS_TRACKED && is_met(ps, p))
			step_plans(ps, p, now_ns, true);
		if (is_due(p, now_ns))
			again(ps, e);
		else if (p->state == PROCESS_PENDING && !p->asked)
			processes_due(ps, p->retry_ns);
	}
}

/*
 * While nothing that can wait is done: one look a second, of the owner whose turn it is. Whatever one owner does to use up
 * what krait may cost, it keeps the others out no longer than that.
 */
static void look_at_one(struct processes *ps, __u64 now_ns)
{
	if (!ps->due_ns || now_ns < ps->looked_ns + STARVING_LOOK_NS)
		return;
	ps->looked_ns = now_ns;
	look_at_next(ps, now_ns);
}

/* Looks at what is due, and finds out what will be next. */
static void look_at_due(struct processes *ps, __u64 now_ns)
{
	ps->due_ns = 0;
	ps->looked_ns = now_ns;
	if (ps->sparing && ps->config.all)
		look_at_some(ps, now_ns);
	else
		look_at_all(ps, now_ns);
}

static bool awaits_tables(struct processes *ps)
{
	struct entry *e, *next;

	HASH_ITER(hh, ps->by_pid, e, next)
		if (e->process.state == PROCESS_TRACKED && e->process.tables.look.asked)
			return true;
	return false;
}

void processes__await_tables(struct processes *ps, int wait_ms)
{
	__u64 now_ns = clock_monotonic_ns(), end_ns = now_ns + (__u64)wait_ms * NS_PER_MS;

	if (!ps->config.tables)
		return;
	look_at_due(ps, now_ns);
	while (awaits_tables(ps) && (now_ns = clock_monotonic_ns()) < end_ns)
		prober__wait(ps->config.prober, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
}

/* 0: never. */
static __u64 sooner(__u64 a, __u64 b)
{
	return !a || (b && b < a) ? b : a;
}

/* When what is due may be looked at. */
static __u64 look_ns(const struct processes *ps)
{
	__u64 next_ns = ps->sparing && ps->config.all ? ps->looked_ns + SPARING_LOOK_NS : 0;

	return ps->due_ns && ps->due_ns < next_ns ? next_ns : ps->due_ns;
}

__u64 processes__retry(struct processes *ps, __u64 now_ns)
{
	__u64 soonest, forked;

	prober__step(ps->config.prober);
	if (ps->starving) {
		look_at_one(ps, now_ns);
		soonest = prober__step(ps->config.prober);
		return ps->due_ns ? sooner(soonest, ps->looked_ns + STARVING_LOOK_NS) : soonest;
	}
	if (ps->due_ns && look_ns(ps) <= now_ns)
		look_at_due(ps, now_ns);
	forked = forks_open_due(ps, now_ns);
	soonest = sooner(prober__step(ps->config.prober), forked);
	return sooner(soonest, look_ns(ps));
}
