/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_reader.h - symbols of open files, read by parsers (target/parser.h).
 *
 * Root's files have a parser, and a few owners of others one each; owners take turns where they are
 * more. A parser has some dozen files open; others take their place and are opened again when they are
 * asked. So what a hostile file does to a parser costs files of the same owner a second of work, and
 * nobody else's.
 *
 * Must hold: a file in whose job a parser has died or taken too long is never asked again. An owner
 * other than root for whom krait has waited too long is not served until that is made up for.
 */
#ifndef KRAIT_SYMBOL_SYMBOL_READER_H
#define KRAIT_SYMBOL_SYMBOL_READER_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "target/parser.h"

/* Instead of a user, for files that have a parser apart from root's. */
#define SYMBOL_OWNER_NOBODY ((uid_t)-2)

struct symbol_reader;
struct symbol_parser;
struct unwind_rows;

/* A file, in its user's memory. The first four are the user's to set, all else is 0 at first. */
struct symbol_file {
	int fd, debug_fd; /* owned until symbol_reader__close(); -1 none */
	uid_t owner;
	__u64 size; /* bytes */
	bool bad;
	struct symbol_parser *parser; /* that has it open; NULL none */
	__u32 number; /* there */
	const int *half; /* to be handed over with a job of that; NULL none */
};

/* NULL: out of memory. */
struct symbol_reader *symbol_reader__new(void) __attribute__((warn_unused_result));
void symbol_reader__prepare(struct symbol_reader *r) __attribute__((nonnull));
/*
 * It is a recording that asks, which has to end in time: parsers run at its priority, for a moment at a time
 * (util/priority.h), and one that then gets no processor is not waited for for longer than half a second and a
 * tenth of the time in all. Whoever asks the same again later gets the answer when it is there.
 */
void symbol_reader__hurry(struct symbol_reader *r) __attribute__((nonnull));
/* How often an answer was not waited for any longer. */
__u64 symbol_reader__late(const struct symbol_reader *r) __attribute__((nonnull));
/* As parsers__tap(). */
void symbol_reader__tap(struct symbol_reader *r, parse_tap_fn fn, void *ctx)
	__attribute__((nonnull(1)));
/*
 * Ends parsers that have had nothing to do for so long: a parser holds what it has read of up to 640 MB of files. What
 * is asked next starts it again.
 */
void symbol_reader__rest(struct symbol_reader *r, __u64 idle_ns) __attribute__((nonnull));
void symbol_reader__free(struct symbol_reader *r);

/*
 * Reads what the file is. 0 and *ret; -EAGAIN: not now, its owner has had its share, or the parser is late;
 * -errno: it is no file with symbols, or bad.
 */
int symbol_reader__open(struct symbol_reader *r, struct symbol_file *f, struct parser_opened *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * What is at these offsets, at most PARSER_PLACES_MAX. *ret has at least one answer and is valid until
 * the next call. As above.
 */
int symbol_reader__find(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			__u32 cnt, const struct parser_found **ret)
	__attribute__((warn_unused_result, nonnull));

/* In which source lines these are, and what was inlined there. As symbol_reader__find(); or no answer and .half. */
int symbol_reader__sources(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			   __u32 cnt, const struct parser_sources **ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * What that has wanted (parser_sources.half): a descriptor, which stays the caller's, or -1: there is none. 0; -ESTALE: it
 * is of another unit; -errno: of no use, or as above.
 */
int symbol_reader__half(struct symbol_reader *r, struct symbol_file *f, enum parser_half what,
			__u64 id, int fd) __attribute__((warn_unused_result, nonnull));
/* krait has waited for something else of that file. */
void symbol_reader__note_wait(struct symbol_reader *r, const struct symbol_file *f, __u64 ns)
	__attribute__((nonnull));

/*
 * How its code is unwound. *ret is valid until the next call of this function. As above; -ENODATA: it
 * does not say.
 */
int symbol_reader__rows(struct symbol_reader *r, struct symbol_file *f, struct unwind_rows *ret)
	__attribute__((warn_unused_result, nonnull));

/* The same of an owner's made code (unwind/made_rows.h); the descriptor stays the caller's. */
int symbol_reader__made_rows(struct symbol_reader *r, int fd, uid_t owner, struct unwind_rows *ret)
	__attribute__((warn_unused_result, nonnull));

/* Closes its descriptors, too. */
void symbol_reader__close(struct symbol_reader *r, struct symbol_file *f) __attribute__((nonnull));

#endif /* KRAIT_SYMBOL_SYMBOL_READER_H */
