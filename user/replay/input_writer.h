/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input_writer.h - writes the log of inputs (input_log.h) while a session records.
 *
 * What cannot be written ends the log, not the recording: the first failure is said at the end. The log
 * has memory of the processes that are recorded.
 *
 * Not in the log: files, of which it has what parsers said; a filter, of which it has that there was one; and
 * whose rights processes have at the moment, by which a page shows sources (session/whose.h).
 *
 * Must hold: any thread may call; nothing is written once the log has ended.
 */
#ifndef KRAIT_REPLAY_INPUT_WRITER_H
#define KRAIT_REPLAY_INPUT_WRITER_H

#include <sys/types.h>

#include "replay/input_log.h"
#include "target/parser.h"
#include "target/probe.h"

struct input_writer;

/* out: borrowed. NULL when out of memory. */
struct input_writer *input_writer__new(FILE *out) __attribute__((nonnull));
void input_writer__free(struct input_writer *w);
/* Nothing more comes. The first failure of all, or 0. */
int input_writer__end(struct input_writer *w) __attribute__((warn_unused_result, nonnull));

void input_writer__record(struct input_writer *w, const void *data, size_t size)
	__attribute__((nonnull));
/* A probe_tap_fn; ctx is the writer. */
void input_writer_answer(void *ctx, const struct probe_request *r, int result, const void *data,
			 size_t len, const int fds[PROBE_FDS_MAX]);
/* A parse_tap_fn; ctx is the writer. */
void input_writer_parsed(void *ctx, const struct parse_tapped *tapped);
/* A kernel_tap_fn; ctx is the writer. Written once for each symbol. */
void input_writer_kernel(void *ctx, __u64 start, const char *name, const char *module);
void input_writer__session(struct input_writer *w, const struct input_session *session)
	__attribute__((nonnull));
/* w: NULL, and nothing is written. Returns result. */
int input_writer__fact(struct input_writer *w, enum input_question_op op, pid_t pid, int result,
		       __u64 value);

#endif /* KRAIT_REPLAY_INPUT_WRITER_H */
