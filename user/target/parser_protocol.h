/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser_protocol.h - what krait asks a parser, and what that answers: one message each.
 *
 * A parser gets descriptors of files and numbers, never a path or a name. Its answers are as little to
 * be trusted as the files: parser_answer_check() looks at lengths, ranges and ends of texts before
 * anything is taken from one.
 */
#ifndef KRAIT_TARGET_PARSER_PROTOCOL_H
#define KRAIT_TARGET_PARSER_PROTOCOL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "target/elf_runtime.h"
#include "target/elf_table.h"

/* Of symbols, open in one parser at once; each holds up to two descriptors. */
#define PARSER_FILES_MAX 64
/* Of each, files of split DWARF that are open at once: its package, and those of units. */
#define PARSER_HALVES_MAX 9
#define PARSER_PLACES_MAX 128
/* Longer names are cut, where a character ends. */
#define PARSER_NAME_MAX 4000
/* Bytes of all names in one answer. */
#define PARSER_NAMES_MAX 49152
#define PARSER_BUILD_ID_MAX 20
#define PARSER_WHY_MAX 96
/* Functions at all offsets of one answer, which stays as large as one with names. */
#define PARSER_SOURCE_FRAMES 295
/* Words of a file's rows in one answer. */
#define PARSER_ROW_WORDS 12000

enum parser_job {
	PARSER_NONE,
	PARSER_DWARF, /* descriptors: a file, and one with its debug information or none */
	PARSER_OPEN, /* descriptors: as above. From now on the number stands for the file's symbols */
	PARSER_FIND, /* what is at these offsets of an open file? */
	PARSER_CLOSE, /* no answer */
	PARSER_RUNTIME, /* a descriptor: what does the file say of a Python runtime in it? */
	PARSER_TABLE, /* a descriptor: has the file a table of kind `at`? */
	PARSER_ROWS, /* a descriptor: how its code is unwound (bpf/rows.h); the first words of that */
	PARSER_ROWS_MADE, /* the same of code that a process has made (unwind/made_rows.h) */
	PARSER_ROWS_MORE, /* the words from `at` on, of the file asked last */
	PARSER_SOURCE, /* in which source line are these offsets, and which functions were inlined there? */
	PARSER_HALF, /* what SOURCE has wanted (`at`, of the id in offsets): a descriptor, or none: there is none */
	PARSER_JOB_CNT
};

/* Where split DWARF has the rest of what it says (symbol/dwarf_halves.h). */
enum parser_half { PARSER_HALF_NONE, PARSER_HALF_PACKAGE, PARSER_HALF_UNIT, PARSER_HALF_CNT };

struct parser_request {
	__u32 job;
	__u32 file; /* a number below PARSER_FILES_MAX: OPEN, FIND, SOURCE, HALF, CLOSE */
	__u32 version; /* PY_VERSION_HEX: DWARF */
	__u32 cnt; /* of offsets: FIND, SOURCE; HALF: 1 */
	__u32 at; /* a number of a word: ROWS_MORE; an enum published_kind: TABLE; enum parser_half: HALF */
	__u32 unused;
	__u64 offsets[PARSER_PLACES_MAX]; /* only cnt of them are sent */
};

struct parser_opened {
	__u32 build_id_size;
	__u32 has_symbols; /* a symbol table of its own: separate ones need not be searched */
	__u8 build_id[PARSER_BUILD_ID_MAX];
	__u32 unused;
};

/* All offsets from start up to end are alike. */
struct parser_place {
	__u64 start, end;
	__u64 symbol_start;
	__u32 name; /* where it is in names; PARSER_NO_NAME */
	__u32 is_wrapper; /* 1: it only calls the function of that name (demangle.h) */
};
#define PARSER_NO_NAME (~0U)

/* For the first cnt offsets, which may be fewer than asked for, but at least one. */
struct parser_found {
	__u32 cnt;
	__u32 names_size;
	struct parser_place places[PARSER_PLACES_MAX];
	char names[PARSER_NAMES_MAX]; /* only names_size bytes are sent */
};

/*
 * Of an offset the functions from the outermost on: that which has its symbol, and those inlined there.
 * Names and files are where they are in names; PARSER_NO_NAME: unknown, and the first has none.
 */
struct parser_source_frame {
	__u32 name, file;
	__s32 line; /* 0 unknown */
};

/*
 * For the first cnt offsets, which may be fewer than asked for, but at least one; or none, and what the first one needs:
 * a package, or the file of the unit of that id, by its name and where it was made.
 */
struct parser_sources {
	__u32 cnt;
	__u32 names_size;
	__u64 half_id;
	__u32 half; /* enum parser_half; with cnt 0 only */
	__u32 folder,
		name; /* where they are in names; PARSER_NO_NAME: unknown, and no name without half */
	__u32 unused;
	__u32 ends[PARSER_PLACES_MAX]; /* one past the last frame of each; the first begins at 0 */
	struct parser_source_frame frames[PARSER_SOURCE_FRAMES];
	char names[PARSER_NAMES_MAX]; /* only names_size bytes are sent */
};

/*
 * The words of rule_cnt rules, the numbers of rows of page_cnt pages, row_cnt rows: word_cnt of them from
 * at on.
 */
struct parser_rows {
	__u32 first_page, page_cnt, rule_cnt, row_cnt;
	__u32 at, word_cnt;
	__u32 words[PARSER_ROW_WORDS]; /* only word_cnt of them are sent */
};

struct parser_dwarf {
	struct py_offsets offsets; /* with 0 only */
	char why[PARSER_WHY_MAX]; /* otherwise */
};

struct parser_answer {
	__u32 job;
	__s32 result; /* 0 or -errno; what follows is filled with 0 only, dwarf.why always */
	union {
		struct parser_dwarf dwarf;
		struct parser_opened opened;
		struct parser_found found;
		struct parser_sources sources;
		struct elf_runtime runtime; /* -ENOENT, -ENOEXEC: none; elf_runtime_read() */
		struct elf_table table; /* the same; elf_table_read() */
		struct parser_rows rows;
	};
};

/* Bytes of a request that is sent. */
static inline size_t parser_request_size(const struct parser_request *r)
{
	return offsetof(struct parser_request, offsets) +
	       (r->job == PARSER_FIND || r->job == PARSER_SOURCE || r->job == PARSER_HALF ?
			r->cnt * sizeof(r->offsets[0]) :
			0);
}

/* Is this message a request? */
bool parser_request_check(const struct parser_request *r, size_t len) __attribute__((nonnull));

/*
 * Is this an answer to that request that may be believed to be one? Offsets are still those
 * of the file: who uses them checks them against a live process.
 */
bool parser_answer_check(const struct parser_answer *a, size_t len,
			 const struct parser_request *request) __attribute__((nonnull));

/* Bytes of an answer that is sent. */
size_t parser_answer_size(const struct parser_answer *a) __attribute__((nonnull));

#endif /* KRAIT_TARGET_PARSER_PROTOCOL_H */
