/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/run/session.h"

#include <poll.h>
#include <string.h>

#include "record/follow/processes.h"
#include "record/follow/targets.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/reader.h"
#include "kernel/maps/known_files.h"
#include "kernel/maps/owner_books.h"
#include "record/run/child.h"
#include "record/run/descriptors.h"
#include "record/samples/label.h"
#include "record/replay/input_writer.h"
#include "record/samples/native_places.h"
#include "record/samples/residence.h"
#include "record/run/parts.h"
#include "record/run/perf_mappings.h"
#include "record/run/starting.h"
#include "record/unwinding/unwinding.h"
#include "record/samples/late_names.h"
#include "python/code/name_share.h"
#include "native/names/native_files.h"
#include "native/names/symbol_reader.h"
#include "process/proc/context.h"
#include "process/probe/prober.h"
#include "native/rows/tables.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/share/quota.h"

/* Descriptors that a step waits for, besides probers. */
#define OWN_FDS 5
/* Longest step, however many records wait. */
#define TURN_NS (50 * 1000000ULL)
/* How often to check whether process events were lost, or CPUs have come online. */
#define UPKEEP_NS (250 * 1000000ULL)
/*
 * For native names that no sample waits for (late_names.h): how often to ask, and for how long at a
 * time.
 */
#define NAMES_NS (100 * 1000000ULL)
#define NAMES_TURN_NS (20 * 1000000ULL)
/*
 * How long the start waits for looks at all processes: slower ones are sampled as soon as they are
 * known. A prober does a few thousand a second.
 */
#define SCAN_WAIT_MS 300
/*
 * The same for the tables of named processes: that takes some tens of ms, mostly to read the ELF
 * file.
 */
#define TABLES_WAIT_MS 500

static void end_starting(struct session *s)
{
	starting__free(s->starting);
	s->starting = NULL;
}

static int follow_targets(struct session *s, struct error *err)
{
	const char *why;

	if (s->config->all)
		processes__scan(s->processes, SCAN_WAIT_MS);
	if (s->config->known)
		return targets_follow_known(s->processes, s->config->pids, s->config->pid_cnt,
					    s->signals.fd, err);
	for (size_t i = 0; s->config->becoming && i < s->config->pid_cnt; i++)
		processes__follow(s->processes, s->config->pids[i], &why);
	if (s->config->becoming)
		return 0;
	if (targets_follow(s->processes, s->config->pids, s->config->pid_cnt, s->signals.fd, err))
		return -1;
	targets_follow_children(s->processes, s->config->pids, s->config->pid_cnt);
	/* A target's first sample should already know what its tasks await. */
	if (s->config->pid_cnt)
		processes__await_tables(s->processes, TABLES_WAIT_MS);
	/* The child is still krait itself, so not Python; but it must be followed. Beside pids it is only awaited. */
	if (s->child && !s->config->pid_cnt)
		processes__follow(s->processes, child__pid(s->child), &why);
	return 0;
}

/* Does anything of that owner's last longer than its processes, or is there something to say of it? */
static bool holds(void *ctx, unsigned owner)
{
	struct session *s = ctx;
	const struct unwind_tables *tables = sampler__parts(s->sampler)->tables;
	const struct name_share *names = processes__names(s->processes, owner);

	return quota_knows(owner) || names->closed || names->left_out ||
	       collector__parts(s->collector)->no_room[owner] ||
	       (tables && unwind_tables__holds(tables, owner));
}

/* The ring had no room for some process events: look at everything again. */
static void catch_up(struct session *s)
{
	__u64 dropped;

	if (sampler__counter(s->sampler, COUNTER_EVENTS_DROPPED, &dropped) ||
	    dropped == s->events_dropped)
		return;
	s->events_dropped = dropped;
	log_debug("session", "%llu process events dropped so far, scanning", s->events_dropped);
	if (s->config->all)
		processes__scan(s->processes, 0);
	targets_follow_children(s->processes, s->config->pids, s->config->pid_cnt);
}

