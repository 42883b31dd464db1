/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_spaces.h - which mappings processes have, in the kernel's tables: processes with the same
 * mappings share them.
 *
 * Must hold: a space holds the numbers of its files as long as it exists.
 */
#ifndef KRAIT_RECORD_UNWINDING_UNWIND_SPACES_H
#define KRAIT_RECORD_UNWINDING_UNWIND_SPACES_H

#include <linux/types.h>

struct made_code;
struct space;
struct unwind_files;
struct unwind_spaces;
struct unwind_tables;

/* Both are borrowed. NULL: out of memory. */
struct unwind_spaces *unwind_spaces__new(struct unwind_tables *tables, struct unwind_files *files);
void unwind_spaces__free(struct unwind_spaces *l);

/*
 * Takes a reference on the mappings with this digest and returns their number; made may be NULL. The
 * owner of their first process pays for them. 0: no room.
 */
__u32 unwind_spaces__acquire(struct unwind_spaces *l, __u64 digest, const struct space *view,
			     const struct made_code *made, unsigned owner);
/* Drops a reference. */
void unwind_spaces__release(struct unwind_spaces *l, __u64 digest);

#endif /* KRAIT_RECORD_UNWINDING_UNWIND_SPACES_H */
