/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interpreters.h - has a thread entered the interpreter that it runs from another one?
 *
 * A thread has a state in each interpreter that it has entered (interpreters.exec(), an application
 * with several), and an interrupt walks the current one. Its callers are frames of a state in an
 * older interpreter: interpreters are entered from older ones, and their list begins with the
 * newest (Python/pystate.c). Those frames are not walked, so the stack counts as truncated.
 *
 * The question is asked once for each thread and interpreter; for a thread that keeps entering new
 * interpreters, at most INTERPRETER_LOOKS_MAX times.
 */
#ifndef KRAIT_RECORD_SAMPLES_INTERPRETERS_H
#define KRAIT_RECORD_SAMPLES_INTERPRETERS_H

#include <linux/types.h>
#include <stdbool.h>

/* Per image of a process. */
#define INTERPRETER_LOOKS_MAX 256

struct memory;
struct py_offsets;
struct record_sample;
struct thread;

enum interpreter_kind {
	INTERPRETER_OLDEST, /* the oldest one: it cannot have been entered from another */
	INTERPRETER_BEGUN, /* the thread began in it, or nothing can be said */
	INTERPRETER_ENTERED, /* the thread entered it from an older one */
};

/* For that interpreter and the thread with that thread_id, from a process's memory. */
enum interpreter_kind interpreter_kind_of(const struct memory *memory, const struct py_offsets *off,
					  __u64 interp_addr, __u64 thread_ptr)
	__attribute__((nonnull));

/* The record must have Python frames. False also if nothing can be said. */
bool interpreters_has_callers(struct thread *t, const struct record_sample *record);

#endif /* KRAIT_RECORD_SAMPLES_INTERPRETERS_H */
