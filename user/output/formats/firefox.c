/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox.c - the Firefox Profiler's "processed" JSON, version 61, which all later versions of
 * profiler.firefox.com upgrade when they load it.
 *
 * All threads share the tables of firefox_tables.c. Times are milliseconds since the first sample.
 * Waits are also markers (firefox_markers.c), whichever event is shown.
 */
#include <errno.h>
#include <stdlib.h>

#include "output/formats.h"
#include "output/timeline.h"
#include "output/formats/firefox_tables.h"
#include "profile/parts.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/text/json.h"

/* ---- firefox markers -------------------------------------------------------------------------- */

/*
 * A thread's waits as interval markers of a Firefox profile: start, end,
 * reason, and the stack that waited.
 */

/* The profiler's MARKER_PHASE for an interval: start and end are known. */
#define PHASE_INTERVAL 1
#define TYPE "wait"

/* Returns what the thread waited for, if the leaf says so. */
static const char *what(const struct firefox_tables *t, const struct timeline_sample *s)
{
	__u32 node = parts_node(dict__parts(t->dict), s->node);
	const struct profile_frame *f =
		node ? dict__frame_at(t->dict, dict__node_at(t->dict, node)->frame) : NULL;

	return f && f->kind == FRAME_MARK ? dict__text(t->dict, f->name) :
					    state_name(state_of(s->state));
}

static void put_data(struct json *j, const struct firefox_tables *t,
		     const struct timeline_sample *s, __u64 zero_ns)
{
	json_open_object(j);
	json_put_string(j, "type", TYPE);
	json_put_string(j, "what", what(t, s));
	json_put_object(j, "cause");
	json_key(j, "time");
	json_ms(j, s->time_ns - zero_ns);
	json_key(j, "stack");
	firefox_put_index(j, t->stack_of[parts_node(dict__parts(t->dict), s->node)]);
	json_close_object(j);
	json_close_object(j);
	json_newline(j);
}

enum column { DATA, NAME, START, END, PHASE, CATEGORY };

static void put_cell(struct json *j, enum column column, const struct firefox_tables *t,
		     const struct timeline_sample *s, __u64 zero_ns)
{
	switch (column) {
	case DATA:
		put_data(j, t, s, zero_ns);
		break;
	case NAME:
		json_number(j, firefox_state_string(t, state_of(s->state)));
		break;
	case START:
		json_ms(j, s->from_ns - zero_ns);
		break;
	case END:
		json_ms(j, s->time_ns - zero_ns);
		break;
	case PHASE:
		json_number(j, PHASE_INTERVAL);
		break;
	case CATEGORY:
		json_number(j, state_of(s->state) < STATE_GIL ?
				       FIREFOX_OTHER :
				       firefox_wait_category(state_of(s->state)));
		break;
	}
}

