/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_object.h - one PyCodeObject of the target, read and checked.
 *
 * Reading takes two steps because the memory changes meanwhile. The head is the object's own
 * fields, taken in one read, and identifies the object; the body is what its pointers lead to. A
 * body belongs to a head only if the object is proved to have lived until the body was read, by
 * reading the head again or by the interpreter's code_object_generation.
 *
 * Must hold: no length from the target is trusted; a partly read body is never returned.
 */
#ifndef KRAIT_PYTHON_CODE_CODE_OBJECT_H
#define KRAIT_PYTHON_CODE_CODE_OBJECT_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "python/code/linetable.h"
#include "base/data/memory.h"

/* Largest line table to read. The largest seen are 60 KB; beyond the limit a name has no lines. */
#define LINETABLE_MAX_SZ (4u << 20)

struct code_head {
	__u64 bytecode_addr; /* 3.8, 3.9: its length is the code's; 0 elsewhere */
	__u64 type_addr;
	__u64 qualname_addr, filename_addr, linetable_addr;
	int first_line;
	/*
	 * co_version: each new code object of an interpreter gets the next number (3.12+). So it
	 * distinguishes objects whose pointers are all equal because memory and strings were
	 * reused, as in a loop of exec() and del. 0 if there is none.
	 */
	__u32 version;
	__u32 fingerprint; /* fingerprint.h, never 0 */
	/*
	 * False if this is what a dead object left behind: its reference count is 0, or the
	 * allocator has overwritten it. True proves nothing.
	 */
	bool alive;
};

struct code_body {
	char *qualname; /* UTF-8 */
	char *filename; /* "" if it is not a readable string */
	struct linetable lines;
};

/*
 * Reads the head. Returns 0, -EINVAL: cannot be a code object, -ENOTSUP: unknown layout; or the
 * error of the read.
 */
int code_head_read(const struct memory *m, const struct py_offsets *offsets, __u64 code_addr,
		   struct code_head *ret) __attribute__((warn_unused_result, nonnull));

/* Do both describe the same object, if they were read at the same address? */
bool code_head_equal(const struct code_head *a, const struct code_head *b);

/*
 * Returns 0 if the head's type is named "code". *type_addr is what is already known to be
 * PyCode_Type (comparing then costs no read), or 0. -EINVAL if it is another type.
 */
int code_head_check_type(const struct memory *m, const struct py_offsets *offsets,
			 const struct code_head *head, __u64 type_addr)
	__attribute__((warn_unused_result, nonnull));

/* Reads what the head points to. If a line table cannot be read, ret->lines is empty. */
int code_body_read(const struct memory *m, const struct py_offsets *offsets,
		   const struct code_head *head, struct code_body *ret)
	__attribute__((warn_unused_result, nonnull));
void code_body_deinit(struct code_body *body);

#endif /* KRAIT_PYTHON_CODE_CODE_OBJECT_H */
