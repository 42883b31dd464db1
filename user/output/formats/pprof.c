/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.c - pprof's gzip'd protobuf: a sample for each stack and thread, a location for each line,
 * two sample types for each event, and one more for waits for the GIL. A label names the origin of
 * the leaf's code.
 *
 * The profile is packed piece by piece: protobuf lets a message be the concatenation of its parts,
 * so no table is in memory twice.
 *
 * system_name stays unset: pprof would take "<module>" in it for a C++ template and drop it.
 */
#include "output/formats.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output/places.h"
#include "output/formats/pprof.pb-c.h"
#include "output/formats/pprof_columns.h"
#include "profile/origin.h"
#include "profile/strtab.h"
#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/files/gzip.h"
#include "base/text/printable.h"
#include "base/text/stream.h"

enum { MAX_LABELS = 6 };

struct writer {
	FILE *out;
	const struct profile *profile;
	const struct dict *dict; /* of the profile */
	unsigned event; /* shown first */
	struct places lines, functions, strings;
	__u32 *line_of; /* by frame of the dictionary; PLACE_NONE if it is not code */
	__u32 *origin_of; /* likewise, its origin; 0: none */
	struct strtab origins;
	uint64_t *path;
	struct bytes scratch;
	struct pprof_columns columns;
	int64_t *values; /* of a sample, by column */
	struct gzip zip;
	/* emit_options.whose, and what it said of the last process */
	const struct emit_options *options;
	int whose_pid;
	bool is_known, claimed;
	__u32 uid;
	int err;
};

/* ---- output ----------------------------------------------------------------------------------- */

static void take_error(struct writer *w, int err)
{
	if (!w->err)
		w->err = err;
}

