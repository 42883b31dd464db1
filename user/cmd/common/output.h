/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - one output of a command: its emitter, the file that it becomes, and the final message.
 *
 * Must hold: an emitter ends while its stream is open. A profile that cannot be written to its
 * place is saved elsewhere if possible.
 */
#ifndef KRAIT_CMD_COMMON_OUTPUT_H
#define KRAIT_CMD_COMMON_OUTPUT_H

#include <stdbool.h>

#include "output/emitter.h"

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

bool output_is_stdout(const struct output *out) __attribute__((nonnull));
/* Releases it; unfinished output is discarded. */
void output_close(struct output *out) __attribute__((nonnull));
/*
 * Writes the rest and publishes the file. quiet: print no message. Returns 0, or an exit code with
 * the reason in *err.
 */
int output_finish(struct output *out, const struct profile *p, unsigned event, bool quiet,
		  struct error *err) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_CMD_COMMON_OUTPUT_H */
