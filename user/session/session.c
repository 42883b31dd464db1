/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "follow/processes.h"
#include "follow/targets.h"
#include "proc/space.h"
#include "sampler/known_files.h"
#include "sampler/mmap_events.h"
#include "session/anchor_thread.h"
#include "session/child.h"
#include "session/descriptors.h"
#include "session/label.h"
#include "replay/input_writer.h"
#include "session/open_waits.h"
#include "session/last_symbols.h"
#include "session/native_places.h"
#include "session/parts.h"
#include "session/starting.h"
#include "session/unwinding.h"
#include "symbol/native_files.h"
#include "target/context.h"
#include "target/prober.h"
#include "util/clock.h"
#include "util/log.h"

/* Descriptors that a step waits for, besides probers. */
#define OWN_FDS 5
/* Longest step, however many records wait. */
#define TURN_NS (50 * 1000000ULL)
/* How often to check whether process events were lost, or CPUs have come online. */
#define UPKEEP_NS (250 * 1000000ULL)
/*
 * For native names that no sample waits for (late_names.h): how often to ask, for how long at a
 * time, and for how long at the end.
 */
#define NAMES_NS (100 * 1000000ULL)
#define NAMES_TURN_NS (20 * 1000000ULL)
#define NAMES_END_NS (10 * NS_PER_SEC)
/*
 * Between two looks at what was mapped: the shortest pause, and the longest while none of it
 * belongs to our processes. A process that has just started maps libraries, and is sampled in them
 * at once.
 */
#define MMAP_PAUSE_NS 1000000ULL
#define MMAP_PAUSE_RARE_NS 100000000ULL
#define MMAP_BEGIN_NS 200000000ULL
/* How long the command has to end after Ctrl-C or our own signal. */
#define CHILD_GRACE_MS 2000
/* The ring's reader wakes us once it has moved the last records. */
#define DRAIN_REST_MS 100
/* At the end, before open waits are read: how long records may keep krait, and between two looks. */
#define TAKE_IN_NS NS_PER_SEC
#define TAKE_IN_REST_MS 2

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
	if (targets_follow(s->processes, s->config->pids, s->config->pid_cnt, s->signals.fd, err))
		return -1;
	targets_follow_children(s->processes, s->config->pids, s->config->pid_cnt);
	/* A target's first sample should already know what its tasks await. */
	if (s->config->pid_cnt)
		processes__await_tables(s->processes, TABLES_WAIT_MS);
	/* The child is still krait itself, so not Python; but it must be followed. */
	if (s->child)
		processes__follow(s->processes, child__pid(s->child), &why);
	return 0;
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

static __u64 earlier(__u64 a, __u64 b)
{
	return b && b < a ? b : a;
}

static void take_signal(struct session *s)
{
	int signal = signals_take(&s->signals, &s->from_terminal);

	if (signal == SIGHUP && s->config->on_hangup) {
		s->config->on_hangup(s->config->on_hangup_ctx);
		return;
	}
	s->signalled = true;
	s->signal = signal;
}

/* Sleeps until something happens or until_ns; records that already wait count as something. */
static void wait_for_work(struct session *s, __u64 until_ns)
{
	__u64 now_ns = clock_monotonic_ns();
	struct pollfd fds[OWN_FDS + PROBERS_MAX] = {
		{ .fd = sampler__fd(s->sampler), .events = POLLIN },
		{ .fd = s->signals.fd, .events = POLLIN },
		{ .fd = s->watched_fd, .events = POLLIN },
		{ .fd = s->child ? child__fd(s->child) : -1, .events = POLLIN },
		{ .fd = s->unwinding && s->mmap_events && now_ns >= s->mmap_ns ?
				mmap_events__fd(s->mmap_events) :
				-1,
		  .events = POLLIN },
	};
	unsigned cnt = OWN_FDS + prober__poll(s->prober, fds + OWN_FDS);
	struct timespec timeout = { 0 };

	if (now_ns < s->mmap_ns)
		until_ns = earlier(until_ns, s->mmap_ns);

	if (sampler__arm(s->sampler) && until_ns > now_ns) {
		timeout.tv_sec = (until_ns - now_ns) / NS_PER_SEC;
		timeout.tv_nsec = (until_ns - now_ns) % NS_PER_SEC;
	}
	if (ppoll(fds, cnt, &timeout, NULL) > 0 && fds[1].revents) {
		take_signal(s);
	}
	sampler__disarm(s->sampler);
}

