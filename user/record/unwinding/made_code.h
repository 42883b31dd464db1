/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_code.h - rows for code that a process generated (a JIT's, CPython's trampolines), read from
 * its memory.
 *
 * Mappings of such code that lie near each other form a group, which has a number in the kernel's
 * tables as a file has. A look reads the code and the memory beside it, and has a parser find rows
 * there (native/rows/made_rows.h).
 *
 * Must hold: the contents of a process's memory affect the stacks of that process only, so its
 * mappings are shared with no other (record/unwinding/unwinding.c). A look reads MADE_BYTES_MAX at most. The
 * rows of all generated code together take at most MADE_WORDS_MAX words, shared fairly between
 * owners. Looks without a result become rare.
 */
#ifndef KRAIT_RECORD_UNWINDING_MADE_CODE_H
#define KRAIT_RECORD_UNWINDING_MADE_CODE_H

#include <linux/types.h>
#include <stdbool.h>

struct made_code;
struct mapping;
struct native_files;
struct process;
struct quota;
struct space;
struct unwind_files;
struct unwind_tables;

/* 16 MiB. */
#define MADE_WORDS_MAX (4ULL << 20)

/* What looks need; all are borrowed. */
struct made_code_tools {
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct native_files *native_files;
	struct quota *words;
};

/* For a process with mappings; NULL: out of memory. */
struct made_code *made_code__new(const struct made_code_tools *tools);
void made_code__free(struct made_code *m);

/*
 * The process's mappings (in space) have changed, or a walk found no rows in generated code:
 * examines it if it is time. True: some numbers have changed.
 */
bool made_code__look(struct made_code *m, struct process *p, const struct space *space, bool mapped,
		     __u64 now_ns);

/*
 * The number of the group that contains the mapping (0: none), and the address of the group's
 * offset 0.
 */
__u32 made_code__number(const struct made_code *m, const struct mapping *mapping, __u64 *ret_base);
/* Changes whenever the numbers do; 0: there are none. */
__u64 made_code__generation(const struct made_code *m);

/* Is this a mapping of generated code? */
bool made_code_is(const struct mapping *mapping);

#endif /* KRAIT_RECORD_UNWINDING_MADE_CODE_H */
