/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox.c - the Firefox Profiler's "processed" JSON, version 61, which all later versions of
 * profiler.firefox.com upgrade when they load it.
 *
 * All threads share the tables of firefox_tables.c. Times are milliseconds since the first sample.
 */
#include "emit/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "emit/timeline.h"
#include "emit/firefox_tables.h"
#include "profile/parts.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/stream.h"

#define PROCESSED_VERSION 61
#define GECKO_VERSION 32

struct writer {
	struct json json;
	const struct dict *dict;
	const struct counts *counts; /* of the event that is shown */
	const struct emit_options *options;
	struct firefox_tables tables;
};

/* ---- threads ---------------------------------------------------------------------------------- */

/* Where each sample stands for as many events as any other, its own number says nothing. */
static void put_weights(struct writer *w, const struct timeline_thread *t)
{
	struct json *j = &w->json;

	if (!w->counts->uneven) {
		json_put_null(j, "weight");
		return;
	}
	json_put_array(j, "weight");
	for (size_t i = 0; i < t->cnt; i++)
		json_number(j, (__s64)t->samples[i].weight);
	json_close_array(j);
}

static void put_samples(struct writer *w, const struct timeline_thread *t, __u64 zero_ns)
{
	struct json *j = &w->json;

	json_put_object(j, "samples");
	json_put_array(j, "stack");
	for (size_t i = 0; i < t->cnt; i++)
		firefox_put_index(
			j,
			w->tables.stack_of[parts_node(dict__parts(w->dict), t->samples[i].node)]);
	json_close_array(j);
	json_newline(j);
	json_put_array(j, "time");
	for (size_t i = 0; i < t->cnt; i++)
		json_ms(j, t->samples[i].time_ns - zero_ns);
	json_close_array(j);
	put_weights(w, t);
	json_put_string(j, "weightType", "samples");
	json_put_number(j, "length", (__s64)t->cnt);
	json_close_object(j);
}

static void put_thread(struct writer *w, const struct timeline_thread *t, __u64 zero_ns)
{
	static const char *const markers[] = { "data",	"name",	    "startTime", "endTime",
					       "phase", "category", NULL };
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
	firefox_put_empty(j, "markers", markers);
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

static void put_meta(struct writer *w, struct emitter *e)
{
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
	put_category(j, "Python", "yellow");
	put_category(j, "Other", "grey");
	json_close_array(j);
	json_put_array(j, "markerSchema");
	json_close_array(j);
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

static void put_all(struct writer *w, struct emitter *e, unsigned event)
{
	static const char *const empty[] = { "libs", "counters", "pages", "profilerOverhead" };
	struct json *j = &w->json;
	size_t cnt;
	struct timeline_thread *threads = timeline__threads(timeline_of(e), event, &cnt);

	json_open_object(j);
	put_meta(w, e);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		json_put_array(j, empty[i]);
		json_close_array(j);
	}
	firefox_tables_put(&w->tables, j);
	json_put_array(j, "threads");
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, &threads[i], timeline__first_ns(timeline_of(e)));
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

static int firefox_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = { .json = { .out = e->out },
			    .dict = p->dict,
			    .counts = profile__counts(p, event),
			    .options = e->options,
			    .tables = { .dict = p->dict } };
	int err = firefox_tables_build(&w.tables);

	if (!err) {
		put_all(&w, e, event);
		if (w.json.failed)
			err = -ENOMEM;
		else
			err = stream_finish(e->out);
	}
	firefox_tables_free(&w.tables);
	return err;
}

const struct emitter_ops firefox_emitter = {
	.name = "firefox",
	.suffixes = (const char *const[]){ ".firefox.json", NULL },
	.about = "for profiler.firefox.com",
	.open = timeline_emitter_open,
	.sample = timeline_emitter_sample,
	.finish = firefox_finish,
	.free = timeline_emitter_free,
};