/* Writes the "markers" member of a thread. */
static void firefox_put_markers(struct json *j, const struct firefox_tables *t,
				const struct timeline_thread *thread, __u64 zero_ns)
{
	static const char *const columns[] = {
		[DATA] = "data",   [NAME] = "name",   [START] = "startTime",
		[END] = "endTime", [PHASE] = "phase", [CATEGORY] = "category"
	};
	__s64 cnt = 0;

	json_put_object(j, "markers");
	for (unsigned c = DATA; c <= CATEGORY; c++) {
		cnt = 0;
		json_put_array(j, columns[c]);
		for (size_t i = 0; i < thread->cnt; i++) {
			if (!thread->samples[i].from_ns)
				continue;
			put_cell(j, (enum column)c, t, &thread->samples[i], zero_ns);
			cnt++;
		}
		json_close_array(j);
	}
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

/* Writes the member of "meta" that says how to show them. */
static void firefox_put_marker_schema(struct json *j)
{
	static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

	json_put_array(j, "markerSchema");
	json_open_object(j);
	json_put_string(j, "name", TYPE);
	json_put_string(j, "tooltipLabel", "{marker.name}: {marker.data.what}");
	json_put_string(j, "tableLabel", "{marker.data.what}");
	json_put_array(j, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		json_string(j, places[i]);
	json_close_array(j);
	json_put_array(j, "fields");
	json_open_object(j);
	json_put_string(j, "key", "what");
	json_put_string(j, "label", "waited for");
	json_put_string(j, "format", "string");
	json_close_object(j);
	json_close_array(j);
	json_close_object(j);
	json_close_array(j);
}

/* ---- firefox ---------------------------------------------------------------------------------- */

#define PROCESSED_VERSION 61
#define GECKO_VERSION 32

struct writer {
	struct json json;
	const struct dict *dict;
	const struct counts *counts; /* of the shown event */
	unsigned event; /* index of the shown event */
	const struct emit_options *options;
	struct firefox_tables tables;
};

/* ---- threads ---------------------------------------------------------------------------------- */

static bool is_shown(const struct writer *w, const struct timeline_sample *s)
{
	return s->event == w->event;
}

/*
 * If every sample stands for the same number of events, plain counts would say nothing. Times are
 * in milliseconds, a unit of weights that the profiler knows.
 */
static void put_weights(struct writer *w, const struct timeline_thread *t)
{
	const bool time = w->counts->uneven && event_is_time(&w->counts->event);
	struct json *j = &w->json;

	if (w->counts->uneven) {
		json_put_array(j, "weight");
		for (size_t i = 0; i < t->cnt; i++) {
			if (is_shown(w, &t->samples[i]) && time)
				json_ms(j, t->samples[i].weight);
			else if (is_shown(w, &t->samples[i]))
				json_number(j, (__s64)t->samples[i].weight);
		}
		json_close_array(j);
	} else {
		json_put_null(j, "weight");
	}
	json_put_string(j, "weightType", time ? "tracing-ms" : "samples");
}

static __u32 stack_of(const struct writer *w, const struct timeline_sample *s)
{
	return w->tables.stack_of[parts_node(dict__parts(w->dict), s->node)];
}

static void put_samples(struct writer *w, const struct timeline_thread *t, __u64 zero_ns)
{
	struct json *j = &w->json;
	__s64 cnt = 0;

	json_put_object(j, "samples");
	json_put_array(j, "stack");
	for (size_t i = 0; i < t->cnt; i++) {
		if (!is_shown(w, &t->samples[i]))
			continue;
		firefox_put_index(j, stack_of(w, &t->samples[i]));
		cnt++;
	}
	json_close_array(j);
	json_newline(j);
	json_put_array(j, "time");
	for (size_t i = 0; i < t->cnt; i++) {
		if (is_shown(w, &t->samples[i]))
			json_ms(j, t->samples[i].time_ns - zero_ns);
	}
	json_close_array(j);
	put_weights(w, t);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static void put_thread(struct writer *w, const struct timeline_thread *t, __u64 zero_ns)
{
	const char *process = t->cnt ? timeline_process_name(w->dict, t->samples[0].node) : "";
	struct json *j = &w->json;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", t->pid);
	json_newline(j);
	json_open_object(j);
	json_put_string(j, "processType", "default");
	json_put_string(j, "name", *t->name ? t->name : "thread");
	json_put_bool(j, "isMainThread", t->pid == t->tid);
	json_put_string(j, "pid", pid);
	json_put_number(j, "tid", t->tid);
	json_put_string(j, "processName", *process ? process : "python");
	json_put_number(j, "processStartupTime", 0);
	json_put_null(j, "processShutdownTime");
	json_put_number(j, "registerTime", 0);
	json_put_null(j, "unregisterTime");
	json_put_array(j, "pausedRanges");
	json_close_array(j);
	put_samples(w, t, zero_ns);
	firefox_put_markers(j, &w->tables, t, zero_ns);
	json_close_object(j);
}

static void put_category(struct json *j, const char *name, const char *color)
{
	json_open_object(j);
	json_put_string(j, "name", name);
	json_put_string(j, "color", color);
	json_put_array(j, "subcategories");
	json_string(j, "Other");
	json_close_array(j);
	json_close_object(j);
}

#define WAIT(state) FIREFOX_WAITS + STATE_##state - STATE_GIL

static void put_meta(struct writer *w, struct emitter *e)
{
	/* By category number. The profiler's graph leaves out transparent categories. */
	static const char *const categories[FIREFOX_CATEGORIES][2] = {
		[FIREFOX_PYTHON] = { "Python", "yellow" },
		[FIREFOX_OTHER] = { "Other", "grey" },
		[FIREFOX_NATIVE] = { "Native", "blue" },
		[FIREFOX_KERNEL] = { "Kernel", "orange" },
		[WAIT(GIL)] = { "Waits for the GIL", "red" },
		[WAIT(LOCK)] = { "Waits for a lock", "purple" },
		[WAIT(IO)] = { "Waits for I/O", "lightblue" },
		[WAIT(SLEEP)] = { "Sleeps", "transparent" },
		[WAIT(RUNNABLE)] = { "Waits for a CPU", "magenta" },
		[WAIT(FAULT)] = { "Page fault", "brown" },
		[WAIT(STOPPED)] = { "Stopped", "darkgrey" },
		[WAIT(WAITING)] = { "Waits", "green" },
		[WAIT(WORLD)] = { "Stopped by another thread", "lightred" },
		[WAIT(SECTION)] = { "Waits for an object", "purple" },
	};
	_Static_assert(STATE_CNT == STATE_SECTION + 1, "a category for each state");
	const struct recording *r = &w->options->recording;
	__s64 start = (__s64)timeline__first_ns(timeline_of(e)) + recording_wall_offset_ns(r);
	__u64 hz = r->frequency ? r->frequency : 1000;
	const struct event_spec *event = &w->counts->event;
	struct json *j = &w->json;

	json_put_object(j, "meta");
	json_key(j, "interval");
	json_ms(j, NS_PER_SEC / hz);
	json_put_number(j, "startTime", start / 1000000);
	json_put_number(j, "processType", 0);
	json_put_string(j, "product", event_is_clock(event) ? "krait" : event->name);
	json_put_number(j, "stackwalk", 1);
	json_put_number(j, "version", GECKO_VERSION);
	json_put_number(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_put_bool(j, "symbolicated", true);
	json_put_array(j, "categories");
	for (unsigned i = 0; i < FIREFOX_CATEGORIES; i++)
		put_category(j, categories[i][0], categories[i][1]);
	json_close_array(j);
	firefox_put_marker_schema(j);
	json_put_object(j, "sampleUnits");
	json_put_string(j, "time", "ms");
	json_put_string(j, "eventDelay", "ms");
	json_put_string(j, "threadCPUDelta", "µs");
	json_close_object(j);
	json_put_string(j, "oscpu", r->kernel ? r->kernel : "Linux");
	json_put_string(j, "importedFrom", "krait " KRAIT_VERSION);
	json_close_object(j);
	json_newline(j);
}

/* Tells whether a thread has shown samples or waits (all waits are shown). */
static bool has_any(const struct writer *w, const struct timeline_thread *t)
{
	for (size_t i = 0; i < t->cnt; i++) {
		if (is_shown(w, &t->samples[i]) || t->samples[i].from_ns)
			return true;
	}
	return false;
}

static void put_all(struct writer *w, struct emitter *e)
{
	static const char *const empty[] = { "libs", "counters", "pages", "profilerOverhead" };
	struct json *j = &w->json;
	size_t cnt;
	struct timeline_thread *threads =
		timeline__threads(timeline_of(e), w->dict, TIMELINE_ALL_EVENTS, &cnt);

	json_open_object(j);
	put_meta(w, e);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		json_put_array(j, empty[i]);
		json_close_array(j);
	}
	firefox_tables_put(&w->tables, j);
	json_put_array(j, "threads");
	for (size_t i = 0; i < cnt; i++) {
		if (has_any(w, &threads[i]))
			put_thread(w, &threads[i], timeline__first_ns(timeline_of(e)));
	}
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

static int firefox_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = { .json = { .out = e->out },
			    .dict = p->dict,
			    .counts = profile__counts(p, event),
			    .event = event,
			    .options = e->options,
			    .tables = { .profile = p, .dict = p->dict } };
	int err = firefox_tables_build(&w.tables);

	if (!err) {
		put_all(&w, e);
		err = json_finish(&w.json);
	}
	firefox_tables_free(&w.tables);
	return err;
}

const struct emitter_ops firefox_emitter = {
	.name = "firefox",
	.suffixes = (const char *const[]){ ".firefox.json", NULL },
	.about = "for profiler.firefox.com",
	.next = { "load it in profiler.firefox.com" },
	.open = timeline_emitter_open,
	.sample = timeline_emitter_sample,
	.finish = firefox_finish,
	.free = timeline_emitter_free,
};
