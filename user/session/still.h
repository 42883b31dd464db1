/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * still.h - native frames of threads that stood still, and of those of a core file: from registers and stacks that were
 * kept, with the rows, names and rules of a recording, and without the kernel.
 *
 * A file's rows are read when a walk comes by that needs them.
 *
 * Must hold: an address is one of the file that was mapped there while the thread stood still, or it has no name; of a
 * core nothing is opened here, files are given.
 */
#ifndef KRAIT_SESSION_STILL_H
#define KRAIT_SESSION_STILL_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"
#include "stack/join.h"
#include "target/process.h"

struct dict;
struct memory;
struct probed;
struct still;
struct still_process;

/* What all processes share: files, rows, names. NULL: out of memory. */
struct still *still__new(void) __attribute__((warn_unused_result));
/* Starts what parses files, while krait has all its rights. */
void still__prepare(struct still *s) __attribute__((nonnull));
void still__free(struct still *s);
/*
 * A process, with the mappings that it has now; probed is borrowed, NULL: it is trusted, and read here. NULL: out of
 * memory.
 */
struct still_process *still__open(struct still *s, const struct py_process *info,
				  struct probed *probed)
	__attribute__((warn_unused_result, nonnull(1, 2)));
/* Are its mappings still those? If not, no thread of it has native frames: they may be of other files. */
bool still__check(struct still_process *p) __attribute__((nonnull));
void still__close(struct still_process *p);

/* A mapping of code in a core. */
struct still_mapping {
	__u64 start, end, offset;
	const char *name;
	int fd; /* of the very file that was mapped, the caller's; -1 it is not here */
	bool interpreter; /* it is in this file */
};
/* A core, with these mappings; info's pid means nothing here. As above. */
struct still_process *still__open_core(struct still *s, const struct py_process *info,
				       const struct still_mapping *list, __u32 cnt)
	__attribute__((warn_unused_result, nonnull(1, 2)));

struct still_thread {
	const __u64 *regs; /* UNWIND_SAVED_WORDS; NULL: not known */
	bool behind_call; /* they are those behind the instruction of a system call */
	const struct memory *memory; /* of its stack */
	const struct frame *frames; /* its Python frames, leaf first */
	__u32 frame_cnt;
};
/* Both in one stack, valid until the next call: JOIN_PYTHON's index is from the root. 0 or -ENOMEM. */
int still__join(struct still_process *p, const struct still_thread *t, const struct join **ret)
	__attribute__((warn_unused_result, nonnull));
/* What stands there, of the stack joined last and no frame of Python: a frame of the dictionary. */
__u32 still__frame(struct still_process *p, const struct join_item *item) __attribute__((nonnull));
const struct dict *still__dict(const struct still_process *p) __attribute__((nonnull));

#endif /* KRAIT_SESSION_STILL_H */