static void on_mapped(void *ctx, pid_t pid)
{
	struct session *s = ctx;
	struct process *p;

	/* Lost mappings show in the samples, as far as the unwinder needs them. */
	p = pid && s->unwinding ? processes__find_mapped(s->processes, pid) : NULL;
	processes__mapped(s->processes, pid);
	if (!p || !p->space)
		return;
	s->mapped_cnt++;
	if (processes__spares(s->processes) && TAILQ_EMPTY(&p->threads)) {
		space__outdate(p->space); /* its first sample triggers reading it */
		return;
	}
	s->mmap_pause_ns = 0;
	unwinding__mapped(s->unwinding, p, clock_monotonic_ns());
}

static __u64 longest_pause(const struct session *s, __u64 now_ns)
{
	if (processes__spares(s->processes))
		return MMAP_PAUSE_RARE_NS;
	return now_ns < s->mmap_begun_ns + MMAP_BEGIN_NS ? MMAP_PAUSE_NS : MMAP_PAUSE_RARE_NS;
}

/*
 * For all processes of the machine: mappings of foreign ones should not wake us all the time. Only
 * the unwinder is in a hurry; for the rest it is enough that mappings are known before the samples
 * that come after them.
 */
static void take_mappings(struct session *s)
{
	__u64 pause_ns = s->mmap_pause_ns, now_ns, longest_ns;

	if (!s->mmap_events || !mmap_events__read(s->mmap_events, on_mapped, s) || !s->unwinding)
		return;
	now_ns = clock_monotonic_ns();
	longest_ns = longest_pause(s, now_ns);
	s->mmap_pause_ns = pause_ns && s->mmap_pause_ns ? 2 * pause_ns : MMAP_PAUSE_NS;
	if (s->mmap_pause_ns > longest_ns || processes__spares(s->processes))
		s->mmap_pause_ns = longest_ns;
	s->mmap_ns = now_ns + s->mmap_pause_ns;
}

static void note_begins(struct session *s, __u64 now_ns)
{
	unsigned cnt = processes__seen_cnt(s->processes);

	if (cnt == s->mmap_seen_cnt)
		return;
	s->mmap_seen_cnt = cnt;
	if (processes__spares(s->processes))
		return;
	s->mmap_begun_ns = now_ns;
	s->mmap_pause_ns = s->mmap_ns = 0;
}

