/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.c - pprof's protobuf, gzip'd: a sample for each stack and thread, a location for each line.
 *
 * The profile is packed piece by piece: protobuf allows a message to be put together from parts that
 * follow one another, so no table is in memory twice.
 *
 * system_name stays unset: pprof would take "<module>" in it for a C++ template and drop it.
 */
#include "emit/formats.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "emit/places.h"
#include "emit/pprof.pb-c.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/printable.h"

/* Strings that are not of the profile come first. */
enum fixed_string {
	STRING_EMPTY,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_PID,
	STRING_THREAD_ID,
	STRING_THREAD_NAME,
	STRING_PYTHON,
	STRING_COMMENT,
	STRING_BOOKS,
	STRING_PROFILE, /* the first of the profile's */
};

enum { MAX_LABELS = 3 };

struct emitter {
	FILE *out;
	const struct emit_options *options;
	__s64 start_ns; /* wall clock */
};

struct writer {
	FILE *out;
	const struct profile *profile;
	struct places lines, functions, strings;
	__u32 *line_of; /* by profile frame; PLACE_NONE for what is no code */
	uint64_t *path;
	struct bytes scratch;
	z_stream zip;
	bool zipping;
	int err;
};

static void pprof_free(struct emitter *e)
{
	free(e);
}

static int pprof_open(struct emitter **ret, FILE *out, const struct emit_options *options)
{
	struct emitter *e = calloc(1, sizeof(*e));
	struct timespec now;

	if (!e)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	e->start_ns = (__s64)now.tv_sec * (__s64)NS_PER_SEC + now.tv_nsec;
	e->out = out;
	e->options = options;
	*ret = e;
	return 0;
}

static int pprof_sample(struct emitter *e, const struct profile *p, const struct profile_sample *s)
{
	return 0;
}

/* ---- output ----------------------------------------------------------------------------------- */

static void zip(struct writer *w, const void *data, size_t size, int flush)
{
	__u8 buf[16384];
	int result;

	w->zip.next_in = (void *)(size_t)data;
	w->zip.avail_in = (unsigned)size;
	do {
		size_t n;

		w->zip.next_out = buf;
		w->zip.avail_out = sizeof(buf);
		result = deflate(&w->zip, flush);
		n = sizeof(buf) - w->zip.avail_out;
		if (result == Z_STREAM_ERROR || fwrite(buf, 1, n, w->out) != n) {
			if (!w->err)
				w->err = errno ? -errno : -EIO;
			return;
		}
	} while (!w->zip.avail_out);
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
	zip(w, w->scratch.data, size, Z_NO_FLUSH);
}

/* ---- parts ------------------------------------------------------------------------------------ */

static void put_head(struct writer *w, const struct emitter *e)
{
	const struct emit_options *o = e->options;
	Krait__Pprof__ValueType samples = KRAIT__PPROF__VALUE_TYPE__INIT;
	Krait__Pprof__ValueType cpu = KRAIT__PPROF__VALUE_TYPE__INIT;
	Krait__Pprof__ValueType *types[] = { &samples, &cpu };
	Krait__Pprof__Mapping mapping = KRAIT__PPROF__MAPPING__INIT;
	Krait__Pprof__Mapping *mappings[] = { &mapping };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;
	int64_t comments[] = { STRING_COMMENT, STRING_BOOKS };

	samples.type = STRING_SAMPLES;
	samples.unit = STRING_COUNT;
	cpu.type = STRING_CPU;
	cpu.unit = STRING_NANOSECONDS;
	mapping.id = 1;
	mapping.memory_limit = ~0ULL;
	mapping.filename = STRING_PYTHON;
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = 1;
	part.sample_type = types;
	part.n_sample_type = 2;
	part.mapping = mappings;
	part.n_mapping = 1;
	part.time_nanos = e->start_ns;
	part.duration_nanos = (int64_t)(o->seconds * (double)NS_PER_SEC);
	part.period_type = &cpu;
	part.period = o->frequency ? (int64_t)(NS_PER_SEC / o->frequency) : 0;
	part.comment = comments;
	part.n_comment = 2;
	part.default_sample_type = STRING_CPU;
	put_part(w, &part);
}

/* The table is one run: what packs a string of it at a time is as good. */
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
	static const char *const fixed[] = { "",	  "samples",	 "count",
					     "cpu",	  "nanoseconds", "pid",
					     "thread_id", "thread_name", "python" };
	char books[512];

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		put_string(w, fixed[i]);
	put_string(w, o->command_line ? o->command_line : "krait");
	accounts_format(profile__accounts_of(w->profile), books, sizeof(books));
	put_string(w, books);
	for (__u32 i = 0; i < w->strings.cnt && !w->err; i++)
		put_string(w, place_name(w->profile, &w->strings.list[i]));
}

