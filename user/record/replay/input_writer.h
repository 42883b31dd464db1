/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input_writer.h - writes the log of inputs (input_log.h) while a session records.
 *
 * A write error ends the log, not the recording: the first error is reported at the end. The log
 * contains memory of the recorded processes.
 *
 * Not in the log: files (only what parsers said of them), filters (only whether there was one), and
 * processes' current rights, by which a page shows sources (record/samples/whose.h).
 *
 * Must hold: any thread may call; nothing is written once the log has ended.
 */
#ifndef KRAIT_RECORD_REPLAY_INPUT_WRITER_H
#define KRAIT_RECORD_REPLAY_INPUT_WRITER_H

#include <sys/types.h>

#include "record/replay/input_log.h"
#include "process/parser/parser.h"
#include "process/probe/probe.h"

struct input_writer;

/* out: borrowed. Returns NULL if out of memory. */
struct input_writer *input_writer__new(FILE *out) __attribute__((nonnull));
void input_writer__free(struct input_writer *w);
/* Ends the log. Returns the first error of all, or 0. */
int input_writer__end(struct input_writer *w) __attribute__((warn_unused_result, nonnull));

void input_writer__record(struct input_writer *w, const void *data, size_t size)
	__attribute__((nonnull));
/* A probe_tap_fn; ctx is the writer. */
void input_writer_answer(void *ctx, const struct probe_request *r, int result, const void *data,
			 size_t len, const int fds[PROBE_FDS_MAX]);
/* A parse_tap_fn; ctx is the writer. */
void input_writer_parsed(void *ctx, const struct parse_tapped *tapped);
/* A kernel_tap_fn; ctx is the writer. Writes each symbol once. */
void input_writer_kernel(void *ctx, __u64 start, const char *name, const char *module);
void input_writer__session(struct input_writer *w, const struct input_session *session)
	__attribute__((nonnull));
/* w: NULL writes nothing. Returns result. */
int input_writer__fact(struct input_writer *w, enum input_question_op op, pid_t pid, int result,
		       __u64 value);

#endif /* KRAIT_RECORD_REPLAY_INPUT_WRITER_H */
