/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox.c - the Firefox Profiler's "processed" JSON, version 61, which all later versions of
 * profiler.firefox.com upgrade when they load it.
 *
 * All threads share the tables of stacks, frames, functions and sources; a stack is a node of the
 * profile's tree. Times are milliseconds since the first sample.
 */
#include "emit/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "emit/places.h"
#include "emit/timeline.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/json.h"

#define PROCESSED_VERSION 61
#define GECKO_VERSION 32

enum category { CATEGORY_PYTHON, CATEGORY_OTHER };

struct emitter {
	FILE *out;
	const struct emit_options *options;
	struct timeline *timeline;
};

struct writer {
	struct json json;
	const struct profile *profile;
	const struct emit_options *options;
	struct places lines, functions;
	__u32 *line_of; /* by profile frame: index into lines, PLACE_NONE for what is no code */
	__u32 *function_of; /* by index into lines */
	__u32 *stack_of; /* by node: index into the stack table, PLACE_NONE for none */
	struct places sources, names; /* of file and name strings; only their name counts */
	__u32 *source_of; /* by function */
};

static void firefox_free(struct emitter *e)
{
	timeline__free(e->timeline);
	free(e);
}

static int firefox_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->out = out;
	e->options = options;
	e->timeline = timeline__new();
	if (!e->timeline) {
		free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

static int firefox_sample(struct emitter *e, const struct profile *p,
			  const struct profile_sample *s)
{
	return timeline__add(e->timeline, s);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static __u32 add_string(struct places *x, __u32 string)
{
	const struct place place = { .name = string, .first_line = -1, .line = -1 };

	return places_add(x, &place);
}

static int number_places(struct writer *w)
{
	__u32 cnt = profile__frame_cnt(w->profile);

	w->line_of = calloc((size_t)cnt + 1, sizeof(*w->line_of));
	w->function_of = calloc((size_t)cnt + 1, sizeof(*w->function_of));
	w->source_of = calloc((size_t)cnt + 1, sizeof(*w->source_of));
	if (!w->line_of || !w->function_of || !w->source_of)
		return -ENOMEM;
	w->line_of[0] = PLACE_NONE;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_frame *f = profile__frame_at(w->profile, i);
		__u32 line, function, source;

		w->line_of[i] = PLACE_NONE;
		if (!is_code(f))
			continue;
		line = places_add_frame(&w->lines, f, true);
		function = places_add_frame(&w->functions, f, false);
		source = f->file ? add_string(&w->sources, f->file) : 0;
		if (line == PLACE_NONE || function == PLACE_NONE || source == PLACE_NONE ||
		    add_string(&w->names, f->name) == PLACE_NONE)
			return -ENOMEM;
		w->line_of[i] = line;
		w->function_of[line] = function;
		w->source_of[function] = f->file ? source : PLACE_NONE;
	}
	return 0;
}

static int number_stacks(struct writer *w)
{
	__u32 cnt = profile__node_cnt(w->profile), next = 0;

	w->stack_of = calloc((size_t)cnt + 1, sizeof(*w->stack_of));
	if (!w->stack_of)
		return -ENOMEM;
	w->stack_of[0] = PLACE_NONE;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_node *n = profile__node_at(w->profile, i);

		w->stack_of[i] = w->line_of[n->frame] == PLACE_NONE ? w->stack_of[n->parent] :
								      next++;
	}
	return 0;
}

static void index_or_null(struct json *j, __u32 index)
{
	if (index == PLACE_NONE)
		json_null(j);
	else
		json_number(j, index);
}

/* Columns of a table: "name": [value of 0, value of 1 …]. */
static void put_same(struct json *j, const char *key, __u32 cnt, int value)
{
	json_put_array(j, key);
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, value);
	json_close_array(j);
}

static void put_nulls(struct json *j, const char *key, __u32 cnt)
{
	json_put_array(j, key);
	for (__u32 i = 0; i < cnt; i++)
		json_null(j);
	json_close_array(j);
}

