/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser_jobs.h - a parser's work: turns a request and descriptors into an answer.
 *
 * Nothing here starts a process, opens a file or keeps more than the symbols of PARSER_FILES_MAX
 * files, so tests and fuzzers call it directly: parser_jobs__answer() accepts any bytes as a
 * request and any files as its descriptors.
 */
#ifndef KRAIT_NATIVE_NAMES_PARSER_JOBS_H
#define KRAIT_NATIVE_NAMES_PARSER_JOBS_H

#include <stddef.h>

#include "process/parser/parser_protocol.h"

struct parser_jobs;

/* NULL: out of memory. */
struct parser_jobs *parser_jobs__new(void) __attribute__((warn_unused_result));
void parser_jobs__free(struct parser_jobs *jobs);

/*
 * Fills *answer and returns how many bytes of it to send; 0: none, or the message is not a request.
 * The caller keeps the descriptors.
 */
size_t parser_jobs__answer(struct parser_jobs *jobs, const void *message, size_t len,
			   const int *fds, unsigned fd_cnt, struct parser_answer *answer)
	__attribute__((warn_unused_result, nonnull(1, 2, 6)));

/* The role "parser" (base/worker/role.h): starts parsers, each of which answers requests. */
int parser_serve(int channel_fd);

#endif /* KRAIT_NATIVE_NAMES_PARSER_JOBS_H */
