/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_events.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/arguments.h"
#include "cmd/record/record_probes.h"
#include "base/system/event_tracepoint.h"
#include "base/text/nearest.h"
#include "base/worker/own.h"
#include "base/text/units.h"

/*
 * A process or a command can be sampled densely; a whole machine only sparsely, as it runs for
 * long.
 */
#define DEFAULT_HZ 997
#define DEFAULT_HZ_ALL 99
/* Limit on counting suspended tasks. */
#define TASKS_MAX_HZ 10

static void refuse_event(const char *text, size_t len, struct argp_state *state)
{
	char name[32] = "", best[64] = "";
	const char *listed;
	struct nearest n;

	memcpy(name, text, len < sizeof(name) ? len : 0);
	nearest_begin(&n, name);
	/* Those of caches share a buffer. */
	for (unsigned i = 0, distance = n.distance; (listed = event_listed(i));
	     i++, distance = n.distance) {
		nearest_try(&n, listed);
		if (n.distance < distance)
			snprintf(best, sizeof(best), "%s", listed);
	}
	arguments_refuse(state,
			 "no event \"%.*s\"; %s%s%sperf list hw sw cache shows what there is",
			 (int)len, text, *best ? "did you mean " : "", best, *best ? "? " : "");
}

/* The events from first on are a group. text: behind its brace. Returns what follows. */
static const char *end_group(struct record_options *o, unsigned first, const char *text,
			     struct argp_state *state)
{
	const size_t len = strcspn(text, ",");
	const bool reads = len == 2 && !strncmp(text, ":S", 2);

	if (len && !reads)
		arguments_refuse(
			state,
			"\"%.*s\" behind a group: :S is all that can be there; :u and :k belong behind each event",
			(int)len, text);
	for (unsigned i = first; i < o->event_cnt; i++) {
		struct event_spec *e = &o->events[i];

		if (event_is_probe(e))
			arguments_refuse(
				state,
				"a group has events that the kernel counts, not tracepoints and probes such as %s",
				e->name);
		if (reads && e->package_wide)
			arguments_refuse(
				state,
				"%s is counted for many CPUs together, and cannot be read on each: perf stat -e %s",
				e->name, e->name);
		if (i == first)
			continue;
		if (reads && event_is_clock(e))
			arguments_refuse(
				state,
				"a clock leads a group that is read at its samples, {%s,...}:S, or is not in it",
				e->name);
		e->leader = first + 1;
		e->is_read = reads;
	}
	return text + len;
}

void record_events_add(struct record_options *o, const char *text, struct argp_state *state)
{
	int depth = 0, group = -1;
	char why[512];

	for (;;) {
		bool is_probe;
		size_t len = 0;
		int err = 0;

		if (*text == '{' && group < 0) {
			group = (int)o->event_cnt;
			text++;
		}
		is_probe = record_probes_is(text);
		/* A comma within "cpu/event=0x3c,umask=1/" is no separator. */
		for (;
		     text[len] && ((text[len] != ',' && (text[len] != '}' || group < 0)) || depth);
		     len++)
			depth ^= text[len] == '/' && !is_probe;
		if (o->event_cnt == KRAIT_MAX_EVENTS)
			arguments_refuse(state, "too many events: at most %d", KRAIT_MAX_EVENTS);
		if (is_probe)
			record_probes_add(&o->events[o->event_cnt++], text, len, state);
		else
			err = event_parse(&o->events[o->event_cnt++], text, len, why, sizeof(why));
		if (err && *why)
			arguments_refuse(state, "%s", why);
		if (err)
			refuse_event(text, len, state);
		text += len;
		if (*text == '}') {
			text = end_group(o, (unsigned)group, text + 1, state);
			group = -1;
		}
		if (!*text && group >= 0)
			arguments_refuse(state, "the group of events has no end: {a,b}");
		if (!*text++)
			return;
	}
}

void record_events_period(struct record_options *o, const char *text, struct argp_state *state)
{
	if (parse_rate(text, &o->period) || !o->period)
		arguments_refuse(
			state, "a period is a number of events, such as 1, 1000 or 10k, not \"%s\"",
			text);
}

void record_events_filter(struct record_options *o, const char *text, struct argp_state *state)
{
	struct event_spec *e = o->event_cnt ? &o->events[o->event_cnt - 1] : NULL;
	char why[640];

	if (!e || !event_is_probe(e) || e->code)
		arguments_refuse(
			state,
			"--filter follows the tracepoint that it is for: -e sched:sched_process_exec --filter 'pid > 100'");
	if (event_tracepoint_check(e, text, why, sizeof(why)))
		arguments_refuse(state, "--filter of %s", why);
	e->filter = text;
}

void record_events_tasks(struct record_options *o, const char *text, struct argp_state *state)
{
	double rate = 1;
	char *end;

	if (text) {
		rate = strtod(text, &end);
		if (*end || end == text || !(rate >= 0.01 && rate <= TASKS_MAX_HZ))
			arguments_refuse(
				state, "--tasks takes a rate from 0.01 to %d a second, not \"%s\"",
				TASKS_MAX_HZ, text);
	}
	o->tasks_ns = (__u64)(1e9 / rate);
}

