/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outputs.h - the files of a recording: opened before it starts, finished when it ends.
 *
 * A path that cannot be written is refused before anything is recorded. What has that name stays until
 * the new file is whole (util/output_file.h); of a recording, formats that stream take their name with
 * the first samples. When writing fails later (disk full), it is said at once, formats that are written
 * at the end are saved elsewhere, and what a streaming format has written stays.
 *
 * Must hold: a failing output never takes another one with it; a command that fails changes no file.
 */
#ifndef KRAIT_CMD_OUTPUTS_H
#define KRAIT_CMD_OUTPUTS_H

#include <stdbool.h>

#include "emit/emitter.h"

struct error;
struct outputs;

/* live: of a recording, which loses nothing when it is killed. */
struct outputs *outputs__new(bool live);
/* Those that are not finished are discarded. */
void outputs__free(struct outputs *o);

/*
 * Adds a file ("-" is stdout). format: a name for -f, or NULL to go by the suffix. keep_old: what has
 * that name is kept as NAME.old. *options as for an emitter.
 */
int outputs__add(struct outputs *o, const char *path, const char *format, bool keep_old,
		 const struct emit_options *options, struct error *err)
	__attribute__((warn_unused_result));

/* For the formats that stream. False when nothing more can be written to any output. */
bool outputs__sample(struct outputs *o, const struct profile *p, const struct profile_sample *s);
/* Several times a second, by the clock of the samples: what is due whether there are any or not. As above. */
bool outputs__tick(struct outputs *o, const struct profile *p, __u64 now_ns);
/*
 * Writes the rest and says on stderr what is where; without samples no file is made. The first failure,
 * with *err filled, or 0.
 */
int outputs__finish(struct outputs *o, const struct profile *p, unsigned event, bool quiet,
		    struct error *err) __attribute__((warn_unused_result));
/* Is one of them of this format? */
/*
 * Outputs of one event have time on and off the CPU as one (profile__in_wall()), instead of the event that
 * outputs__finish() is given. Before the first sample.
 */
void outputs__join_time(struct outputs *o);
bool outputs__has(const struct outputs *o, const char *format);
/* Does one of them write to stdout? */
bool outputs__use_stdout(const struct outputs *o);
/* There is no other than the standard output, and its reader has seen enough. */
bool outputs__are_deserted(const struct outputs *o);
/* One of them shows one event only, the one that finish is given, which is shown. */
bool outputs__single(const struct outputs *o, const struct event_spec *shown);
/* Samples come one by one, and nobody knows when they were. */
void outputs__without_times(struct outputs *o);
/* One of them writes sample by sample. */
bool outputs__stream(const struct outputs *o);
/* One of them does, or keeps them until the end. */
bool outputs__take_samples(const struct outputs *o);
/* One of them wants native frames by address. */
bool outputs__use_addresses(const struct outputs *o);
/* One of them writes the names of frames while it records. */
bool outputs__use_names(const struct outputs *o);
/* One of them shows source lines of native code, whatever the options. */
bool outputs__use_sources(const struct outputs *o);

#endif /* KRAIT_CMD_OUTPUTS_H */
