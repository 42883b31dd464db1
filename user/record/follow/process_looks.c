/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at one process, and acts on each result. A prober does the looking; until it has answered,
 * the process is one that may be Python. due_looks.c says when.
 */
#include "record/follow/process_table.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/sampler/sampler.h"
#include "record/follow/filter.h"
#include "record/follow/forks.h"
#include "record/follow/learn.h"
#include "process/probe/probed.h"
#include "process/probe/prober.h"
#include "record/replay/input_writer.h"
#include "process/proc/proc.h"
#include "base/system/clock.h"
#include "base/text/log.h"

/*
 * How much longer a scan may take if processes keep probers waiting; no other process is sampled later because of it.
 */
#define SCAN_HUNG_NS 2000000000ULL
/* How long others wait for a look; a slow one continues without them. */
#define LOOK_PATIENCE_NS 20000000ULL

/* Who pays for it until it has been looked at. */
static unsigned owner_now(const struct processes *ps, pid_t pid)
{
	uid_t uid = proc_owner(pid);

	input_writer__fact(ps->config.inputs, QUESTION_OWNER, pid, 0, uid);
	return owner_of(&sampler__parts(ps->config.sampler)->books->table, uid);
}

int entry_start_ticks(const struct processes *ps, pid_t pid, __u64 *ret)
{
	int err;

	*ret = 0;
	err = process_start_ticks(pid, ret);
	return input_writer__fact(ps->config.inputs, QUESTION_START, pid, err, *ret);
}

/*
 * Follows the process, Python or not, because it may start or become Python. Only once, as it would
 * overwrite what the kernel has found out meanwhile; and before the look, so that others need not
 * wait for it.
 */
static void watch(struct processes *ps, struct process *p)
{
	__u64 ticks;

	if (ps->config.all || p->watched)
		return;
	p->watched = true;
	p->owner = owner_now(ps, p->pid);
	if (!p->start_ns && !entry_start_ticks(ps, p->pid, &ticks))
		p->start_ns = ticks * KRAIT_NS_PER_TICK;
	p->told = p->told || p->start_ns;
	if (p->start_ns &&
	    sampler__watch(ps->config.sampler, p->pid, p->start_ns, p->owner) == -EDQUOT)
		entry_unheard(ps, p);
}

/* Not Python yet, or unknown: after these results we look at the process again. */
static bool may_change(int err)
{
	return err == -ENOEXEC || err == -EINPROGRESS;
}

/* A process that existed before us does not count as found late. */
static void note_late(struct processes *ps, const struct process *p)
{
	if (p->scanned)
		return;
	ps->late_cnt++;
	ps->late_ns += clock_process_ns(p->pid);
}

/* What krait shows of it is not all. */
static void note_second(struct processes *ps, const struct process *p)
{
	char why[sizeof(p->info.why)];

	if (!*p->info.second)
		return;
	snprintf(why, sizeof(why), "a second interpreter in the same process: %s", p->info.second);
	refusals_note(&ps->refusals, 0, why, p->pid, p->info.comm);
}

static int begin_tracking(struct processes *ps, struct process *p)
{
	int err = learn_process(ps->config.sampler, p, probed__file(p->probed));

	probed__close_file(p->probed);
	if (!err) {
		note_late(ps, p);
		note_second(ps, p);
	}
	if (err || !entry_open(ps, p, NULL))
		return err;
	learn_forget(ps->config.sampler, p);
	snprintf(p->info.why, sizeof(p->info.why), "cannot be tracked: %s", strerror(ENOMEM));
	return -ENOMEM;
}

/* It belongs to a user who is not wanted: the kernel side follows it until that changes. */
static int await_user(struct processes *ps, struct entry *e)
{
	int err = learn_process(ps->config.sampler, &e->process, probed__file(e->process.probed));

	if (!err)
		forks_await(ps, e);
	return err;
}

/*
 * Is it one that the user asked for? If a process cannot be read a filter knows only its command,
 * as for one that has gone.
 */
static bool is_wanted_unread(const struct processes *ps, const struct process *p)
{
	return filter_matches(ps->config.filter, p->info.comm, NULL, "");
}

/* The process is not to be sampled, or not now. */
static void put_off(struct processes *ps, struct entry *e, int err)
{
	struct process *p = &e->process;

	if (err == -ESRCH || (err == -ENOEXEC && p->scanned)) {
		/*
		 * It was not Python when we started, and may be left alone: its exec will be
		 * reported.
		 */
		entry_remove(ps, e);
	} else if (may_change(err)) {
		entry_plan_retry(ps, p, err);
	} else {
		p->state = PROCESS_REFUSED;
		p->retry_ns = 0;
		if (err != -EACCES || is_wanted_unread(ps, p))
			refusals_note(&ps->refusals, err, p->info.why, p->pid, p->info.comm);
		log_debug("processes", "%d is not sampled: %s", p->pid, p->info.why);
	}
}

/* p->info is filled, and if err is 0 p->probed, too. */
static void act(struct processes *ps, struct entry *e, int err)
{
	struct process *p = &e->process;
	struct look *look = e->look;
	const struct context *context = NULL;
	const char *cgroups = "";

	/* Its owner follows from the credentials. */
	if (p->info.has_ids)
		p->owner =
			owner_of(&sampler__parts(ps->config.sampler)->books->table, p->info.payer);
	e->look = NULL;
	if (!err)
		context = probed__context(p->probed, false, &cgroups);
	if (!err && filter_awaits(ps->config.filter, p->info.comm, context, cgroups) &&
	    !await_user(ps, e)) {
		err = 0;
	} else if (!err && !filter_matches(ps->config.filter, p->info.comm, context, cgroups)) {
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

/* Without an answer: explains why there is none. */
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
	/* No prober was available: there may be one later. */
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
	/* It has executed something else meanwhile: its exec will tell, or the next look. */
	if (result == -ESTALE)
		result = -EINPROGRESS;
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

void entry_look_again(struct processes *ps, struct entry *e)
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
	e = entry_add(ps, pid, 0, owner_now(ps, pid));
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
		e = entry_add(ps, pid, 0, owner_now(ps, pid));
	else
		forks_open(ps, e);
	if (!e || e->process.state == PROCESS_PENDING)
		err = e ? entry_look_at(ps, e, true) : -ENOMEM;
	*ret_why = ps->why;
	return err;
}
