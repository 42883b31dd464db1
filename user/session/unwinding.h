/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwinding.h - gives the kernel what it needs to unwind the native stacks of a process: the rows of its
 * files, and where they are mapped.
 *
 * A file is read once however many processes map it, and its rows are shared. Processes with the same mappings (a
 * parent and its children) share those. What all stacks go through, the interpreter and libc, is read
 * first; what does not fit into a moment's time is read step by step, and sooner if a walk has missed it.
 *
 * Must hold: the kernel has a process's mappings only while they describe its current memory, or what the last look
 * at it found.
 */
#ifndef KRAIT_SESSION_UNWINDING_H
#define KRAIT_SESSION_UNWINDING_H

#include <linux/types.h>
#include <stdbool.h>

struct native_files;
struct process;
struct sampler;
struct unwind_tables;
struct unwinding;

/* Both are borrowed; the sampler unwinds. NULL: out of memory. */
struct unwinding *unwinding__new(struct sampler *sampler, struct native_files *native_files);
void unwinding__free(struct unwinding *u);

/*
 * From now on rows are read where a walk has missed them, but for those that every stack goes through: for who samples for
 * a moment, and may sample again.
 */
void unwinding__read_late(struct unwinding *u);
/* Files whose rows were read so far, or that have none. */
__u64 unwinding__read_cnt(const struct unwinding *u);

/* What the kernel unwinds with; which of its spaces a process has is in unwind_space. */
struct unwind_tables *unwinding__tables(const struct unwinding *u);
/* Rows of processes that are there are still to be read. */
bool unwinding__waits(const struct unwinding *u);

/* Sampling has begun: nobody waits for rows any more. */
void unwinding__started(struct unwinding *u);

/* While that is on, no rows are read: walks end where there are none. */
void unwinding__starve(struct unwinding *u, bool on);

/* Reads some of the rows that are still to be read. When it wants to go on; 0: there are no more. */
__u64 unwinding__step(struct unwinding *u, __u64 now_ns);

/* A process is tracked, or its mappings may have changed. */
void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns);
/*
 * It has mapped code somewhere: the same, now or as soon as it can be looked at. That may be ahead of records
 * that wait: the process's space stays as it is.
 */
void unwinding__mapped(struct unwinding *u, struct process *p, __u64 now_ns);
/*
 * A stack of it has ended early: rows that were dropped for want of room, or could not be read yet, come back if
 * a walk has missed them.
 */
void unwinding__missed(struct unwinding *u, struct process *p, __u64 now_ns);
/* The same of code that the process has made (made_code.h). */
void unwinding__missed_made(struct unwinding *u, struct process *p, __u64 now_ns);
/* It has ended, or has another image. */
void unwinding__forget(struct unwinding *u, struct process *p);

#endif /* KRAIT_SESSION_UNWINDING_H */