/* Packs a part of the profile. */
static void put_part(struct writer *w, const Krait__Pprof__Profile *part)
{
	size_t size = krait__pprof__profile__get_packed_size(part);

	w->scratch.len = 0;
	bytes_fill(&w->scratch, 0, size);
	if (w->scratch.failed || size > UINT_MAX) {
		w->err = -ENOMEM;
		return;
	}
	krait__pprof__profile__pack(part, w->scratch.data);
	take_error(w, gzip_put(&w->zip, w->scratch.data, size));
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* Origin strings follow the column names. origin: not 0. */
static int64_t origin_string(const struct writer *w, __u32 origin)
{
	return STRING_COLUMNS + (int64_t)w->columns.name_cnt + origin - 1;
}

/* The profile's strings follow the origins. */
static int64_t first_profile_string(const struct writer *w)
{
	return origin_string(w, w->origins.cnt);
}

static int put_columns(struct writer *w, Krait__Pprof__Profile *part)
{
	cleanup_free Krait__Pprof__ValueType *list = calloc(w->columns.cnt + 1, sizeof(*list));
	cleanup_free Krait__Pprof__ValueType **types = calloc(w->columns.cnt + 1, sizeof(*types));

	if (!list || !types)
		return -ENOMEM;
	for (unsigned i = 0; i < w->columns.cnt; i++) {
		krait__pprof__value_type__init(&list[i]);
		list[i].type = w->columns.list[i].type;
		list[i].unit = w->columns.list[i].unit;
		types[i] = &list[i];
	}
	part->sample_type = types;
	part->n_sample_type = w->columns.cnt;
	put_part(w, part);
	return w->err;
}

static void put_head(struct writer *w, const struct emitter *e)
{
	const struct emit_options *o = e->options;
	const struct counts *shown = profile__counts(w->profile, w->event);
	Krait__Pprof__ValueType period = KRAIT__PPROF__VALUE_TYPE__INIT;
	Krait__Pprof__Mapping mapping = KRAIT__PPROF__MAPPING__INIT;
	Krait__Pprof__Mapping *mappings[] = { &mapping };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;
	int64_t comments[] = { STRING_COMMENT, STRING_BOOKS };

	mapping.id = 1;
	mapping.memory_limit = ~0ULL;
	mapping.filename = STRING_PYTHON;
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = 1;
	part.mapping = mappings;
	part.n_mapping = 1;
	part.time_nanos = o->recording.began_wall_ns;
	part.duration_nanos = (int64_t)(o->recording.seconds * (double)NS_PER_SEC);
	part.comment = comments;
	part.n_comment = 2;
	for (unsigned i = 0; i < w->columns.cnt; i++) {
		const struct pprof_column *c = &w->columns.list[i];

		if (c->counts != shown || !c->weight)
			continue;
		period.type = c->type;
		period.unit = c->unit;
		part.period_type = &period;
		part.default_sample_type = c->type;
	}
	if (event_is_clock(&shown->event) && o->recording.frequency)
		part.period = (int64_t)(NS_PER_SEC / o->recording.frequency);
	else if (!shown->uneven)
		part.period = (int64_t)shown->sample_weight;
	w->err = put_columns(w, &part);
}

/* The table is one run, so packing one string at a time costs no more. */
static void put_string(struct writer *w, const char *text)
{
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;
	cleanup_free char *safe = printable(text);
	char *list[] = { safe };

	if (!safe) {
		w->err = -ENOMEM;
		return;
	}
	part.string_table = list;
	part.n_string_table = 1;
	put_part(w, &part);
}

static void put_strings(struct writer *w, const struct emit_options *o)
{
	static const char *const fixed[] = {
		"",    "samples",   "count",	   "cpu",    "nanoseconds",
		"pid", "thread_id", "thread_name", "python", "origin",
		"uid", "claimed",   "service.name"
	};
	cleanup_free char *books = emitter_books(w->profile);

	if (!books) {
		w->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		put_string(w, fixed[i]);
	put_string(w, o->recording.command_line ? o->recording.command_line : "krait");
	put_string(w, books);
	for (unsigned i = 0; i < w->columns.name_cnt && !w->err; i++)
		put_string(w, w->columns.names[i]);
	for (__u32 i = 1; i < w->origins.cnt && !w->err; i++)
		put_string(w, strtab_text(&w->origins, i));
	for (__u32 i = 0; i < w->strings.cnt && !w->err; i++)
		put_string(w, place_name(w->dict, &w->strings.list[i]));
}

/* Returns the index in the string table; that of the empty string if out of memory. */
static int64_t string_index(struct writer *w, __u32 string)
{
	const struct profile_frame place = { .name = string, .first_line = -1, .line = -1 };
	__u32 at = places_add(&w->strings, &place);

	if (at == PLACE_NONE)
		w->err = -ENOMEM;
	return at == PLACE_NONE ? STRING_EMPTY : first_profile_string(w) + (int64_t)at;
}

static void put_function(struct writer *w, __u32 i)
{
	const struct profile_frame *place = &w->functions.list[i];
	Krait__Pprof__Function function = KRAIT__PPROF__FUNCTION__INIT;
	Krait__Pprof__Function *list[] = { &function };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;

	function.id = i + 1;
	function.name = string_index(w, place->name);
	function.filename = place->file ? string_index(w, place->file) : STRING_EMPTY;
	function.start_line = place->first_line > 0 ? place->first_line : 0;
	part.function = list;
	part.n_function = 1;
	put_part(w, &part);
}

static void put_location(struct writer *w, __u32 i)
{
	struct profile_frame place = w->lines.list[i];
	Krait__Pprof__Line line = KRAIT__PPROF__LINE__INIT;
	Krait__Pprof__Line *lines[] = { &line };
	Krait__Pprof__Location location = KRAIT__PPROF__LOCATION__INIT;
	Krait__Pprof__Location *list[] = { &location };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;

	line.line = place.line > 0 ? place.line : 0;
	place.line = -1;
	line.function_id = places_add(&w->functions, &place) + 1;
	location.id = i + 1;
	location.mapping_id = 1;
	location.line = lines;
	location.n_line = 1;
	part.location = list;
	part.n_location = 1;
	put_part(w, &part);
}

/* Takes the node's values of all events. Returns whether any is not 0. */
static bool take_values(struct writer *w, __u32 node)
{
	bool any = false;

	for (unsigned i = 0; i < w->columns.cnt; i++) {
		const struct pprof_column *c = &w->columns.list[i];
		struct node_count n = counts__at(c->counts, node);

		w->values[i] = (int64_t)(c->weight ? n.weight : n.samples);
		any = any || n.samples;
	}
	return any;
}

static Krait__Pprof__Label *add_label(Krait__Pprof__Label *labels, size_t *cnt, int64_t key)
{
	Krait__Pprof__Label *label = &labels[(*cnt)++];

	krait__pprof__label__init(label);
	label->key = key;
	return label;
}

/* Samples of a process come one after another. */
static void add_whose(struct writer *w, Krait__Pprof__Label *labels, size_t *cnt, int pid)
{
	const struct emit_options *o = w->options;

	if (!o->whose)
		return;
	if (pid != w->whose_pid)
		w->is_known = o->whose(o->whose_ctx, pid, &w->uid, &w->claimed);
	w->whose_pid = pid;
	if (!w->is_known)
		return;
	add_label(labels, cnt, STRING_UID)->num = w->uid;
	if (w->claimed)
		add_label(labels, cnt, STRING_CLAIMED)->str = STRING_SERVICE_NAME;
}

static void put_sample(struct writer *w, __u32 node)
{
	const struct profile_node *n;
	Krait__Pprof__Label labels[MAX_LABELS], *list[MAX_LABELS];
	Krait__Pprof__Sample sample = KRAIT__PPROF__SAMPLE__INIT;
	Krait__Pprof__Sample *samples[] = { &sample };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;
	size_t label_cnt = 0, depth = 0;
	bool has_thread = false;

	if (!take_values(w, node))
		return;

	for (; node; node = n->parent) {
		const struct profile_frame *f;

		n = dict__node_at(w->dict, node);
		f = dict__frame_at(w->dict, n->frame);
		if (is_code(f)) {
			if (!depth && w->origin_of[n->frame])
				add_label(labels, &label_cnt, STRING_ORIGIN)->str =
					origin_string(w, w->origin_of[n->frame]);
			w->path[depth++] = w->line_of[n->frame] + 1;
		} else if (f->kind == FRAME_THREAD && !has_thread) {
			has_thread = true;
			add_label(labels, &label_cnt, STRING_PID)->num = f->pid;
			add_label(labels, &label_cnt, STRING_THREAD_ID)->num = f->tid;
			add_label(labels, &label_cnt, STRING_THREAD_NAME)->str =
				string_index(w, f->name);
			add_whose(w, labels, &label_cnt, f->pid);
		}
	}
	for (size_t i = 0; i < label_cnt; i++)
		list[i] = &labels[i];
	sample.location_id = w->path;
	sample.n_location_id = depth;
	sample.value = w->values;
	sample.n_value = w->columns.cnt;
	sample.label = list;
	sample.n_label = label_cnt;
	part.sample = samples;
	part.n_sample = 1;
	put_part(w, &part);
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Marks have no origin. */
static int note_origin(struct writer *w, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(w->dict, frame);
	const char *name = dict__text(w->dict, f->name);
	char origin[ORIGIN_NAME_SIZE];

	if (f->kind == FRAME_MARK)
		return 0;
	origin_name(origin, f, dict__text(w->dict, f->file), name);
	w->origin_of[frame] = strtab_add(&w->origins, origin, strlen(origin), 0);
	return w->origin_of[frame] ? 0 : -ENOMEM;
}

static int list_lines(struct writer *w)
{
	const __u32 cnt = dict__frame_cnt(w->dict);
	/* The dictionary may serve many profiles. */
	cleanup_free bool *wanted = places_counted(w->profile);

	w->line_of = calloc((size_t)cnt + 1, sizeof(*w->line_of));
	w->origin_of = calloc((size_t)cnt + 1, sizeof(*w->origin_of));
	if (!w->line_of || !w->origin_of || !wanted || strtab_init(&w->origins))
		return -ENOMEM;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_frame *f = dict__frame_at(w->dict, i);
		bool listed = wanted[i] && is_code(f);

		w->line_of[i] = listed ? places_add_frame(&w->lines, f, true) : PLACE_NONE;
		if (listed && (w->line_of[i] == PLACE_NONE || note_origin(w, i)))
			return -ENOMEM;
	}
	return 0;
}

static int prepare(struct writer *w)
{
	__u32 depth = 0;

	for (__u32 i = 1; i <= dict__node_cnt(w->dict); i++) {
		if (dict__node_at(w->dict, i)->depth > depth)
			depth = dict__node_at(w->dict, i)->depth;
	}
	w->path = calloc((size_t)depth + 1, sizeof(*w->path));
	if (!w->path || pprof_columns_choose(&w->columns, w->profile))
		return -ENOMEM;
	w->values = calloc((size_t)w->columns.cnt + 1, sizeof(*w->values));
	if (!w->values || list_lines(w))
		return -ENOMEM;
	return gzip_open(&w->zip, w->out);
}

static void put_all(struct writer *w, const struct emitter *e)
{
	put_head(w, e);
	for (__u32 i = 0; i <= dict__node_cnt(w->dict) && !w->err; i++)
		put_sample(w, i);
	for (__u32 i = 0; i < w->lines.cnt && !w->err; i++)
		put_location(w, i);
	for (__u32 i = 0; i < w->functions.cnt && !w->err; i++)
		put_function(w, i);
	if (!w->err)
		put_strings(w, e->options);
	if (!w->err)
		take_error(w, gzip_end(&w->zip));
}

static int pprof_finish(struct emitter *e, const struct profile *p, unsigned event)
{
	struct writer w = {
		.out = e->out, .profile = p, .dict = p->dict, .event = event, .options = e->options
	};

	errno = 0;
	w.err = prepare(&w);
	if (!w.err)
		put_all(&w, e);
	if (!w.err)
		w.err = stream_finish(e->out);
	gzip_free(&w.zip);
	places_free(&w.lines);
	places_free(&w.functions);
	places_free(&w.strings);
	bytes_free(&w.scratch);
	free(w.line_of);
	free(w.origin_of);
	strtab_free(&w.origins);
	free(w.path);
	pprof_columns_free(&w.columns);
	free(w.values);
	return w.err;
}

const struct emitter_ops pprof_emitter = {
	.name = "pprof",
	.suffixes = (const char *const[]){ ".pb.gz", ".pprof", NULL },
	.about = "pprof",
	.next = { "go tool pprof -http=: ", "" },
	.sources = true,
	.all_events = true,
	.open = emitter_open,
	.finish = pprof_finish,
	.free = emitter_free,
};
