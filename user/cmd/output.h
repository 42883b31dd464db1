/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - one output of a command: what writes it, the file that becomes it, and what is said at its end.
 *
 * Must hold: an emitter ends while its stream is open; a profile that cannot be written where it was to go is saved
 * elsewhere, where that is possible.
 */
#ifndef KRAIT_CMD_OUTPUT_H
#define KRAIT_CMD_OUTPUT_H

#include <stdbool.h>

#include "emit/emitter.h"

struct error;
struct output_file;
struct profile;

struct output {
	const char *path;
	const struct emitter_ops *ops;
	const struct emit_options *options;
	struct emitter *emitter;
	struct output_file *file;
	struct emit_place place;
	int err; /* the first failure */
};

/* What it writes comes with the samples, and nobody can write it again. */
bool output_writes_samples(const struct output *out) __attribute__((nonnull));
bool output_is_stdout(const struct output *out) __attribute__((nonnull));
/* Lets go of it; what is not finished is not written. */
void output_close(struct output *out) __attribute__((nonnull));
/* Writes the rest, and the file is there. quiet: nothing is said of it. 0, or an exit code and why. */
int output_finish(struct output *out, const struct profile *p, unsigned event, bool quiet,
		  struct error *err) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_CMD_OUTPUT_H */
