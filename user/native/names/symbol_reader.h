/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_reader.h - symbols of open files, read by parsers (process/parser/parser.h).
 *
 * Root's files have their own parser, and a few other owners one each; if there are more owners,
 * they take turns. A parser has some dozen files open; others replace them, and they are opened
 * again when needed. So whatever a hostile file does to a parser costs files of the same owner a
 * second of work, and no one else's.
 *
 * Must hold: a file in whose job a parser has died or taken too long is never used again. An owner
 * other than root for whom krait has waited too long is not served until the balance is restored.
 */
#ifndef KRAIT_NATIVE_NAMES_SYMBOL_READER_H
#define KRAIT_NATIVE_NAMES_SYMBOL_READER_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/parser/parser.h"

/* Stands for a user, for files that need a parser separate from root's. */
#define SYMBOL_OWNER_NOBODY ((uid_t)-2)

struct symbol_reader;
struct symbol_parser;
struct unwind_rows;

/* A file, in its user's memory. The user sets the members up to size; all others are 0 initially. */
struct symbol_file {
	int fd, debug_fd; /* owned until symbol_reader__close(); -1: none */
	bool everybody; /* may read it, and so map it */
	uid_t owner;
	__u64 size; /* bytes */
	bool bad;
	struct symbol_parser *parser; /* that has it open; NULL: none */
	__u32 number; /* number in the parser */
};

/* NULL: out of memory. */
struct symbol_reader *symbol_reader__new(void) __attribute__((warn_unused_result));
/* Starts what it takes to start parsers, while krait still has all its rights. */
void symbol_reader__prepare(struct symbol_reader *r) __attribute__((nonnull));
/*
 * A recording asks, which has to end in time. Parsers then run at its priority, for a short time
 * (base/system/priority.h), and one that still gets no processor is waited for at most half a second plus
 * a tenth of the time in total. Asking the same again later gets the answer once it is there.
 */
void symbol_reader__hurry(struct symbol_reader *r) __attribute__((nonnull));
/* How often we stopped waiting for an answer. */
__u64 symbol_reader__late(const struct symbol_reader *r) __attribute__((nonnull));
/* As parsers__tap(). */
void symbol_reader__tap(struct symbol_reader *r, parse_tap_fn fn, void *ctx)
	__attribute__((nonnull(1)));
/*
 * Ends parsers that have been idle that long: a parser keeps what it has read from up to 640 MB of
 * files. The next question starts it again.
 */
void symbol_reader__rest(struct symbol_reader *r, __u64 idle_ns) __attribute__((nonnull));
void symbol_reader__free(struct symbol_reader *r);

/*
 * Reads the file's properties. Returns 0 and *ret; -EAGAIN: not now, because its owner has used its
 * share, or the parser is late; -errno: it has no symbols, or is bad.
 */
int symbol_reader__open(struct symbol_reader *r, struct symbol_file *f, struct parser_opened *ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * What is at these offsets, at most PARSER_PLACES_MAX. *ret has at least one answer and is valid
 * until the next call. Returns as above.
 */
int symbol_reader__find(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			__u32 cnt, const struct parser_found **ret)
	__attribute__((warn_unused_result, nonnull));

/* Their source lines and inlined functions. As symbol_reader__find(). */
int symbol_reader__sources(struct symbol_reader *r, struct symbol_file *f, const __u64 *offsets,
			   __u32 cnt, const struct parser_sources **ret)
	__attribute__((warn_unused_result, nonnull));

/*
 * How to unwind its code. *ret is valid until the next call of this function. Returns as above;
 * -ENODATA: the file does not say.
 */
int symbol_reader__rows(struct symbol_reader *r, struct symbol_file *f, struct unwind_rows *ret)
	__attribute__((warn_unused_result, nonnull));

/* The same for an owner's generated code (native/rows/made_rows.h); the caller keeps the descriptor. */
int symbol_reader__made_rows(struct symbol_reader *r, int fd, uid_t owner, struct unwind_rows *ret)
	__attribute__((warn_unused_result, nonnull));

/* Closes its descriptors, too. */
void symbol_reader__close(struct symbol_reader *r, struct symbol_file *f) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_SYMBOL_READER_H */
