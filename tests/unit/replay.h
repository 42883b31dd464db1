/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - a session without a kernel: the log of inputs (record/replay/input_log.h) replaces the ring
 * buffer, the probers, the parsers, /proc, files, the kernel's symbols and the clock. It opens
 * nothing else and waits for nothing.
 *
 * Following, merging, joining, naming and the placing of anchors are krait's own code, assembled by
 * record/run/assembly.c. replay_sampler.c, replay_prober.c, replay_parser.c and replay_anchors.c are
 * linked in place of kernel/sampler/sampler.c, process/probe/prober.c, process/parser/parser.c and
 * record/anchors/anchor_thread.c; replay_outside.h has the rest.
 *
 * An answer comes at its logged time or when it is requested, whichever is later (replay_log.h). So
 * tests can shift records and answers against each other.
 */
#ifndef KRAIT_TESTS_REPLAY_H
#define KRAIT_TESTS_REPLAY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct anchoring_stats;
struct native_part_stats;
struct profile;
struct replay;

/*
 * Fails the test if this is no log. Only one replay at a time. Makes the logged session; without
 * one, a recording of only Python frames, of all processes if all is set.
 */
struct replay *replay_new(const void *log, size_t size, bool all);
/* Call before replay_new(): only processes with these names are wanted; NULL ends the list. */
void replay_want_name(const char *pattern);
/* Also checks that no object of the kernel side is still held. */
void replay_free(struct replay *r);

/*
 * Like krait record -p PID at the time of the first entry, for a log that does not say. Returns as
 * processes__follow().
 */
int replay_follow(struct replay *r, pid_t pid);
/* Like krait record -p with these, now: targets_follow(). */
struct error;
int replay_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err);
/* Like krait dump with these, which it has inspected: targets_follow_known(). */
int replay_known_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err);
/* Replays all records in order and whatever is due between them, then closes the accounts. */
void replay_run(struct replay *r);

/* Prints why Python processes were not sampled. */
void replay_print_refused(const struct replay *r, FILE *out);
const struct native_part_stats *replay_natives(const struct replay *r);
/* NULL: the session placed no anchors. */
const struct anchoring_stats *replay_anchoring(const struct replay *r);
struct profile *replay_profile(struct replay *r);
/* Returns sorted folded stacks; valid until the next call. */
const char *replay_folded(struct replay *r);
__u64 replay_reason(struct replay *r, unsigned reason);
/* Likewise for processes with that pid, after replay_run(): what they have lost. */
__u64 replay_lost(struct replay *r, pid_t pid, unsigned reason);
/* Returns what a tracked process is known to publish; NULL: nothing. */
const struct published *replay_published(struct replay *r, pid_t pid);
/* Like a session that has to save work: processes__spare(). */
void replay_spare(struct replay *r);
/* Like one that has overdrawn its budget: processes__starve(). */
void replay_starve(struct replay *r);
/* And reads no files for native names: native_files__starve(). */
void replay_starve_natives(struct replay *r);
/* Ended processes of which it knows when they began (pid_starts.h). */
unsigned replay_ended_cnt(const struct replay *r);
/* Processes that ended unseen: processes__unseen(). */
__u64 replay_unseen(const struct replay *r);
/* Process images opened since the beginning. */
unsigned replay_opened_cnt(const struct replay *r);
/* Processes that the kernel side was told to track and not yet told to forget. */
unsigned replay_tracked_cnt(const struct replay *r);
unsigned replay_followed_cnt(const struct replay *r); /* those that the recording waits for */

/*
 * session_take_open_waits() for the recording that ended then. Each look at the threads finds the next one
 * of these, or none (NULL).
 */
struct thread_look;
__u64 replay_open_waits(struct replay *r, __u64 end_ns, const struct thread_look *const looks[3]);
/* In replay_sampler.c. */
void replay_looks(const struct thread_look *const looks[]);

/* Call before replay_run(): limits the processes that the kernel side accepts. */
void replay_track_max(unsigned cnt);
/* In replay_sampler.c: the number of tracked processes. */
struct sampler;
unsigned sampler_tracked_cnt(const struct sampler *s);

#endif /* KRAIT_TESTS_REPLAY_H */
