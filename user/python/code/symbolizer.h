/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbolizer.h - from (code object, instruction offset) in one process to name, file and position.
 *
 * There is one symbolizer per process. Code objects are read once from the target and cached by
 * address. Addresses of code objects are reused, so a cached one is valid only while
 *  - code_generation (3.14+) is what it was when it was read or last confirmed, or
 *  - its fingerprint, taken by the kernel in the same interrupt, equals the cached one's.
 *
 * What cannot be proved is "unknown", never a guess.
 *
 * Must hold: bounded memory (least recently used code objects go), no length that was read is
 * trusted.
 */
#ifndef KRAIT_PYTHON_CODE_SYMBOLIZER_H
#define KRAIT_PYTHON_CODE_SYMBOLIZER_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "python/code/code_reader.h"
#include "python/code/linetable.h"

struct name_share;
struct symbolizer;

/* What a code object is to krait, which its names tell. */
enum code_role {
	/*
	 * When a class is called, the interpreter puts a frame of its own below __init__, which only
	 * checks that __init__ returned None (_Py_InitCleanup, Python/specialize.c, 3.13+). It is in
	 * no source, and CPython never shows it. Its code starts at line 0, as no compiled function
	 * does.
	 */
	CODE_INTERNAL = 1 << 0,
	CODE_ASYNCIO = 1 << 1, /* it belongs to asyncio or uvloop */
	CODE_LOOP = 1 << 2, /* it is asyncio's event loop, and not the program */
	/* Threads begin there: a program's main module, or threading's bootstrap. */
	CODE_THREAD_ROOT = 1 << 3,
};

/* The names of a code object; owned by the symbolizer, valid until the next call that resolves. */
struct code_symbol {
	const char *qualname; /* UTF-8, never NULL */
	const char *filename; /* UTF-8, never NULL, "": unknown */
	int first_line;
	__u64 serial; /* unique per distinct code object in this symbolizer, never reused, > 0 */
	const struct linetable *lines; /* never NULL, may be empty */
	__u64 *tag; /* the consumer's, initially 0; forgotten together with the code object */
	unsigned roles; /* enum code_role */
};

enum symbol_status {
	SYMBOL_OK,
	SYMBOL_UNREADABLE, /* memory gone, or not a code object */
	SYMBOL_LEFT_OUT, /* it is not known yet, and the share of its owner is closed */
	SYMBOL_STALE, /* the object may have been replaced since the interrupt */
};

struct symbolizer_stats {
	__u64 hits, reads, revalidations, evictions, unreadable, stale;
	__u64 defined; /* from snapshots */
};

/* Copies *offsets; borrows *memory's ctx until free. NULL and errno on failure. */
struct symbolizer *symbolizer__new(const struct py_offsets *offsets, const struct memory *memory);
void symbolizer__free(struct symbolizer *s);
/* PY_VERSION_HEX of the interpreter. */
__u32 symbolizer__version(const struct symbolizer *s);
/*
 * Limits looks into the target's memory (some reads each): at_once as a burst, refilled at per_sec,
 * and no more than is left in share, of all processes of its owner (borrowed; may be NULL). Beyond
 * that, code that the kernel has not described is SYMBOL_UNREADABLE. Unlimited before this call.
 */
void symbolizer__bound_looks(struct symbolizer *s, __u32 at_once, __u32 per_sec,
			     struct name_share *share);
/* Its owner is another one from now on. */
void symbolizer__charge(struct symbolizer *s, struct name_share *share);

/*
 * Resolves one frame. SYMBOL_OK fills both; otherwise neither is touched. *ret_position has -1 for
 * what the line table does not say; NULL: not wanted.
 */
enum symbol_status symbolizer__resolve(struct symbolizer *s, const struct code_query *query,
				       struct code_symbol *ret_code,
				       struct source_position *ret_position);

/*
 * Takes in what the kernel saw of a code object, in the interrupt of a sample that follows. A
 * malformed snapshot changes nothing: the object is then read from the target like any other. One
 * without a line table gives names without lines if the target is gone.
 */
void symbolizer__define(struct symbolizer *s, const struct record_code *record);
/*
 * For a forked child: its parent shows what code objects look like there. Call again while the
 * parent lives, before an object is defined: the child's snapshot may lack the type's name, which
 * is in a page of a file that a new child does not have in its page tables yet, but the parent has
 * it at the same address.
 */
void symbolizer__inherit(struct symbolizer *s, struct symbolizer *parent,
			 const struct record_code *record);

/* Most code units whose opcodes are read. */
#define SYMBOLIZER_UNITS_MAX 32768U
/*
 * The current opcodes of a code object that was just resolved, a byte for each of its units.
 * Returns 0; -ENOENT: another object is there, or the budget for looks is used up; -errno.
 */
int symbolizer__opcodes(struct symbolizer *s, __u64 code_addr, __u8 *ret, __u32 unit_cnt)
	__attribute__((warn_unused_result, nonnull));

/* A code object that was not known before has added so many bytes to what krait holds. */
void symbolizer__note_bytes(struct symbolizer *s, __u64 bytes);

struct symbolizer_stats symbolizer__stats(const struct symbolizer *s);

#endif /* KRAIT_PYTHON_CODE_SYMBOLIZER_H */
