/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_text.h - a text with an index of its lines, and which of these a code object runs (kept_sources.h).
 *
 * Must hold: text and code object are a target's and may be anything. A look takes time in proportion to the table's entries, of
 * which there is a limit, plus the text's lines.
 */
#ifndef KRAIT_RECORD_SAMPLES_SOURCE_TEXT_H
#define KRAIT_RECORD_SAMPLES_SOURCE_TEXT_H

#include <linux/types.h>
#include <stddef.h>

struct profile_code;

/* Entries of a line table to look at: more than 100,000 lines of Python have. */
#define SOURCE_ENTRIES_MAX (1U << 18)

/* All zero: none. */
struct source_text {
	char *text;
	__u32 *starts; /* of each line */
	__u32 line_cnt;
	size_t bytes; /* of memory */
};

struct source_span {
	int first, last; /* lines, from 1 */
};

/* Takes over text, on failure, too: size bytes and a NUL. Returns 0; -EINVAL: there is another NUL in it; -ENOMEM. */
int source_text_init(struct source_text *t, char *text, size_t size)
	__attribute__((warn_unused_result, nonnull));
void source_text_deinit(struct source_text *t);
/* Where a line begins; NULL: there is no such line. */
const char *source_text_line(const struct source_text *t, int number);

/*
 * Is a code object of that qualified name where it says, and does it execute lines that can be executed? Returns 0 and its lines;
 * -ENOENT: no; -E2BIG: its line table has too many entries.
 */
int source_text_fits(const struct source_text *t, const struct profile_code *code,
		     const char *qualname, struct source_span *ret)
	__attribute__((warn_unused_result, nonnull));
/*
 * Of a code object that fits only what it executes itself: calls fn for each run of lines, in order, until that fails. Returns
 * what it returned, or -ENOMEM.
 */
int source_text_each_run(const struct source_text *t, const struct profile_code *code,
			 int (*fn)(void *ctx, struct source_span run), void *ctx)
	__attribute__((warn_unused_result, nonnull(1, 2, 3)));

#endif /* KRAIT_RECORD_SAMPLES_SOURCE_TEXT_H */
