/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * still.h - stacks of threads that stood still, and of those in a core file: their lists are edited
 * and named as those of a recording (stack_nodes.h), without the kernel. Native frames come from saved
 * registers and stacks, with a recording's rows, names and rules.
 *
 * A file's rows are read when a walk first needs them.
 *
 * Must hold: an address belongs to the file that was mapped there while the thread stood still, or
 * it has no name; for a core nothing is opened here, files are given.
 */
#ifndef KRAIT_RECORD_SAMPLES_STILL_H
#define KRAIT_RECORD_SAMPLES_STILL_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/abi.h"
#include "process/identify/py_process.h"

struct dict;
struct memory;
struct probed;
struct stack_nodes;
struct still;
struct still_process;

/* Shared by all processes: files, rows, names. natives: native frames, too. NULL: out of memory. */
struct still *still__new(bool natives) __attribute__((warn_unused_result));
bool still__has_natives(const struct still *s) __attribute__((nonnull));
/* Starts parsers of files, while krait still has all its rights. */
void still__prepare(struct still *s) __attribute__((nonnull));
void still__free(struct still *s);
/*
 * A process, with its current mappings if native frames are wanted. probed: borrowed; NULL: the
 * process is trusted, and read from here. NULL: out of memory.
 */
struct still_process *still__open(struct still *s, const struct py_process *info,
				  struct probed *probed)
	__attribute__((warn_unused_result, nonnull(1, 2)));
/*
 * Are its mappings unchanged? If not, none of its threads gets native frames: they may be in other
 * files.
 */
bool still__check(struct still_process *p) __attribute__((nonnull));
void still__close(struct still_process *p);

/* A mapping of code in a core. */
struct still_mapping {
	__u64 start, end, offset;
	const char *name;
	int fd; /* the very file that was mapped, owned by the caller; -1: not available */
	bool interpreter; /* the interpreter is in this file */
};
/* A core with these mappings; info's pid has no meaning here. Returns as still__open(). */
struct still_process *still__open_core(struct still *s, const struct py_process *info,
				       const struct still_mapping *list, __u32 cnt)
	__attribute__((warn_unused_result, nonnull(1, 2)));

/*
 * Call before each list of threads: code objects may have changed since the last one, and are read
 * from memory, which stays valid. What the last list was named is forgotten. Returns 0 or -ENOMEM.
 */
int still__begin(struct still_process *p, const struct memory *memory)
	__attribute__((warn_unused_result, nonnull));

struct still_thread {
	enum reason reason; /* how its walk ended; REASON_NATIVE_THREAD: it runs no Python */
	/* If native frames are wanted: */
	const __u64 *regs; /* UNWIND_SAVED_WORDS; NULL: unknown */
	bool behind_call; /* they are those right after a system call instruction */
	const struct memory *memory; /* of its stack */
	const struct frame *frames; /* its Python frames, leaf first */
	__u32 frame_cnt;
};
/*
 * Makes its list, with names: valid until the next call. A Python frame's index counts from the root.
 * NULL: no room.
 */
const struct stack_nodes *still__list(struct still_process *p, const struct still_thread *t)
	__attribute__((warn_unused_result, nonnull));
/* The frame of the dictionary for a Python frame alone; 0: it is not shown, or there is no room. */
__u32 still__frame(struct still_process *p, const struct frame *frame) __attribute__((nonnull));
const struct dict *still__dict(const struct still_process *p) __attribute__((nonnull));

#endif /* KRAIT_RECORD_SAMPLES_STILL_H */