static void put_stack_table(struct writer *w)
{
	struct json *j = &w->json;
	__u32 nodes = profile__node_cnt(w->profile), cnt = 0;

	json_put_object(j, "stackTable");
	json_put_array(j, "frame");
	for (__u32 i = 1; i <= nodes; i++) {
		__u32 line = w->line_of[profile__node_at(w->profile, i)->frame];

		if (line == PLACE_NONE)
			continue;
		json_number(j, line);
		cnt++;
	}
	json_close_array(j);
	json_put_array(j, "prefix");
	for (__u32 i = 1; i <= nodes; i++) {
		const struct profile_node *n = profile__node_at(w->profile, i);

		if (w->line_of[n->frame] != PLACE_NONE)
			index_or_null(j, w->stack_of[n->parent]);
	}
	json_close_array(j);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static void put_frame_table(struct writer *w)
{
	struct json *j = &w->json;
	__u32 cnt = w->lines.cnt;

	json_put_object(j, "frameTable");
	put_same(j, "address", cnt, -1);
	put_same(j, "inlineDepth", cnt, 0);
	json_put_array(j, "category");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, w->lines.list[i].kind == FRAME_PYTHON ? CATEGORY_PYTHON :
								       CATEGORY_OTHER);
	json_close_array(j);
	put_same(j, "subcategory", cnt, 0);
	json_put_array(j, "func");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, w->function_of[i]);
	json_close_array(j);
	put_nulls(j, "nativeSymbol", cnt);
	put_nulls(j, "innerWindowID", cnt);
	json_put_array(j, "line");
	for (__u32 i = 0; i < cnt; i++)
		index_or_null(j, w->lines.list[i].line > 0 ? (__u32)w->lines.list[i].line :
							     PLACE_NONE);
	json_close_array(j);
	put_nulls(j, "column", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

/* Strings: the names, then the files. */
static void put_func_table(struct writer *w)
{
	struct json *j = &w->json;
	__u32 cnt = w->functions.cnt;

	json_put_object(j, "funcTable");
	json_put_array(j, "name");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, add_string(&w->names, w->functions.list[i].name));
	json_close_array(j);
	json_put_array(j, "isJS");
	for (__u32 i = 0; i < cnt; i++)
		json_bool(j, false);
	json_close_array(j);
	json_put_array(j, "relevantForJS");
	for (__u32 i = 0; i < cnt; i++)
		json_bool(j, w->functions.list[i].kind == FRAME_PYTHON);
	json_close_array(j);
	put_same(j, "resource", cnt, -1);
	json_put_array(j, "source");
	for (__u32 i = 0; i < cnt; i++)
		index_or_null(j, w->source_of[i]);
	json_close_array(j);
	json_put_array(j, "lineNumber");
	for (__u32 i = 0; i < cnt; i++) {
		int line = w->functions.list[i].first_line;

		index_or_null(j, line > 0 ? (__u32)line : PLACE_NONE);
	}
	json_close_array(j);
	put_nulls(j, "columnNumber", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static void put_sources(struct writer *w)
{
	struct json *j = &w->json;
	__u32 cnt = w->sources.cnt;

	json_put_object(j, "sources");
	put_nulls(j, "id", cnt);
	json_put_array(j, "filename");
	for (__u32 i = 0; i < cnt; i++)
		json_number(j, w->names.cnt + i);
	json_close_array(j);
	put_same(j, "startLine", cnt, 1);
	put_same(j, "startColumn", cnt, 1);
	put_nulls(j, "sourceMapURL", cnt);
	json_put_number(j, "length", cnt);
	json_close_object(j);
}

static void put_empty_table(struct json *j, const char *name, const char *const *columns)
{
	json_put_object(j, name);
	for (; *columns; columns++) {
		json_put_array(j, *columns);
		json_close_array(j);
	}
	json_put_number(j, "length", 0);
	json_close_object(j);
}

static void put_shared(struct writer *w)
{
	static const char *const resource[] = { "lib", "name", "host", "type", NULL };
	static const char *const native[] = { "libIndex", "address", "name", "functionSize", NULL };
	struct json *j = &w->json;

	json_put_object(j, "shared");
	put_stack_table(w);
	json_newline(j);
	put_frame_table(w);
	json_newline(j);
	put_func_table(w);
	json_newline(j);
	put_empty_table(j, "resourceTable", resource);
	put_empty_table(j, "nativeSymbols", native);
	put_sources(w);
	json_put_array(j, "stringArray");
	for (__u32 i = 0; i < w->names.cnt; i++) {
		json_newline(j);
		json_string(j, place_name(w->profile, &w->names.list[i]));
	}
	for (__u32 i = 0; i < w->sources.cnt; i++) {
		json_newline(j);
		json_string(j, profile__text(w->profile, w->sources.list[i].name));
	}
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* Where each sample stands for as many events as any other, its own number says nothing. */
static void put_weights(struct writer *w, const struct timeline_thread *t)
{
	struct json *j = &w->json;

	if (!profile__event_at(w->profile, profile__selected(w->profile))->uneven) {
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
		index_or_null(j, w->stack_of[t->samples[i].node]);
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
	const char *process = t->cnt ? timeline_process_name(w->profile, t->samples[0].node) : "";
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
	put_empty_table(j, "markers", markers);
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

static void put_meta(struct writer *w, const struct emitter *e)
{
	__s64 start =
		(__s64)timeline__first_ns(e->timeline) + timeline__wall_offset_ns(e->timeline);
	__u64 hz = w->options->frequency ? w->options->frequency : 1000;
	const struct profile_event *event =
		profile__event_at(w->profile, profile__selected(w->profile));
	struct json *j = &w->json;

	json_put_object(j, "meta");
	json_key(j, "interval");
	json_ms(j, NS_PER_SEC / hz);
	json_put_number(j, "startTime", start / 1000000);
	json_put_number(j, "processType", 0);
	json_put_string(j, "product", event_is_clock(&event->spec) ? "krait" : event->spec.name);
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
	json_put_string(j, "oscpu", w->options->kernel ? w->options->kernel : "Linux");
	json_put_string(j, "importedFrom", "krait " KRAIT_VERSION);
	json_close_object(j);
	json_newline(j);
}

static void put_all(struct writer *w, struct emitter *e)
{
	static const char *const empty[] = { "libs", "counters", "pages", "profilerOverhead" };
	struct json *j = &w->json;
	size_t cnt;
	struct timeline_thread *threads =
		timeline__threads(e->timeline, profile__selected(w->profile), &cnt);

	json_open_object(j);
	put_meta(w, e);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		json_put_array(j, empty[i]);
		json_close_array(j);
	}
	put_shared(w);
	json_put_array(j, "threads");
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, &threads[i], timeline__first_ns(e->timeline));
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

static int firefox_finish(struct emitter *e, const struct profile *p)
{
	struct writer w = { .json = { .out = e->out }, .profile = p, .options = e->options };
	int err = number_places(&w);

	if (!err)
		err = number_stacks(&w);
	if (!err) {
		put_all(&w, e);
		errno = 0;
		if (w.json.failed)
			err = -ENOMEM;
		else if (fflush(e->out) || ferror(e->out))
			err = errno ? -errno : -EIO;
	}
	places_free(&w.lines);
	places_free(&w.functions);
	places_free(&w.sources);
	places_free(&w.names);
	free(w.line_of);
	free(w.function_of);
	free(w.source_of);
	free(w.stack_of);
	return err;
}

const struct emitter_ops firefox_emitter = {
	.name = "firefox",
	.suffixes = (const char *const[]){ ".firefox.json", NULL },
	.streams = true,
	.open = firefox_open,
	.sample = firefox_sample,
	.finish = firefox_finish,
	.free = firefox_free,
};