/* Its index in the string table; that of the empty string when out of memory. */
static int64_t string_index(struct writer *w, __u32 string)
{
	const struct place place = { .name = string, .first_line = -1, .line = -1 };
	__u32 at = places_add(&w->strings, &place);

	if (at == PLACE_NONE)
		w->err = -ENOMEM;
	return at == PLACE_NONE ? STRING_EMPTY : STRING_PROFILE + (int64_t)at;
}

static void put_function(struct writer *w, __u32 i)
{
	const struct place *place = &w->functions.list[i];
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
	struct place place = w->lines.list[i];
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

static void put_sample(struct writer *w, __u32 node)
{
	const struct profile_node *n = profile__node_at(w->profile, node);
	Krait__Pprof__Label labels[MAX_LABELS], *list[MAX_LABELS];
	Krait__Pprof__Sample sample = KRAIT__PPROF__SAMPLE__INIT;
	Krait__Pprof__Sample *samples[] = { &sample };
	Krait__Pprof__Profile part = KRAIT__PPROF__PROFILE__INIT;
	int64_t values[] = { (int64_t)n->self, (int64_t)n->self_weight };
	size_t label_cnt = 0, depth = 0;

	for (; node; node = n->parent) {
		const struct profile_frame *f;

		n = profile__node_at(w->profile, node);
		f = profile__frame_at(w->profile, n->frame);
		if (is_code(f))
			w->path[depth++] = w->line_of[n->frame] + 1;
		else if (f->kind == FRAME_THREAD && label_cnt == 0) {
			for (; label_cnt < MAX_LABELS; label_cnt++) {
				krait__pprof__label__init(&labels[label_cnt]);
				list[label_cnt] = &labels[label_cnt];
			}
			labels[0].key = STRING_PID;
			labels[0].num = f->pid;
			labels[1].key = STRING_THREAD_ID;
			labels[1].num = f->tid;
			labels[2].key = STRING_THREAD_NAME;
			labels[2].str = string_index(w, f->name);
		}
	}
	sample.location_id = w->path;
	sample.n_location_id = depth;
	sample.value = values;
	sample.n_value = 2;
	sample.label = list;
	sample.n_label = label_cnt;
	part.sample = samples;
	part.n_sample = 1;
	put_part(w, &part);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static int prepare(struct writer *w)
{
	__u32 cnt = profile__frame_cnt(w->profile), depth = 0;

	w->line_of = calloc((size_t)cnt + 1, sizeof(*w->line_of));
	if (!w->line_of)
		return -ENOMEM;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_frame *f = profile__frame_at(w->profile, i);

		w->line_of[i] = is_code(f) ? places_add_frame(&w->lines, f, true) : PLACE_NONE;
		if (is_code(f) && w->line_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	for (__u32 i = 1; i <= profile__node_cnt(w->profile); i++) {
		if (profile__node_at(w->profile, i)->depth > depth)
			depth = profile__node_at(w->profile, i)->depth;
	}
	w->path = calloc((size_t)depth + 1, sizeof(*w->path));
	if (!w->path)
		return -ENOMEM;
	if (deflateInit2(&w->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	w->zipping = true;
	return 0;
}

static void put_all(struct writer *w, const struct emitter *e)
{
	put_head(w, e);
	for (__u32 i = 0; i <= profile__node_cnt(w->profile) && !w->err; i++) {
		if (profile__node_at(w->profile, i)->self)
			put_sample(w, i);
	}
	for (__u32 i = 0; i < w->lines.cnt && !w->err; i++)
		put_location(w, i);
	for (__u32 i = 0; i < w->functions.cnt && !w->err; i++)
		put_function(w, i);
	if (!w->err)
		put_strings(w, e->options);
	if (!w->err)
		zip(w, "", 0, Z_FINISH);
}

static int pprof_finish(struct emitter *e, const struct profile *p)
{
	struct writer w = { .out = e->out, .profile = p };

	errno = 0;
	w.err = prepare(&w);
	if (!w.err)
		put_all(&w, e);
	if (!w.err && (fflush(e->out) || ferror(e->out)))
		w.err = errno ? -errno : -EIO;
	if (w.zipping)
		deflateEnd(&w.zip);
	places_free(&w.lines);
	places_free(&w.functions);
	places_free(&w.strings);
	bytes_free(&w.scratch);
	free(w.line_of);
	free(w.path);
	return w.err;
}

const struct emitter_ops pprof_emitter = {
	.name = "pprof",
	.suffixes = (const char *const[]){ ".pb.gz", ".pprof", NULL },
	.open = pprof_open,
	.sample = pprof_sample,
	.finish = pprof_finish,
	.free = pprof_free,
};
