/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jsonl.c - JSON Lines as CPython 3.15's profiling.sampling writes them (Lib/profiling/sampling/jsonl_collector.py, v 0):
 * meta, string tables, frame tables, Self and Total of each frame, end. A frame is a line of a function.
 */
#include "output/formats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text/json.h"
#include "base/text/stream.h"
#include "output/label.h"
#include "profile/strtab.h"

#define VERSION 0
/* Entries in a line. */
#define CHUNK 256

struct writer {
	struct json j;
	const struct view *view;
	char run_id[33];
	struct strtab texts;
	__u32 *name_of, *path_of; /* by view frame */
	double scale; /* of a unit: samples; of time that samples do not share evenly: microseconds */
};

static void begin(struct writer *w, const char *type)
{
	json_open_object(&w->j);
	json_put_string(&w->j, "type", type);
	json_put_number(&w->j, "v", VERSION);
	json_put_string(&w->j, "run_id", w->run_id);
}

static void end(struct writer *w)
{
	json_close_object(&w->j);
	putc('\n', w->j.out);
	w->j.comma = false;
}

/* Calls put for each of cnt entries, so many a line. */
static void put_chunks(struct writer *w, const char *type, const char *key, __u32 cnt,
		       void (*head)(struct writer *w), void (*put)(struct writer *w, __u32 i))
{
	for (__u32 i = 0; i < cnt; i++) {
		if (i % CHUNK == 0) {
			begin(w, type);
			if (head)
				head(w);
			json_put_array(&w->j, key);
		}
		put(w, i);
		if ((i + 1) % CHUNK == 0 || i + 1 == cnt) {
			json_close_array(&w->j);
			end(w);
		}
	}
}

static void put_text(struct writer *w, __u32 i)
{
	json_open_object(&w->j);
	json_put_number(&w->j, "str_id", i);
	json_put_string(&w->j, "value", strtab_text(&w->texts, i));
	json_close_object(&w->j);
}

static void put_frame(struct writer *w, __u32 i)
{
	const struct profile_frame *f = &w->view->frames[i];

	json_open_object(&w->j);
	json_put_number(&w->j, "frame_id", i);
	json_put_number(&w->j, "path_str_id", w->path_of[i]);
	json_put_number(&w->j, "func_str_id", w->name_of[i]);
	json_put_number(&w->j, "line",
			f->line > 0	  ? f->line :
			f->first_line > 0 ? f->first_line :
					    0);
	json_close_object(&w->j);
}

/* Rounded down, so that parts do not exceed the whole. */
static __s64 scaled(const struct writer *w, __u64 units)
{
	return (__s64)((double)units * w->scale);
}

static void put_total(struct writer *w)
{
	json_put_number(&w->j, "samples_total", scaled(w, w->view->nodes[0].total));
}

static void put_agg_head(struct writer *w)
{
	json_put_string(&w->j, "kind", "frame");
	json_put_string(&w->j, "scope", "final");
	put_total(w);
}

static void put_sums(struct writer *w, __u32 i)
{
	const struct view_sums *sums = &w->view->sums[i];

	json_open_object(&w->j);
	json_put_number(&w->j, "frame_id", i);
	json_put_number(&w->j, "self", scaled(w, sums->self));
	/* The root is only what samples without a stack have. */
	json_put_number(&w->j, "cumulative", scaled(w, i ? sums->total : sums->self));
	json_close_object(&w->j);
}

static int add_texts(struct writer *w)
{
	const struct view *v = w->view;

	w->name_of = calloc(v->frame_cnt, sizeof(*w->name_of));
	w->path_of = calloc(v->frame_cnt, sizeof(*w->path_of));
	if (!w->name_of || !w->path_of || strtab_init(&w->texts))
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		const char *name = label_name(v, &v->frames[i]),
			   *path = view_file(v, &v->frames[i]);

		w->name_of[i] = strtab_add(&w->texts, name, strlen(name), 0);
		w->path_of[i] = strtab_add(&w->texts, path, strlen(path), 0);
		if (!w->name_of[i] || (*path && !w->path_of[i]))
			return -ENOMEM;
	}
	return 0;
}

static void set_run_id(struct writer *w)
{
	unsigned char bytes[16] = { 0 };

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) < 0)
		return;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		snprintf(w->run_id + 2 * (size_t)i, 3, "%02x", bytes[i]);
}

static int write_all(struct writer *w)
{
	const struct counts *c = w->view->counts;
	double unit_ns = counts__unit_ns(c), interval = unit_ns / 1000;

	w->scale = 1;
	if (c->uneven && unit_ns > 0) {
		w->scale = unit_ns / 1000;
		interval = 1;
	}
	begin(w, "meta");
	json_put_number(&w->j, "sample_interval_usec", llround(interval));
	if (unit_ns > 0)
		json_put_string(&w->j, "mode", event_is_clock(&c->event) ? "cpu" : "wall");
	end(w);
	put_chunks(w, "string_table", "strings", w->texts.cnt, NULL, put_text);
	put_chunks(w, "frame_table", "frames", w->view->frame_cnt, NULL, put_frame);
	put_chunks(w, "agg", "entries", w->view->frame_cnt, put_agg_head, put_sums);
	begin(w, "end");
	put_total(w);
	end(w);
	return json_finish(&w->j);
}

static int jsonl_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	const struct view_options options = { .lines = true,
					      .sources = true,
					      .order = VIEW_BY_NAME };
	struct writer w = { .j = { .out = e->out }, .run_id = "00000000000000000000000000000000" };
	struct view *v = NULL;
	int err = view__new(&v, profile__counts(p, event), &options);

	w.view = v;
	set_run_id(&w);
	if (!err)
		err = add_texts(&w);
	if (!err)
		err = write_all(&w);
	if (!err)
		err = stream_finish(e->out);
	view__free(v);
	strtab_free(&w.texts);
	free(w.name_of);
	free(w.path_of);
	return err;
}

const struct emitter_ops jsonl_emitter = {
	.name = "jsonl",
	.suffixes = (const char *const[]){ ".jsonl", NULL },
	.about = "as Python 3.15's profiling.sampling writes it",
	.next = { "one JSON object a line" },
	.sources = true,
	.open = emitter_open,
	.finish = jsonl_finish,
	.free = emitter_free,
};
