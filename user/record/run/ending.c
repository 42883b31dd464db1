/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ending.c - ends a recording: takes in all that is left, closes the books, and ends the command.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "base/system/clock.h"
#include "base/text/log.h"
#include "kernel/sampler/queue.h"
#include "kernel/sampler/reader.h"
#include "record/anchors/anchor_thread.h"
#include "record/follow/processes.h"
#include "record/run/child.h"
#include "record/run/parts.h"
#include "record/run/signals.h"
#include "record/samples/collector.h"
#include "record/samples/kept_sources.h"
#include "record/samples/late_names.h"
#include "record/samples/residence.h"

/* ---- last symbols ----------------------------------------------------------------------------- */

/*
 * At the end of a recording, waits for symbols that debuginfod servers have yet to
 * send (late_names.h).
 *
 * Must hold: waits no longer than ten seconds, nor beyond the next signal. Afterwards no server is
 * asked.
 */

#define END_NS (10 * NS_PER_SEC)
#define STEP_MS 10
/* Time for asking for names between two looks. */
#define TURN_NAMES_NS (20 * 1000000ULL)

/* Returns the number of files still missing. */
static unsigned await(struct late_names *names, struct signals *signals, __u64 end_ns)
{
	struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
	unsigned left = late_names__fetching(names);
	bool ignored;

	while (left && clock_monotonic_ns() < end_ns) {
		if (poll(&fd, 1, STEP_MS) > 0 && signals_take(signals, &ignored))
			break;
		late_names__resolve(names, clock_monotonic_ns() + TURN_NAMES_NS);
		left = late_names__fetching(names);
	}
	return left;
}

static void last_symbols_await(struct late_names *names, struct signals *signals)
{
	__u64 end_ns = clock_monotonic_ns() + END_NS;
	unsigned left;

	/* Request the names of what was met last. */
	late_names__resolve(names, end_ns);
	left = late_names__fetching(names);
	if (left)
		log_info(NULL, "waiting for symbols of %u file%s from debuginfod servers", left,
			 left == 1 ? "" : "s");
	left = await(names, signals, end_ns);
	if (left)
		log_warn(NULL,
			 "debuginfod servers have not sent the symbols of %u file%s in time: "
			 "'krait report' of a capture asks again",
			 left, left == 1 ? "" : "s");
	late_names__stop_fetching(names);
}

/* ---- ending ----------------------------------------------------------------------------------- */

/* How long the command has to end after Ctrl-C or our own signal. */
#define CHILD_GRACE_MS 2000
/* The ring's reader wakes us once it has moved the last records. */
#define DRAIN_REST_MS 100
/* At the end, before open waits are read: how long records may keep krait, and between two looks. */
#define TAKE_IN_NS NS_PER_SEC
#define TAKE_IN_REST_MS 2
/* How long to wait for the last names of threads: a prober reads some thousand a second. */
#define THREAD_NAMES_MS 200
/* How long to wait for the last source lines. */
#define SOURCES_MS 200
/* How long to ask for native names that no sample waits for (late_names.h). */
#define NAMES_NS (10 * NS_PER_SEC)

static void drain_rest(struct session *s)
{
	struct pollfd fd = { .fd = queue__fd(sampler__parts(s->sampler)->queue, CURSOR_MAIN),
			     .events = POLLIN };

	while (!queue__is_over(sampler__parts(s->sampler)->queue, CURSOR_MAIN)) {
		if (queue__arm(sampler__parts(s->sampler)->queue, CURSOR_MAIN))
			poll(&fd, 1, DRAIN_REST_MS);
		queue__disarm(sampler__parts(s->sampler)->queue, CURSOR_MAIN);
		sampler__drain(s->sampler, ~0ULL);
	}
}

void session_take_in(struct session *s)
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
		session_take_in(s);
		s->open_waits =
			session_take_open_waits(s, i, config->events[i].period, s->stopped_ns);
	}
}

void session_finish(struct session *s)
{
	struct profile *p = collector__parts(s->collector)->profile;
	__u64 dropped;

	s->stopped_ns = clock_monotonic_ns();
	if (s->end_ns && s->end_ns < s->stopped_ns)
		s->stopped_ns = s->end_ns;
	sampler__read_clocks(s->sampler);
	sampler__end(s->sampler);
	take_open_waits(s);
	sampler__stop(s->sampler);
	drain_rest(s);
	if (s->residence) {
		residence__look(s->residence);
		residence__report(s->residence);
	}
	if (s->anchors)
		anchor_thread__finish(s->anchors);
	if (sampler__counter(s->sampler, COUNTER_EVENTS_DROPPED, &dropped) ||
	    sampler__counter(s->sampler, COUNTER_THREAD_STEPS, &s->thread_steps) ||
	    sampler__counter(s->sampler, COUNTER_CODE_REPLACED, &s->codes_replaced) ||
	    sampler__counter(s->sampler, COUNTER_NOT_OWN, &s->not_own) ||
	    sampler__counter(s->sampler, COUNTER_WAITS_REFUSED, &s->waits_refused) ||
	    sampler__counter(s->sampler, COUNTER_WAITS_MISSED_NS, &s->waits_missed_ns) ||
	    sampler__switches_cost(s->sampler, &s->switches_cost))
		return;
	if (!s->unwanted)
		processes__finish_names(s->processes, THREAD_NAMES_MS);
	if (!s->unwanted && s->sources)
		kept_sources__finish(s->sources, SOURCES_MS);
	if (!s->unwanted)
		last_symbols_await(
			native_part__late_names(collector__parts(s->collector)->nodes.natives),
			&s->signals);
	late_names__resolve(native_part__late_names(collector__parts(s->collector)->nodes.natives),
			    clock_monotonic_ns() + NAMES_NS);
	processes__close_books(s->processes);
	for (unsigned i = 0; i < p->event_cnt; i++) {
		struct counts *c = profile__counts(p, i);
		struct accounts *a = &c->accounts;
		struct event_counts counts;

		c->from_ns = s->started_ns;
		c->to_ns = s->started_ns + session_length_ns(s);
		if (sampler__event_counts(s->sampler, i, &counts))
			return;
		a->interrupts = counts.interrupts - a->unwanted +
				collector__parts(s->collector)->counting.parts[i];
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

void session__close(struct session *s)
{
	/* The command got the signal, too, and will return its exit code. */
	if (s->from_terminal && s->child)
		child__ended(s->child, CHILD_GRACE_MS);
	session_finish(s);
	stop_child(s);
}