/* Adds the event after all others. */
static void add_tasks(struct record_options *o, struct argp_state *state)
{
	if (!o->tasks_ns)
		return;
	if (o->inputs)
		arguments_refuse(
			state,
			"--log-inputs cannot be combined with --tasks: it would not log what --tasks reads");
	if (o->event_cnt == KRAIT_MAX_EVENTS)
		arguments_refuse(state, "--tasks adds an event, and there can be %d at most",
				 KRAIT_MAX_EVENTS);
	event_tasks(&o->events[o->event_cnt++]);
}

/* Before all others: what one event is shown of shows the memory. */
static void add_memory(struct record_options *o, bool given, struct argp_state *state)
{
	if (!o->memory)
		return;
	if (o->inputs || own_is())
		arguments_refuse(state, "--memory looks at pages, which %s",
				 o->inputs ? "--log-inputs would not log" : "needs root");
	if (o->states || o->holds_gil || !thread_filter_is_empty(&o->thread))
		arguments_refuse(
			state,
			"--memory is about whole processes: not with --thread, --state and --gil");
	if (o->off_cpu && !given)
		arguments_refuse(
			state,
			"--memory records no clock of its own: add -e cpu-clock to see time, too");
	if (o->event_cnt + 2 > KRAIT_MAX_EVENTS)
		arguments_refuse(state, "--memory adds two events, and there can be %d at most",
				 KRAIT_MAX_EVENTS);
	memmove(&o->events[2], &o->events[0], o->event_cnt * sizeof(o->events[0]));
	for (unsigned i = 2; i < o->event_cnt + 2; i++)
		o->events[i].leader += o->events[i].leader ? 2 : 0;
	event_resident(&o->events[0]);
	event_touched(&o->events[1]);
	o->event_cnt += 2;
}

static void add_off_cpu(struct record_options *o, bool clocks, struct argp_state *state)
{
	if (o->wall && !clocks)
		arguments_refuse(
			state,
			"--wall adds time off the CPU to the time of a clock: add cpu-clock or task-clock to the events");
	if (o->event_cnt == KRAIT_MAX_EVENTS)
		arguments_refuse(state, "--off-cpu adds an event, and there can be %d at most",
				 KRAIT_MAX_EVENTS);
	event_off_cpu(&o->events[o->event_cnt], o->off_cpu_ns);
	o->events[o->event_cnt++].joined = o->wall;
}

static void check_event(const struct record_options *o, unsigned index, struct argp_state *state)
{
	const struct event_spec *e = &o->events[index];

	for (unsigned i = 0; i < index; i++) {
		if (!strcmp(o->events[i].name, e->name))
			arguments_refuse(state, "event %s is given twice", e->name);
	}
	if (event_is_clock(e) && e->period && e->period < EVENT_CLOCK_MIN_NS)
		arguments_refuse(state,
				 "-c %llu is too small: %s counts nanoseconds; use at least %d",
				 e->period, e->name, EVENT_CLOCK_MIN_NS);
}

void record_events_settle(struct record_options *o, struct argp_state *state)
{
	bool clocks = false, others = false, rated = o->memory, given = o->event_cnt;

	if (!o->event_cnt && !o->memory)
		event_default(&o->events[o->event_cnt++]);
	for (unsigned i = 0; i < o->event_cnt; i++) {
		rated = rated || !event_is_probe(&o->events[i]);
		clocks = clocks || event_is_clock(&o->events[i]);
		others = others || !(event_is_clock(&o->events[i]) || o->events[i].is_read);
	}
	if (o->period && o->frequency && !(clocks && others))
		arguments_refuse(
			state,
			"-F sets the rate of clocks and -c the period of other events: give both only if you record both kinds");
	if (!rated && o->frequency)
		arguments_refuse(
			state,
			"tracepoints and probes have no rate: -c N takes every Nth time that a thread comes by");
	if (rated && !o->frequency && (!o->period || (clocks && others)))
		o->frequency = o->all ? DEFAULT_HZ_ALL : DEFAULT_HZ;
	for (unsigned i = 0; i < o->event_cnt; i++) {
		struct event_spec *e = &o->events[i];

		if (e->is_read)
			e->period = 1;
		else if (event_is_probe(e))
			e->period = o->period ? o->period : 1;
		else if (o->period && (!event_is_clock(e) || !others))
			e->period = o->period;
		else
			e->frequency = o->frequency;
		check_event(o, i, state);
	}
	if (o->jitter && (others || o->period))
		arguments_refuse(
			state,
			"--jitter varies the rate of clocks: use it with -F, and record no other events");
	add_memory(o, given, state);
	for (unsigned i = 0; i < o->event_cnt; i++)
		/* One walk is the sample of several events, each of which would end at the anchor of the one before. */
		if (o->events[i].is_read)
			o->anchors = ANCHOR_MODE_OFF;
	if (o->budget_permille && (others || o->event_cnt > 1))
		arguments_refuse(state,
				 "--budget is a part of a clock's time: record no other events");
	if (o->off_cpu)
		add_off_cpu(o, clocks, state);
	add_tasks(o, state);
}
