/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common/formats.h"
#include "cmd/common/output.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/output_file.h"

#define MAX_OUTPUTS 16
/* How often we check that the reader of a pipe still exists. */
#define READER_NS (NS_PER_SEC / 4)

struct outputs {
	int cnt;
	bool live;
	bool timeless; /* samples have no times */
	bool wall; /* outputs of one event show time on and off the CPU */
	__u64 looked_ns; /* last check of the readers of pipes */
	struct output list[MAX_OUTPUTS];
};

struct outputs *outputs__new(bool live)
{
	struct outputs *o = calloc(1, sizeof(*o));

	if (o)
		o->live = live;
	return o;
}

void outputs__join_time(struct outputs *o)
{
	o->wall = true;
}

void outputs__without_times(struct outputs *o)
{
	o->timeless = true;
}

void outputs__free(struct outputs *o)
{
	if (!o)
		return;
	for (int i = 0; i < o->cnt; i++)
		output_close(&o->list[i]);
	free(o);
}

/* Refuses an unknown format and suggests others. */
static void refuse_format(const char *path, const char *format, struct error *err)
{
	const char *name = format ? format_nearest(format) : NULL;
	cleanup_free char *known = formats_suffixes(), *guess = formats_guess(path);

	if (format)
		error_set(err, EINVAL, EXIT_CODE_USAGE,
			  "no format \"%s\"%s%s%s (see krait record --help)", format,
			  name ? "; did you mean " : "", name ? name : "", name ? "?" : "");
	else if (!strcmp(path, "-"))
		error_set(
			err, EINVAL, EXIT_CODE_USAGE,
			"the standard output has no suffix that tells the format: name one with -f, "
			"as in -f folded -o -");
	else
		error_set(err, EINVAL, EXIT_CODE_USAGE,
			  "%s: no format has this suffix; %s%s%sknown are %s, or name one with -f",
			  path, guess ? "did you mean " : "", guess ? guess : "", guess ? "? " : "",
			  known ? known : "many");
}

static const struct emitter_ops *choose_format(const char *path, const char *format,
					       struct error *err)
{
	const struct emitter_ops *ops = format ? format_by_name(format) : format_by_suffix(path);

	if (!ops)
		refuse_format(path, format, err);
	return ops;
}

static int publish(void *ctx)
{
	struct output *out = ctx;

	return output_file__publish(out->file);
}

static int start_emitter(struct output *out, bool live)
{
	FILE *file = output_file__stream(out->file);
	int err = out->ops->open(&out->emitter, file, out->options);

	out->place = (struct emit_place){
		.name = output_file__name(out->file),
		.kept_name = output_file__kept_name(out->file),
		.publish = publish,
		.ctx = out,
		.early = live,
	};
	if (!err && out->ops->place)
		err = out->ops->place(out->emitter, &out->place);
	return err;
}

static int open_output(struct output *out, bool keep_old, bool live, struct error *err)
{
	int result = output_file__open(&out->file, out->path,
				       keep_old ? OUTPUT_FILE_KEEP_OLD : OUTPUT_FILE_REPLACE);

	if (!result)
		result = start_emitter(out, live);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", out->path,
				 output_file_strerror(result));
	return 0;
}

int outputs__add(struct outputs *o, const char *path, const char *format, bool keep_old,
		 const struct emit_options *options, struct error *err)
{
	struct output *out = &o->list[o->cnt];

	if (o->cnt == MAX_OUTPUTS)
		return error_set(err, E2BIG, EXIT_CODE_USAGE, "more than %d outputs", MAX_OUTPUTS);
	out->ops = choose_format(path, format, err);
	if (!out->ops)
		return -EINVAL;
	out->path = path;
	out->options = options;
	o->cnt++;
	return open_output(out, keep_old, o->live, err);
}

/* ---- samples ---------------------------------------------------------------------------------- */

/* Reports at once: later samples are not written there. */
static void fail(struct output *out, const struct profile *p, int err)
{
	out->err = err;
	if (err == -EPIPE && output_is_stdout(out))
		return; /* the reader has seen enough */
	log_error(NULL, "%s: %s; krait writes no more to it", out->path, output_file_strerror(err));
	if (out->ops->rescue)
		out->ops->rescue(out->emitter, p);
}