/*
 * Reads threads' clocks: so often, and sooner if there are new processes, since a thread's first
 * reading begins its account.
 */
#define CLOCKS_NS (5 * NS_PER_SEC)
#define CLOCKS_NEW_NS NS_PER_SEC

static void read_clocks(struct session *s, __u64 now_ns)
{
	const unsigned cnt = processes__seen_cnt(s->processes);
	const __u64 pause_ns = cnt == s->clocked_cnt ? CLOCKS_NS : CLOCKS_NEW_NS;

	if (now_ns - s->clocked_ns < pause_ns)
		return;
	s->clocked_ns = now_ns;
	s->clocked_cnt = cnt;
	sampler__read_clocks(s->sampler);
}

static __u64 earlier(__u64 a, __u64 b)
{
	return b && b < a ? b : a;
}

static void take_signal(struct session *s)
{
	int signal = signals_take(&s->signals, &s->from_terminal);

	if (signal && s->config->on_signal &&
	    s->config->on_signal(s->config->on_signal_ctx, signal, s->from_terminal))
		return;
	s->signalled = true;
	s->signal = signal;
}

/* Sleeps until something happens or until_ns; records that already wait count as something. */
static void wait_for_work(struct session *s, __u64 until_ns)
{
	__u64 now_ns = clock_monotonic_ns();
	int mappings_fd = s->mappings ? perf_mappings__fd(s->mappings, now_ns, &until_ns) : -1;
	struct pollfd fds[OWN_FDS + PROBERS_MAX] = {
		{ .fd = queue__fd(sampler__parts(s->sampler)->queue, CURSOR_MAIN),
		  .events = POLLIN },
		{ .fd = s->signals.fd, .events = POLLIN },
		{ .fd = s->watched_fd, .events = POLLIN },
		{ .fd = s->child ? child__fd(s->child) : -1, .events = POLLIN },
		{ .fd = mappings_fd, .events = POLLIN },
	};
	unsigned cnt = OWN_FDS + prober__poll(s->prober, fds + OWN_FDS);
	struct timespec timeout = { 0 };

	if (queue__arm(sampler__parts(s->sampler)->queue, CURSOR_MAIN) && until_ns > now_ns) {
		timeout.tv_sec = (until_ns - now_ns) / NS_PER_SEC;
		timeout.tv_nsec = (until_ns - now_ns) % NS_PER_SEC;
	}
	if (ppoll(fds, cnt, &timeout, NULL) > 0 && fds[1].revents) {
		take_signal(s);
	}
	queue__disarm(sampler__parts(s->sampler)->queue, CURSOR_MAIN);
}

static bool is_over(struct session *s, __u64 now_ns)
{
	if (s->unwanted || s->signalled || (s->end_ns && now_ns >= s->end_ns))
		return true;
	if (s->child && (child__ended(s->child, 0) || !s->config->pid_cnt))
		return child__ended(s->child, 0);
	return !s->config->all && !processes__followed_cnt(s->processes);
}

