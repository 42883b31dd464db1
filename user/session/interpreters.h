/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interpreters.h - has a thread entered the interpreter that it runs from another one?
 *
 * A thread has a state in each interpreter that it has entered (interpreters.exec(), an application with
 * several), and an interrupt walks the one that it runs. Its callers are frames of a state in an older
 * interpreter: interpreters are entered from older ones, and the list of them begins with the newest
 * (Python/pystate.c). They are not walked, so the stack is one that is cut.
 *
 * The question is asked once for each thread and interpreter; for a thread that keeps entering new interpreters,
 * at most INTERPRETER_LOOKS_MAX times.
 */
#ifndef KRAIT_SESSION_INTERPRETERS_H
#define KRAIT_SESSION_INTERPRETERS_H

#include <linux/types.h>
#include <stdbool.h>

/* Of one image of a process. */
#define INTERPRETER_LOOKS_MAX 256

struct memory;
struct py_offsets;
struct record_sample;
struct thread;

enum interpreter_kind {
	INTERPRETER_OLDEST, /* the first one, and nobody can tell of any other */
	INTERPRETER_BEGUN, /* the thread has begun in it, or nobody can tell */
	INTERPRETER_ENTERED, /* the thread has entered it from an older one */
};

/* Of the interpreter and the thread with that thread_id, in a process's memory. */
enum interpreter_kind interpreter_kind_of(const struct memory *memory, const struct py_offsets *off,
					  __u64 interp_addr, __u64 thread_ptr)
	__attribute__((nonnull));

/* record: has Python frames. False also where nobody can tell. */
bool interpreters_has_callers(struct thread *t, const struct record_sample *record);

#endif /* KRAIT_SESSION_INTERPRETERS_H */
