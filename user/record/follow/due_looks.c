/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When to look at processes again, and which of the due ones come first: all of them, a few at a
 * time while krait spares looks, or one a second while it starves.
 */
#include "record/follow/process_table.h"

#include <errno.h>

#include "kernel/sampler/sampler.h"
#include "record/follow/filter.h"
#include "record/follow/forks.h"
#include "process/probe/prober.h"
#include "base/system/clock.h"

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
/*
 * With "all", a process that is not Python after about a minute is left alone: counts looks,
 * including spared ones.
 */
#define RETRY_MAX_ALL 26
/* While krait spares looks: time between two passes over all processes for what is due. */
#define SPARING_LOOK_NS 250000000ULL
/* The same while krait starves. */
#define STARVING_LOOK_NS NS_PER_SEC
/* Looks that such a pass begins: each takes a prober some tenths of a millisecond. */
#define SPARING_LOOKS 4

void processes_due(struct processes *ps, __u64 ns)
{
	if (ns && (!ps->due_ns || ns < ps->due_ns))
		ps->due_ns = ns;
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

/* One look later per step of sparing, except the first step, which delays as for plain files. */
static unsigned looks_spared(const struct processes *ps)
{
	return RETRY_PLAIN + (ps->sparing ? ps->sparing - 1 : 0);
}

__u64 processes__look_delay_ns(const struct processes *ps)
{
	return ps->sparing ? RETRY_FIRST_NS << looks_spared(ps) : 0;
}

bool processes__spares(const struct processes *ps)
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

void processes__spare(struct processes *ps, unsigned steps)
{
	if (steps == ps->sparing)
		return;
	ps->sparing = steps < PROCESSES_SPARING_MAX ? steps : PROCESSES_SPARING_MAX;
	sampler__hush(ps->config.sampler, processes__spares(ps));
}

void processes__starve(struct processes *ps, bool on)
{
	if (!ps->config.all || on == ps->starving)
		return;
	ps->starving = on;
	sampler__hush(ps->config.sampler, processes__spares(ps));
}

/* While krait spares looks, a process without samples needs none. */
static bool is_met(const struct processes *ps, const struct process *p)
{
	return !processes__spares(ps) || !TAILQ_EMPTY(&p->threads);
}

/*
 * Starts looks for what tracked processes get later; or, unless may, only finds out when they are
 * due.
 */
static void step_plans(struct processes *ps, struct process *p, __u64 now_ns, bool may)
{
	if (may && look_plan_is_due(&p->tables.look, ps, p, now_ns))
		tables_look(ps, p);
	if (may && look_plan_is_due(&p->greenlets.look, ps, p, now_ns))
		greenlet_watch_look(ps, p);
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
 * The next process to look at: the longest due one of the owner whose last look is longest ago. So
 * however many processes one owner starts, they cost the others no look. NULL: none is due.
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
	entry_look_again(ps, e);
	return true;
}

/*
 * While looks are spared: begins some of those that are due. At least half of them are for
 * processes not known yet.
 */
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
			entry_look_again(ps, e);
		else if (p->state == PROCESS_PENDING && !p->asked)
			processes_due(ps, p->retry_ns);
	}
}

/*
 * While krait starves: one look a second, for the owner whose turn it is. Whatever one owner does
 * to use up krait's budget, it cannot keep the others waiting longer.
 */
static void look_at_one(struct processes *ps, __u64 now_ns)
{
	if (!ps->due_ns || now_ns < ps->looked_ns + STARVING_LOOK_NS)
		return;
	ps->looked_ns = now_ns;
	look_at_next(ps, now_ns);
}

/* Looks at what is due, and finds out when the next one will be. */
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

void processes__finish_names(struct processes *ps, int wait_ms)
{
	const __u64 end_ns = clock_monotonic_ns() + (__u64)wait_ms * NS_PER_MS;
	struct entry *e, *next;
	__u64 now_ns;

	if (ps->starving)
		return;
	do {
		HASH_ITER(hh, ps->by_pid, e, next)
			if (e->process.state == PROCESS_TRACKED)
				name_watch_look(ps, &e->process);
		now_ns = clock_monotonic_ns();
		if (!ps->watches.asked_cnt || now_ns >= end_ns)
			return;
		prober__wait(ps->config.prober, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
	} while (clock_monotonic_ns() < end_ns);
}

/* The earlier time; 0 means never. */
static __u64 sooner(__u64 a, __u64 b)
{
	return !a || (b && b < a) ? b : a;
}

/* When the next due process may be looked at. */
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
	forked = sooner(forks_open_due(ps, now_ns), name_watch_step(ps, now_ns));
	soonest = sooner(prober__step(ps->config.prober), forked);
	return sooner(soonest, look_ns(ps));
}
