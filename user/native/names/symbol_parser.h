/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_parser.h - a parser and the files that it has open, as seen by symbol_reader.c, which
 * gives it jobs.
 *
 * Must hold: an open file refers to its parser (symbol_file.parser), and a closed one to none; the
 * files of one parser fit into its address space.
 */
#ifndef KRAIT_NATIVE_NAMES_SYMBOL_PARSER_H
#define KRAIT_NATIVE_NAMES_SYMBOL_PARSER_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "native/names/symbol_reader.h"
#include "process/parser/parser.h"

struct symbol_parser {
	struct parser *process; /* NULL: not running */
	uid_t owner;
	bool is_urgent; /* it began at krait's priority */
	__u64 used_ns; /* CLOCK_MONOTONIC: its last job */
	__u64 used; /* in jobs */
	__u64 bytes; /* of the open files */
	struct symbol_file *files[PARSER_FILES_MAX];
	__u64 files_used[PARSER_FILES_MAX];
	/* We stopped waiting for its job's answer. It is taken when the same is asked again. */
	bool is_late;
	struct symbol_file *late; /* whose job that is; NULL: it was closed meanwhile */
	struct parser_request asked;
};

/* Its files stay known, and are opened again when they are needed. */
void symbol_parser_end(struct symbol_parser *p) __attribute__((nonnull));
/* The parser closes that file. */
void symbol_parser_forget(struct symbol_parser *p, __u32 number) __attribute__((nonnull));
/*
 * Nobody wants the late answer any more; has it arrived, so that another job can be sent? Returns
 * 0; -EAGAIN: not yet, or the parser has ended.
 */
int symbol_parser_drop_late(struct symbol_parser *p) __attribute__((warn_unused_result, nonnull));
/*
 * A number for a file of that size: a free one, or that of the least recently used file. Not while
 * its answer is late.
 */
__u32 symbol_parser_make_room(struct symbol_parser *p, __u64 size) __attribute__((nonnull));

/* Gives it a job; an earlier one that nobody waited for is dropped. Returns 0; -EAGAIN: not now. */
int symbol_parser_ask(struct symbol_parser *p, struct symbol_file *f,
		      const struct parser_request *request)
	__attribute__((warn_unused_result, nonnull));
/* Is that the job it is doing, or has finished meanwhile? */
bool symbol_parser_is_asked(const struct symbol_parser *p, const struct symbol_file *f,
			    const struct parser_request *request) __attribute__((nonnull));
/* It has ended, or taken too long, in a job for that file, which is not used again. Returns err. */
int symbol_parser_fail(struct symbol_parser *p, struct symbol_file *f, int err)
	__attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_SYMBOL_PARSER_H */
