/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outputs.h - the files of a recording: opened before it starts, finished when it ends.
 *
 * A path that cannot be written is refused before recording. An old file of that name stays until
 * the new one is complete (base/files/output_file.h); in a recording, streaming formats take their name
 * with the first samples. If writing fails later (disk full), krait reports it at once, saves
 * formats that are written at the end elsewhere, and keeps what a streaming format has written.
 *
 * Must hold: a failing output never affects another; a command that fails changes no file.
 */
#ifndef KRAIT_CMD_COMMON_OUTPUTS_H
#define KRAIT_CMD_COMMON_OUTPUTS_H

#include <stdbool.h>

#include "output/emitter.h"

struct error;
struct outputs;

/* live: for a recording, which must lose nothing if killed. */
struct outputs *outputs__new(bool live);
/* Discards unfinished outputs. */
void outputs__free(struct outputs *o);

/*
 * Adds a file ("-" is stdout). format: a name for -f; NULL: decide by suffix. keep_old: rename an
 * old file to NAME.old. *options: as for an emitter.
 */
int outputs__add(struct outputs *o, const char *path, const char *format, bool keep_old,
		 const struct emit_options *options, struct error *err)
	__attribute__((warn_unused_result));

/* Passes a sample to the streaming formats. Returns false if no output can be written any more. */
bool outputs__sample(struct outputs *o, const struct profile *p, const struct profile_sample *s);
/*
 * Call several times a second, with the samples' clock, to do what is due even without samples.
 * Returns as above.
 */
bool outputs__tick(struct outputs *o, const struct profile *p, __u64 now_ns);
/*
 * Writes the rest and reports the files on stderr; without samples, makes no file. Returns 0, or
 * the first failure with *err filled.
 */
int outputs__finish(struct outputs *o, const struct profile *p, unsigned event, bool quiet,
		    struct error *err) __attribute__((warn_unused_result));
/* Is one of them of this format? */
/*
 * Makes outputs of one event show time on and off the CPU as one (profile__in_wall()), instead of
 * the event given to outputs__finish(). Call before the first sample.
 */
void outputs__join_time(struct outputs *o);
bool outputs__has(const struct outputs *o, const char *format);
/* Tells whether one of them writes to stdout. */
bool outputs__use_stdout(const struct outputs *o);
/* Tells whether stdout is the only output and its reader has left. */
bool outputs__are_deserted(const struct outputs *o);
/*
 * Tells whether one of them shows only one event, the one given to outputs__finish(), which is
 * "shown".
 */
bool outputs__single(const struct outputs *o, const struct event_spec *shown);
/* Says that samples have no times. */
void outputs__without_times(struct outputs *o);
/* Tells whether one of them writes sample by sample. */
bool outputs__stream(const struct outputs *o);
/* Tells whether one of them does, or collects samples until the end. */
bool outputs__take_samples(const struct outputs *o);
/* Tells whether one of them wants native frames by address. */
bool outputs__use_addresses(const struct outputs *o);
/* Tells whether one of them writes frames' names while recording. */
bool outputs__use_names(const struct outputs *o);
/* Tells whether one of them shows source lines of native code regardless of options. */
bool outputs__use_sources(const struct outputs *o);

#endif /* KRAIT_CMD_COMMON_OUTPUTS_H */