static bool is_over(struct session *s, __u64 now_ns)
{
	if (s->unwanted || s->signalled || (s->end_ns && now_ns >= s->end_ns))
		return true;
	if (s->child)
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
	take_mappings(s);
	sampler__drain(s->sampler, clock_monotonic_ns() + TURN_NS);
	now_ns = clock_monotonic_ns();
	note_begins(s, now_ns);
	s->retry_ns = processes__retry(s->processes, now_ns);
	if (now_ns - s->named_ns >= NAMES_NS && !s->starving) {
		collector__name(s->collector, now_ns + NAMES_TURN_NS);
		s->named_ns = clock_monotonic_ns();
	}
	if (now_ns - s->upkept_ns >= UPKEEP_NS) {
		s->upkept_ns = now_ns;
		if (!s->starving)
			catch_up(s);
		sampler__follow_cpus(s->sampler);
		if (s->mmap_events)
			mmap_events__follow_cpus(s->mmap_events);
		known_files__release_idle(sampler__known_files(s->sampler), now_ns);
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

static void drain_rest(struct session *s)
{
	struct pollfd fd = { .fd = sampler__fd(s->sampler), .events = POLLIN };

	while (!sampler__is_drained(s->sampler)) {
		if (sampler__arm(s->sampler))
			poll(&fd, 1, DRAIN_REST_MS);
		sampler__disarm(s->sampler);
		sampler__drain(s->sampler, ~0ULL);
	}
}

/* Takes in all records that are in the ring now, unless they keep coming. */
static void take_in(struct session *s)
{
	__u64 until_ns = clock_monotonic_ns() + TAKE_IN_NS;
	bool has_moved;

	sampler__move(s->sampler);
	do {
		has_moved = sampler__has_moved(s->sampler);
		sampler__drain(s->sampler, until_ns);
		if (!has_moved)
			poll(NULL, 0, TAKE_IN_REST_MS);
	} while (!has_moved && clock_monotonic_ns() < until_ns);
}

/*
 * Takes the waits that last beyond the end, before the kernel side stops: it takes those of threads
 * that come back meanwhile.
 */
static void take_open_waits(struct session *s)
{
	const struct sampler_config *config = &s->config->sampler;

	for (unsigned i = 0; i < config->event_cnt; i++) {
		if (!event_is_off_cpu(&config->events[i]))
			continue;
		take_in(s);
		s->open_waits = open_waits_collect(s->collector, s->processes, s->sampler,
						   s->unwinding, i, config->events[i].period,
						   s->stopped_ns);
	}
}

/* No more interrupts come: takes in what is left and closes the books. */
static void finish(struct session *s)
{
	struct profile *p = collector__profile(s->collector);
	__u64 dropped;

	s->stopped_ns = earlier(clock_monotonic_ns(), s->end_ns);
	sampler__end(s->sampler);
	take_open_waits(s);
	sampler__stop(s->sampler);
	drain_rest(s);
	if (s->anchors)
		anchor_thread__finish(s->anchors);
	if (sampler__counter(s->sampler, COUNTER_EVENTS_DROPPED, &dropped) ||
	    sampler__counter(s->sampler, COUNTER_THREAD_STEPS, &s->thread_steps) ||
	    sampler__counter(s->sampler, COUNTER_WAITS_REFUSED, &s->waits_refused) ||
	    sampler__counter(s->sampler, COUNTER_WAITS_MISSED_NS, &s->waits_missed_ns) ||
	    sampler__switches_cost(s->sampler, &s->switches_cost))
		return;
	if (!s->unwanted)
		last_symbols_await(s->collector, &s->signals);
	collector__name(s->collector, clock_monotonic_ns() + NAMES_END_NS);
	processes__close_books(s->processes);
	for (unsigned i = 0; i < p->event_cnt; i++) {
		struct counts *c = profile__counts(p, i);
		struct accounts *a = &c->accounts;
		struct event_counts counts;

		c->from_ns = s->started_ns;
		c->to_ns = s->stopped_ns;
		if (sampler__event_counts(s->sampler, i, &counts))
			return;
		a->interrupts = counts.interrupts - a->unwanted + collector__parts(s->collector, i);
		if (event_is_off_cpu(&c->event))
			a->interrupts += s->open_waits;
		if (event_is_tasks(&c->event) && s->census)
			a->interrupts += census__stats(s->census)->samples;
		a->reasons[REASON_RING_FULL] += counts.ring_full;
		a->reasons[REASON_NESTED] += counts.nested;
		/* This concerns processes, not perf events, so it goes into all accounts. */
		a->events_dropped = dropped;
		session_note_ticks(s, i, a);
	}
}

/*
 * Ends the command that we launched to record it, so that it is not left behind. If the profile
 * cannot be written, that is no reason to end somebody's work.
 */
static void stop_child(struct session *s)
{
	if (!s->child || child__ended(s->child, 0))
		return;
	if (!s->unwanted && !s->from_terminal) {
		s->stopped_child = true;
		if (child__stop(s->child, s->signal ? s->signal : SIGTERM, CHILD_GRACE_MS))
			return;
	}
	log_warn(NULL, "%s goes on as process %d", s->config->command[0], child__pid(s->child));
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

void session__set_detail(struct session *s, __u64 frequency, __u32 frames_max, bool natives)
{
	sampler__set_rate(s->sampler, frequency);
	sampler__set_detail(s->sampler, frames_max, natives);
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

void session__rest(struct session *s, __u64 idle_ns)
{
	if (s->native_files)
		native_files__rest(s->native_files, idle_ns);
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
	if (s->config->duration_ns) {
		s->end_ns = s->started_ns + s->config->duration_ns;
		sampler__end_at(s->sampler, s->end_ns);
	}
	if (s->child)
		result = child__go(s->child, err);
	if (result)
		finish(s);
	return result;
}

void session__close(struct session *s)
{
	/* The command got the signal, too, and will return its exit code. */
	if (s->from_terminal && s->child)
		child__ended(s->child, CHILD_GRACE_MS);
	finish(s);
	stop_child(s);
}
