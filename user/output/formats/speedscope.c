/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope.c - speedscope's own JSON: a profile for each thread, samples in time order. A
 * recording of time on and off the CPU has two profiles per thread, unless the sum is requested.
 *
 * Adjacent equal stacks become one sample with the summed weight: the views look the same, and
 * files are much smaller.
 */
#include "output/formats.h"

#include <errno.h>
#include <stdlib.h>

#include "output/timeline.h"
#include "output/places.h"
#include "profile/parts.h"
#include "base/data/cleanup.h"
#include "base/text/json.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
	struct json json;
	const struct profile *profile;
	const struct dict *dict; /* of the profile */
	const struct counts *counts; /* of the shown event */
	unsigned event; /* index of the shown event */
	bool both; /* on-CPU and off-CPU time, in separate profiles */
	bool several; /* several processes */
	struct places places;
	__u32 *place_of; /* by frame of the dictionary; PLACE_NONE if it is not code */
	__u32 *path;
};

static void put_frames(struct writer *w)
{
	struct json *j = &w->json;

	json_put_object(j, "shared");
	json_put_array(j, "frames");
	for (__u32 i = 0; i < w->places.cnt; i++) {
		const struct profile_frame *place = &w->places.list[i];
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

/* Writes frames root first. */
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

/*
 * what: "" or ", waiting". The program's name comes first: with many processes, all names are in
 * one long list.
 */
static void put_name(struct writer *w, const struct timeline_thread *t, const char *what)
{
	const char *program = t->cnt ? timeline_process_name(w->dict, t->samples[0].node) : "";
	char name[256];

	if (w->several)
		snprintf(name, sizeof(name), "%.120s%sProcess %d Thread %d \"%s\"%s", program,
			 *program ? " " : "", t->pid, t->tid, t->name, what);
	else
		snprintf(name, sizeof(name), "Thread %d \"%s\"%s", t->tid, t->name, what);
	json_put_string(&w->json, "name", name);
}

/* Returns the event's next sample from i on; t->cnt: none. */
static size_t next_of(const struct timeline_thread *t, unsigned event, size_t i)
{
	while (i < t->cnt && t->samples[i].event != event)
		i++;
	return i;
}

/* Returns the first sample with another stack, and the weight of those before it. */
static size_t end_of_run(const struct timeline_thread *t, unsigned event, size_t i,
			 __u64 *ret_weight)
{
	const __u32 node = t->samples[i].node;

	for (*ret_weight = 0; i < t->cnt && t->samples[i].node == node;
	     i = next_of(t, event, i + 1))
		*ret_weight += t->samples[i].weight;
	return i;
}

static void put_profile(struct writer *w, const struct timeline_thread *t, unsigned event,
			const char *what)
{
	const size_t first = next_of(t, event, 0);
	struct json *j = &w->json;
	__u64 sum = 0, weight;

	if (first == t->cnt)
		return;
	json_newline(j);
	json_open_object(j);
	json_put_string(j, "type", "sampled");
	put_name(w, t, what);
	json_put_string(j, "unit", event_is_time(&w->counts->event) ? "nanoseconds" : "none");
	json_put_array(j, "samples");
	for (size_t i = first; i < t->cnt; i = end_of_run(t, event, i, &weight)) {
		put_stack(w, parts_node(dict__parts(w->dict), t->samples[i].node));
		json_newline(j);
	}
	json_close_array(j);
	json_put_array(j, "weights");
	for (size_t i = first; i < t->cnt;) {
		i = end_of_run(t, event, i, &weight);
		json_number(j, (__s64)weight);
		sum += weight;
	}
	json_close_array(j);
	json_put_number(j, "startValue", 0);
	json_put_number(j, "endValue", (__s64)sum);
	json_close_object(j);
}

/* Shows the requested event; of two times also the other one, so that nobody has to choose. */
static bool is_shown(const struct writer *w, unsigned event)
{
	return event == w->event || (w->both && profile__in_wall(w->profile, event));
}

static void put_thread(struct writer *w, const struct timeline_thread *t)
{
	for (unsigned i = 0; i < w->profile->event_cnt; i++) {
		const bool off = event_is_off_cpu(&profile__counts(w->profile, i)->event);

		if (is_shown(w, i))
			put_profile(w, t, i, !w->both ? "" : off ? ", waiting" : ", CPU");
	}
}

static int prepare(struct writer *w, const struct emit_options *o)
{
	__u32 cnt = dict__frame_cnt(w->dict), depth = 0;
	cleanup_free bool *counted = places_counted(w->profile);

	w->place_of = calloc((size_t)cnt + 1, sizeof(*w->place_of));
	if (!w->place_of || !counted)
		return -ENOMEM;
	for (__u32 i = 0; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(w->dict, i);

		w->place_of[i] = PLACE_NONE;
		if (!counted[i] || !is_code(f))
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

/* Returns how many profiles come before the one with most samples of the event. */
static size_t busiest(const struct writer *w, const struct timeline_thread *threads, size_t cnt)
{
	size_t best = 0, most = 0, profiles = 0;

	for (size_t i = 0; i < cnt; i++) {
		for (unsigned event = 0; event < w->profile->event_cnt; event++) {
			size_t samples = 0;

			if (!is_shown(w, event))
				continue;
			for (size_t k = 0; k < threads[i].cnt; k++)
				samples += threads[i].samples[k].event == event;
			if (event == w->event && samples > most) {
				most = samples;
				best = profiles;
			}
			profiles += samples > 0;
		}
	}
	return best;
}

static void put_all(struct writer *w, struct emitter *e)
{
	struct json *j = &w->json;
	size_t cnt;
	struct timeline_thread *threads = timeline__threads(
		timeline_of(e), w->dict, w->both ? TIMELINE_ALL_EVENTS : w->event, &cnt);

	w->several = cnt && threads[0].pid != threads[cnt - 1].pid;
	json_open_object(j);
	json_put_string(j, "$schema", SCHEMA);
	json_put_string(j, "exporter", "krait " KRAIT_VERSION);
	put_title(w, e->options->title ? e->options->title : "krait");
	json_put_number(j, "activeProfileIndex", (__s64)busiest(w, threads, cnt));
	put_frames(w);
	json_put_array(j, "profiles");
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, &threads[i]);
	json_close_array(j);
	json_close_object(j);
	json_newline(j);
}

/* Tells whether the profile has time on and off the CPU and the shown event is one of them. */
static bool has_both(const struct profile *p, unsigned event)
{
	bool on = false, off = false;

	for (unsigned i = 0; i < p->event_cnt; i++) {
		const struct counts *c = profile__counts(p, i);

		on |= c->samples && event_is_clock(&c->event);
		off |= c->samples && event_is_off_cpu(&c->event);
	}
	return on && off && profile__in_wall(p, event);
}

static int speedscope_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = { .json = { .out = e->out },
			    .profile = p,
			    .dict = p->dict,
			    .counts = profile__counts(p, event),
			    .event = event,
			    .both = has_both(p, event) };
	int err = prepare(&w, e->options);

	if (!err) {
		put_all(&w, e);
		err = json_finish(&w.json);
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
	.next = { "drop it on speedscope.app" },
	.all_times = true,
	.open = timeline_emitter_open,
	.sample = timeline_emitter_sample,
	.finish = speedscope_finish,
	.free = timeline_emitter_free,
};
