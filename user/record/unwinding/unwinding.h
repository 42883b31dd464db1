/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwinding.h - gives the kernel what it needs to unwind the native stacks of a process: the rows
 * of its files, and where they are mapped.
 *
 * A file is read once however many processes map it, and they share its rows. Processes with the
 * same mappings (a parent and its children) share those. The files that all stacks pass, the
 * interpreter and libc, are read first; what takes longer than a moment is read step by step, and
 * sooner if a walk has missed it.
 *
 * Must hold: the kernel has a process's mappings only while they describe its current memory, or
 * what the last look at it found.
 */
#ifndef KRAIT_RECORD_UNWINDING_UNWINDING_H
#define KRAIT_RECORD_UNWINDING_UNWINDING_H

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
 * From now on reads rows only after a walk has missed them, except those that every stack passes:
 * for callers that sample for a moment, and may sample again.
 */
void unwinding__read_late(struct unwinding *u);
/* Acts on what was posted. Returns files whose rows were read so far, or that turned out to have none. */
__u64 unwinding__read_cnt(struct unwinding *u);

/* The kernel's tables; unwinding_space() says which of their spaces a process has. */
struct unwind_tables *unwinding__tables(const struct unwinding *u);
/* Are rows of present processes yet to be read? */
bool unwinding__waits(const struct unwinding *u);

/* Sampling has begun: from now on nobody waits for rows. */
void unwinding__started(struct unwinding *u);

/* While on, reads no rows: walks end where there are none. */
void unwinding__starve(struct unwinding *u, bool on);

/*
 * Acts on what was posted, and reads some of the missing rows. Returns when to call again; 0: nothing
 * is left.
 */
__u64 unwinding__step(struct unwinding *u, __u64 now_ns);

/* A process is now tracked, or its mappings may have changed. */
void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns);
/*
 * It has mapped code somewhere: does the same, now or as soon as the process can be read. This may
 * be ahead of pending records, so it leaves the process's space unchanged.
 */
void unwinding__mapped(struct unwinding *u, struct process *p, __u64 now_ns);
/* What a sample of a process shows, besides that its mappings may have changed. */
enum unwinding_post {
	/* Its stack ended early: rows were dropped for lack of room, or could not be read yet. */
	UNWINDING_MISSED = 1 << 0,
	/* It passed code without rows that the process has generated (made_code.h). */
	UNWINDING_MISSED_MADE = 1 << 1,
};
/*
 * Notes it, for the next step: nothing is read in the middle of a sample. posts: a set of these;
 * time_ns: of the sample.
 */
void unwinding__post(struct unwinding *u, struct process *p, unsigned posts, __u64 time_ns);
/* It has ended, or has another image. */
void unwinding__forget(struct unwinding *u, struct process *p);

/* The number of its mappings in the kernel's tables. False: it has none. */
bool unwinding_space(const struct process *p, __u32 *ret);

#endif /* KRAIT_RECORD_UNWINDING_UNWINDING_H */
