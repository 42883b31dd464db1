/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_object.h - one PyCodeObject of the target, read and checked.
 *
 * Reading has two steps because memory moves on meanwhile. The head is the object's own fields,
 * taken in one read, and says which object it is; the body is what its pointers lead to. A body
 * belongs to a head only if the object is proved to have lived until the body was read, by reading
 * the head again or by the interpreter's code_object_generation.
 *
 * Must hold: no length from the target is trusted; a partly read body is never handed out.
 */
#ifndef KRAIT_SYMBOL_CODE_OBJECT_H
#define KRAIT_SYMBOL_CODE_OBJECT_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "symbol/linetable.h"
#include "util/memory.h"

/* Largest line table read. The largest seen are 60 KB; beyond the cap a name has no lines. */
#define LINETABLE_MAX_SZ (4u << 20)

struct code_head {
	__u64 bytecode_addr; /* 3.8, 3.9: how long the code is; 0 elsewhere */
	__u64 type_addr;
	__u64 qualname_addr, filename_addr, linetable_addr;
	int first_line;
	/*
	 * co_version: each new code object of an interpreter gets the next number (3.12+), so it
	 * tells objects apart that have all their pointers in common because both memory and
	 * strings were reused, as in a loop of exec() and del. 0 where there is none.
	 */
	__u32 version;
	__u32 fingerprint; /* fingerprint.h, never 0 */
	/*
	 * False if this is what a dead object left behind: its reference count is 0 or overwritten
	 * by the allocator. True proves nothing.
	 */
	bool alive;
};

struct code_body {
	char *qualname; /* UTF-8 */
	char *filename; /* "" if it cannot be read as a string */
	struct linetable lines;
};

/* Reads the head. 0, -EINVAL: cannot be a code object, -ENOTSUP: layout; what the read gave. */
int code_head_read(const struct memory *m, const struct py_offsets *offsets, __u64 code_addr,
		   struct code_head *ret) __attribute__((warn_unused_result, nonnull));

/* Whether both are of the same object, if both were read at the same address. */
bool code_head_equal(const struct code_head *a, const struct code_head *b);

/*
 * 0 if the head's type is named "code". *type_addr is what is already known to be PyCode_Type, or
 * 0 if nothing is: comparing costs no read. -EINVAL if it is another type.
 */
int code_head_check_type(const struct memory *m, const struct py_offsets *offsets,
			 const struct code_head *head, __u64 type_addr)
	__attribute__((warn_unused_result, nonnull));

/* Reads what the head points to. A line table that cannot be had leaves ret->lines empty. */
int code_body_read(const struct memory *m, const struct py_offsets *offsets,
		   const struct code_head *head, struct code_body *ret)
	__attribute__((warn_unused_result, nonnull));
void code_body_deinit(struct code_body *body);

#endif /* KRAIT_SYMBOL_CODE_OBJECT_H */