static void write_sample(struct outputs *o, struct output *out, const struct profile *p,
			 const struct profile_sample *s)
{
	struct profile_sample joined = *s;
	int err;

	if (o->wall && !out->ops->all_events && !out->ops->all_times) {
		if (!profile__in_wall(p, s->event))
			return;
		joined.event = 0;
	}
	err = out->ops->sample(out->emitter, p, &joined);

	/* A single-file format is readable from its first sample on. */
	if (!err && o->live && !out->ops->place && !out->ops->keeps)
		err = output_file__publish(out->file);
	if (err)
		fail(out, p, err);
}

static bool is_usable(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (!o->list[i].err)
			return true;
	}
	return false;
}

bool outputs__sample(struct outputs *o, const struct profile *p, const struct profile_sample *s)
{
	for (int i = 0; i < o->cnt; i++) {
		struct output *out = &o->list[i];

		if (out->ops->sample && !out->err && !(o->timeless && out->ops->keeps))
			write_sample(o, out, p, s);
	}
	return is_usable(o);
}

bool outputs__tick(struct outputs *o, const struct profile *p, __u64 now_ns)
{
	bool look = now_ns < o->looked_ns || now_ns - o->looked_ns >= READER_NS;

	if (look)
		o->looked_ns = now_ns;
	for (int i = 0; i < o->cnt; i++) {
		struct output *out = &o->list[i];
		int err = 0;

		if (out->err)
			continue;
		if (look && output_file__is_deserted(out->file))
			err = -EPIPE;
		else if (out->ops->flush)
			err = out->ops->flush(out->emitter, p, now_ns);
		if (err)
			fail(out, p, err);
	}
	return is_usable(o);
}

/* ---- the end ---------------------------------------------------------------------------------- */

static bool is_empty(const struct profile *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		if (profile__counts(p, i)->samples)
			return false;
	}
	return true;
}

int outputs__finish(struct outputs *o, const struct profile *p, unsigned event, bool quiet,
		    struct error *err)
{
	cleanup_profile struct profile *wall = NULL;
	bool empty = is_empty(p);
	struct error one;
	int result = 0;

	if (o->wall && profile__new_wall(&wall, p))
		return error_set(err, ENOMEM, EXIT_CODE_OUTPUT, "out of memory");
	for (int i = 0; i < o->cnt; i++) {
		bool joined = wall && !o->list[i].ops->all_events;
		int failed;

		/* The old file is worth more than an empty one. */
		if (empty && output_file__name(o->list[i].file)) {
			log_info(NULL, "%s was not written: there are no samples", o->list[i].path);
			continue;
		}
		failed = output_finish(&o->list[i], joined ? wall : p, joined ? 0 : event, quiet,
				       &one);

		if (failed && !result) {
			result = failed;
			*err = one;
		} else if (failed) {
			log_error(NULL, "%s", one.text);
		}
	}
	return result;
}

/* Tests the struct emitter_ops *ops of each output. */
#define any_output(o, what)                                                                        \
	({                                                                                         \
		bool found_ = false;                                                               \
                                                                                                   \
		for (int i_ = 0; i_ < (o)->cnt && !found_; i_++) {                                 \
			const struct emitter_ops *ops = (o)->list[i_].ops;                         \
                                                                                                   \
			found_ = (what);                                                           \
		}                                                                                  \
		found_;                                                                            \
	})

bool outputs__stream(const struct outputs *o)
{
	return any_output(o, ops->sample && !ops->keeps);
}

bool outputs__take_samples(const struct outputs *o)
{
	return any_output(o, ops->sample);
}

bool outputs__use_addresses(const struct outputs *o)
{
	return any_output(o, ops->addresses);
}

bool outputs__use_names(const struct outputs *o)
{
	return any_output(o, ops->names);
}

bool outputs__use_sources(const struct outputs *o)
{
	return any_output(o, ops->sources);
}

bool outputs__has(const struct outputs *o, const char *format)
{
	for (int i = 0; i < o->cnt; i++) {
		if (!strcmp(o->list[i].ops->name, format))
			return true;
	}
	return false;
}

bool outputs__single(const struct outputs *o, const struct event_spec *shown)
{
	bool times = event_is_time(shown);

	return any_output(o, !ops->all_events && !(times && ops->all_times));
}

bool outputs__are_deserted(const struct outputs *o)
{
	return o->cnt == 1 && o->list[0].err == -EPIPE && output_is_stdout(&o->list[0]);
}

bool outputs__use_stdout(const struct outputs *o)
{
	for (int i = 0; i < o->cnt; i++) {
		if (output_is_stdout(&o->list[i]))
			return true;
	}
	return false;
}