bool session__step(struct session *s, __u64 timeout_ns)
{
	__u64 now_ns = clock_monotonic_ns(), until_ns;

	if (is_over(s, now_ns))
		return false;
	until_ns = earlier(s->upkept_ns + UPKEEP_NS, now_ns + timeout_ns);
	if (s->unwinding)
		until_ns = earlier(until_ns, unwinding__step(s->unwinding, now_ns));
	if (s->census)
		until_ns = earlier(until_ns, census__step(s->census, now_ns));
	wait_for_work(s, earlier(earlier(until_ns, s->end_ns), s->retry_ns));
	if (s->mappings)
		perf_mappings__take(s->mappings);
	sampler__drain(s->sampler, clock_monotonic_ns() + TURN_NS);
	now_ns = clock_monotonic_ns();
	if (s->mappings)
		perf_mappings__note_begins(s->mappings, now_ns);
	s->retry_ns = processes__retry(s->processes, now_ns);
	if (s->residence && now_ns >= residence__due(s->residence)) {
		session_take_in(s);
		residence__look(s->residence);
	}
	if (now_ns - s->named_ns >= NAMES_NS && !s->starving) {
		late_names__resolve(
			native_part__late_names(collector__parts(s->collector)->nodes.natives),
			now_ns + NAMES_TURN_NS);
		s->named_ns = clock_monotonic_ns();
	}
	if (now_ns - s->upkept_ns >= UPKEEP_NS) {
		s->upkept_ns = now_ns;
		if (!s->starving)
			catch_up(s);
		if (s->events_dropped && !s->config->all)
			processes__note_ended(s->processes);
		sampler__follow_cpus(s->sampler);
		read_clocks(s, now_ns);
		if (s->config->says_costs)
			walk_costs_look(&s->walk_costs, s->processes, s->sampler,
					&s->config->sampler);
		if (s->mappings)
			perf_mappings__follow_cpus(s->mappings);
		known_files__release_idle(sampler__parts(s->sampler)->known_files, now_ns);
		owner_books_release(sampler__parts(s->sampler)->books, holds, s);
	}
	return true;
}

void session__watch(struct session *s, int fd)
{
	s->watched_fd = fd;
}

void session__container(struct session *s, pid_t pid, char *buf, size_t size)
{
	struct process *p = processes__find(s->processes, pid);
	const struct context *context = p ? process_context(p) : NULL;

	*buf = '\0';
	if (context && context->container.id[0])
		container_label(buf, size, &context->container);
}

__u64 session__start_ticks(struct session *s, pid_t pid)
{
	const struct process *p = processes__find(s->processes, pid);

	return pid_starts_only(&s->ended, pid, p ? p->start_ns : 0) / KRAIT_NS_PER_TICK;
}

void session__read_sources(struct session *s)
{
	if (s->places)
		native_places__resolve(s->places, session__profile(s));
}

int session__end_inputs(struct session *s)
{
	return s->inputs ? input_writer__end(s->inputs) : 0;
}

void session__set_detail(struct session *s, __u64 frequency, __u32 frames_max, bool natives,
			 __u64 wait_ns)
{
	sampler__set_rate(s->sampler, frequency);
	sampler__set_detail(s->sampler, frames_max, natives, wait_ns);
}

void session__spare(struct session *s, unsigned steps)
{
	processes__spare(s->processes, steps);
}

void session__starve(struct session *s, bool on)
{
	s->starving = on;
	processes__starve(s->processes, on);
	if (s->unwinding)
		unwinding__starve(s->unwinding, on);
	if (s->native_files)
		native_files__starve(s->native_files, on);
}

void session__bound_owner(struct session *s, unsigned owner, bool closed, __u32 frames_max)
{
	processes__names(s->processes, owner)->closed = closed;
	sampler__bound_owner(s->sampler, owner, closed, frames_max);
}

void session__rest(struct session *s, __u64 idle_ns)
{
	if (s->native_files)
		symbol_reader__rest(native_files__reader(s->native_files), idle_ns);
}

__u64 session__look_delay_ns(const struct session *s)
{
	return processes__look_delay_ns(s->processes);
}

void session__end(struct session *s)
{
	s->unwanted = true;
}

int session__open(struct session *s, struct error *err)
{
	int result = follow_targets(s, err);

	descriptors__release(s->descriptors);
	if (!result)
		result = sampler__start(s->sampler, err);
	if (s->unwinding)
		unwinding__started(s->unwinding);
	end_starting(s);
	if (result)
		return result;
	s->started_ns = s->upkept_ns = clock_monotonic_ns();
	read_clocks(s, s->started_ns);
	if (s->config->duration_ns) {
		s->end_ns = s->started_ns + s->config->duration_ns;
		sampler__end_at(s->sampler, s->end_ns);
	}
	if (s->child)
		result = child__go(s->child, err);
	if (result)
		session_finish(s);
	return result;
}
