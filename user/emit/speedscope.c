/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope.c - speedscope's own JSON: a profile for each thread, samples in order of time.
 *
 * Equal stacks that follow one another are one sample of their summed weight: what the views show
 * is the same, and files are a fraction in size.
 */
#include "emit/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "emit/timeline.h"
#include "emit/places.h"
#include "profile/parts.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/stream.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
	struct json json;
	const struct dict *dict;
	const struct counts *counts; /* of the event that is shown */
	struct places places;
	__u32 *place_of; /* by frame of the dictionary; PLACE_NONE for what is no code */
	__u32 *path;
};

static void put_frames(struct writer *w)
{
	struct json *j = &w->json;

	json_put_object(j, "shared");
	json_put_array(j, "frames");
	for (__u32 i = 0; i < w->places.cnt; i++) {
		const struct place *place = &w->places.list[i];
		const char *file = dict__text(w->dict, place->file);
		int line = place->line > 0 ? place->line : place->first_line;

		json_newline(j);
		json_open_object(j);
		json_put_string(j, "name", place_name(w->dict, place));
		if (*file)
			json_put_string(j, "file", file);
		if (*file && line > 0)
			json_put_number(j, "line", line);
		json_close_object(j);
	}
	json_close_array(j);
	json_close_object(j);
}

/* Root first. */
static void put_stack(struct writer *w, __u32 node)
{
	__u32 cnt = 0;

	for (; node; node = dict__node_at(w->dict, node)->parent) {
		__u32 place = w->place_of[dict__node_at(w->dict, node)->frame];

		if (place != PLACE_NONE)
			w->path[cnt++] = place;
	}
	json_open_array(&w->json);
	while (cnt)
		json_number(&w->json, w->path[--cnt]);
	json_close_array(&w->json);
}

static void put_name(struct writer *w, const struct timeline_thread *t, bool several)
{
	char name[160];

	if (several)
		snprintf(name, sizeof(name), "Process %d Thread %d \"%s\"", t->pid, t->tid,
			 t->name);
	else
		snprintf(name, sizeof(name), "Thread %d \"%s\"", t->tid, t->name);
	json_put_string(&w->json, "name", name);
}

static void put_thread(struct writer *w, const struct timeline_thread *t, bool several)
{
	struct json *j = &w->json;
	__u64 sum = 0;

	json_newline(j);
	json_open_object(j);
	json_put_string(j, "type", "sampled");
	put_name(w, t, several);
	json_put_string(j, "unit", event_is_clock(&w->counts->event) ? "nanoseconds" : "none");
	json_put_array(j, "samples");
	for (size_t i = 0; i < t->cnt; i++) {
		if (i && t->samples[i].node == t->samples[i - 1].node)
			continue;
		put_stack(w, parts_node(dict__parts(w->dict), t->samples[i].node));
		json_newline(j);
	}
	json_close_array(j);
	json_put_array(j, "weights");
	for (size_t i = 0, next; i < t->cnt; i = next) {
		__u64 weight = 0;

		for (next = i; next < t->cnt && t->samples[next].node == t->samples[i].node; next++)
			weight += t->samples[next].weight;
		json_number(j, (__s64)weight);
		sum += weight;
	}
	json_close_array(j);
	json_put_number(j, "startValue", 0);
	json_put_number(j, "endValue", (__s64)sum);
	json_close_object(j);
}

static int prepare(struct writer *w, const struct emit_options *o)
{
	__u32 cnt = dict__frame_cnt(w->dict), depth = 0;

	w->place_of = calloc((size_t)cnt + 1, sizeof(*w->place_of));
	if (!w->place_of)
		return -ENOMEM;
	for (__u32 i = 0; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(w->dict, i);

		w->place_of[i] = PLACE_NONE;
		if (!i || !is_code(f))
			continue;
		w->place_of[i] = places_add_frame(&w->places, f, o->lines);
		if (w->place_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	for (__u32 i = 1; i <= dict__node_cnt(w->dict); i++) {
		if (dict__node_at(w->dict, i)->depth > depth)
			depth = dict__node_at(w->dict, i)->depth;
	}
	w->path = calloc((size_t)depth + 1, sizeof(*w->path));
	return w->path ? 0 : -ENOMEM;
}

/* "krait", "krait: page-faults". */
static void put_title(struct writer *w, const char *title)
{
	const struct event_spec *event = &w->counts->event;
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", title, event->name);
	json_put_string(&w->json, "name", event_is_clock(event) ? title : text);
}

static void put_all(struct writer *w, struct emitter *e, unsigned event)
{
	struct json *j = &w->json;
	size_t cnt, busiest = 0;
	struct timeline_thread *threads = timeline__threads(timeline_of(e), event, &cnt);

	for (size_t i = 0; i < cnt; i++)
		busiest = threads[i].cnt > threads[busiest].cnt ? i : busiest;
	json_open_object(j);
	json_put_string(j, "$schema", SCHEMA);
	json_put_string(j, "exporter", "krait " KRAIT_VERSION);
	put_title(w, e->options->title ? e->options->title : "krait");
	json_put_number(j, "activeProfileIndex", (__s64)busiest);
	put_frames(w);
	json_put_array(j, "profiles");
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, &threads[i], threads[0].pid != threads[cnt - 1].pid);
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

static int speedscope_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = { .json = { .out = e->out },
			    .dict = p->dict,
			    .counts = profile__counts(p, event) };
	int err = prepare(&w, e->options);

	if (!err) {
		put_all(&w, e, event);
		if (w.json.failed)
			err = -ENOMEM;
		else
			err = stream_finish(e->out);
	}
	places_free(&w.places);
	free(w.place_of);
	free(w.path);
	return err;
}

const struct emitter_ops speedscope_emitter = {
	.name = "speedscope",
	.suffixes = (const char *const[]){ ".speedscope.json", ".speedscope", NULL },
	.about = "for speedscope.app",
	.open = timeline_emitter_open,
	.sample = timeline_emitter_sample,
	.finish = speedscope_finish,
	.free = timeline_emitter_free,
};
