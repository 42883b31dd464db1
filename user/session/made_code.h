/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_code.h - rows of code that a process has made (a JIT's, CPython's trampolines), read from its memory.
 *
 * Mappings of such code that lie near each other are a group, which has a number in the kernel's tables as a
 * file has. A look reads the code, and what memory lies beside it, and has a parser find rows there
 * (unwind/made_rows.h).
 *
 * Must hold: what the memory says has an effect on the stacks of that process only, so its mappings are
 * shared with no other (session/unwinding.c). A look reads MADE_BYTES_MAX at most; all rows of made code
 * have room for MADE_WORDS_MAX words, shared fairly between owners; looks of which nothing comes become rare.
 */
#ifndef KRAIT_SESSION_MADE_CODE_H
#define KRAIT_SESSION_MADE_CODE_H

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

/* What looks are made with; all of it is borrowed. */
struct made_code_tools {
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct native_files *native_files;
	struct quota *words;
};

/* Of a process with mappings; NULL: out of memory. */
struct made_code *made_code__new(const struct made_code_tools *tools);
void made_code__free(struct made_code *m);

/*
 * The process's mappings (space's) have changed, or a walk found no rows in made code: looks at it if it is time.
 * True: some numbers have changed.
 */
bool made_code__look(struct made_code *m, struct process *p, const struct space *space, bool mapped,
		     __u64 now_ns);

/* The number of the group that a mapping is in, 0 none, and the address of its offset 0. */
__u32 made_code__number(const struct made_code *m, const struct mapping *mapping, __u64 *ret_base);
/* Another one for other numbers; 0: there are none. */
__u64 made_code__generation(const struct made_code *m);

/* A mapping of code that the process has made? */
bool made_code_is(const struct mapping *mapping);

#endif /* KRAIT_SESSION_MADE_CODE_H */
