/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser_protocol.h - what krait asks a parser, and what it answers: one message each.
 *
 * A parser gets descriptors of files, numbers and the name of a probe, never a path. Its answers deserve no
 * more trust than the files: parser_answer_check() checks lengths, ranges and terminators before
 * anything is used.
 */
#ifndef KRAIT_PROCESS_PARSER_PARSER_PROTOCOL_H
#define KRAIT_PROCESS_PARSER_PARSER_PROTOCOL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "process/elf/elf_runtime.h"
#include "process/elf/elf_table.h"

/* Files with symbols that one parser has open; each holds up to two descriptors. */
#define PARSER_FILES_MAX 64
#define PARSER_PLACES_MAX 128
/* Longer names are cut, at a character boundary. */
#define PARSER_NAME_MAX 4000
/* Bytes of all names in one answer. */
#define PARSER_NAMES_MAX 49152
#define PARSER_BUILD_ID_MAX 20
#define PARSER_WHY_MAX 96
/* Functions at all offsets of one answer, which is then as large as one with names. */
#define PARSER_SOURCE_FRAMES 295
/* Words of a file's rows in one answer. */
#define PARSER_ROW_WORDS 12000
/* Places of one probe: a compiler may have inlined what has a mark into many functions. */
#define PROBE_PLACES_MAX 128
/* With the NUL. */
#define PROBE_NAME_MAX 256

enum parser_job {
	PARSER_NONE,
	PARSER_DWARF, /* descriptors: a file, and one with its debug information or none */
	PARSER_OPEN, /* descriptors: as above. From now on the number denotes the file's symbols */
	PARSER_FIND, /* what is at these offsets of an open file? */
	PARSER_CLOSE, /* no answer */
	PARSER_RUNTIME, /* a descriptor: what does the file say about a Python runtime in it? */
	PARSER_TABLE, /* a descriptor: does the file have a table of kind `at`? */
	PARSER_ROWS, /* a descriptor: how to unwind its code (bpf/native/rows.h); the first words of it */
	PARSER_ROWS_MADE, /* the same for code that a process has generated (native/rows/made_rows.h) */
	PARSER_ROWS_MORE, /* the words from `at` on, for the last file */
	/* which source line do these offsets have, and which functions were inlined there? */
	PARSER_SOURCE,
	PARSER_PROBE, /* a descriptor: where is that probe of kind `at` (native/names/probe_places.h)? */
	PARSER_JOB_CNT
};

enum probe_kind { PROBE_FUNCTION, PROBE_MARK, PROBE_KINDS };

struct parser_request {
	__u32 job;
	__u32 file; /* a number below PARSER_FILES_MAX: OPEN, FIND, SOURCE, CLOSE */
	__u32 version; /* PY_VERSION_HEX: DWARF */
	__u32 cnt; /* of offsets: FIND, SOURCE; of words of the name: PROBE */
	/* number of a word: ROWS_MORE; enum published_kind: TABLE; enum probe_kind: PROBE */
	__u32 at;
	__u32 unused;
	union {
		__u64 offsets[PARSER_PLACES_MAX]; /* only cnt of them are sent */
		char name[PROBE_NAME_MAX]; /* ends with NULs */
	};
};

struct parser_opened {
	__u32 build_id_size;
	__u32 has_symbols; /* its own symbol table: there is no need to search separate files */
	__u8 build_id[PARSER_BUILD_ID_MAX];
	__u32 unused;
};

/* All offsets from start up to end are alike. */
struct parser_place {
	__u64 start, end;
	__u64 symbol_start;
	__u32 name; /* offset in names; PARSER_NO_NAME: none */
	__u32 is_wrapper; /* 1: the function only calls the one with that name (demangle.h) */
	__u32 is_python; /* 1: it is CPython's own (symbol_ranges.c) */
	__u32 unused;
};
#define PARSER_NO_NAME (~0U)

/* Covers the first cnt offsets: at least one, maybe not all. */
struct parser_found {
	__u32 cnt;
	__u32 names_size;
	struct parser_place places[PARSER_PLACES_MAX];
	char names[PARSER_NAMES_MAX]; /* only names_size bytes are sent */
};

/*
 * The functions at one offset, from the outermost on: the one that has the symbol, then the inlined
 * ones. Names and files are offsets in names; PARSER_NO_NAME: unknown; the first function has no
 * name here.
 */
struct parser_source_frame {
	__u32 name, file;
	__s32 line; /* 0 unknown */
};

/* Covers the first cnt offsets: at least one, maybe not all. */
struct parser_sources {
	__u32 cnt;
	__u32 names_size;
	__u32 split_cnt; /* of these: what was inlined there is in other files (split DWARF) */
	__u32 unused;
	__u32 ends[PARSER_PLACES_MAX]; /* one past the last frame of each; the first begins at 0 */
	struct parser_source_frame frames[PARSER_SOURCE_FRAMES];
	char names[PARSER_NAMES_MAX]; /* only names_size bytes are sent */
};

/*
 * The words of rule_cnt rules, the row counts of page_cnt pages, and row_cnt rows: word_cnt of
 * these words, from at on.
 */
struct parser_rows {
	__u32 first_page, page_cnt, rule_cnt, row_cnt;
	__u32 at, word_cnt;
	__u32 words[PARSER_ROW_WORDS]; /* only word_cnt of them are sent */
};

struct parser_probe {
	__u64 offset; /* in the file */
	__u64 counter_offset; /* of the 16 bits that count who listens, in the file; 0: none */
};

struct parser_probes {
	__u32 cnt;
	__u32 unused;
	struct parser_probe list[PROBE_PLACES_MAX];
	char there[1024]; /* of marks: which there are, as many as fit; printable */
};

struct parser_dwarf {
	struct py_offsets offsets; /* valid if result is 0 */
	char why[PARSER_WHY_MAX]; /* valid otherwise */
};

struct parser_answer {
	__u32 job;
	/* 0 or -errno; what follows is filled only for 0, except dwarf.why, which is always filled */
	__s32 result;
	union {
		struct parser_dwarf dwarf;
		struct parser_opened opened;
		struct parser_found found;
		struct parser_sources sources;
		struct elf_runtime runtime; /* -ENOENT, -ENOEXEC: none; elf_runtime_read() */
		struct elf_table table; /* likewise; elf_table_read() */
		struct parser_rows rows;
		struct parser_probes probes;
	};
};

/* Bytes of a request to be sent. */
static inline size_t parser_request_size(const struct parser_request *r)
{
	return offsetof(struct parser_request, offsets) +
	       (r->job == PARSER_FIND || r->job == PARSER_SOURCE || r->job == PARSER_PROBE ?
			r->cnt * sizeof(r->offsets[0]) :
			0);
}

/* Is this message a request? */
bool parser_request_check(const struct parser_request *r, size_t len) __attribute__((nonnull));

/*
 * Is this a well-formed answer to that request? Offsets are still claims of the file: check them
 * against a live process before use.
 */
bool parser_answer_check(const struct parser_answer *a, size_t len,
			 const struct parser_request *request) __attribute__((nonnull));

/* Bytes of an answer to be sent. */
size_t parser_answer_size(const struct parser_answer *a) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_PARSER_PARSER_PROTOCOL_H */
