/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - a session without a kernel: the log of inputs (replay/input_log.h) stands for the ring
 * buffer, the probers, the parsers, /proc, files, the kernel's symbols and the clock. Nothing else is opened,
 * nothing is waited for.
 *
 * Following, merging, joining, naming and the placing of anchors are krait's own code, put together by
 * session/assembly.c. replay_sampler.c, replay_prober.c, replay_parser.c and replay_anchors.c are linked in
 * place of sampler/sampler.c, target/prober.c, target/parser.c and session/anchor_thread.c; replay_outside.h
 * has the rest.
 *
 * Answers come when they came, or as soon as they are asked for (replay_log.h). So a test moves records and
 * answers against each other as it likes.
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
 * Fails the test where the log is none. Only one at a time. The session is the one that was logged; else it
 * records Python frames alone, and all: of every process.
 */
struct replay *replay_new(const void *log, size_t size, bool all);
/* Before replay_new(): only processes of these names are wanted, until NULL. */
void replay_want_name(const char *pattern);
/* Also checks that nothing is held for the kernel side any more. */
void replay_free(struct replay *r);

/* As krait record -p PID, at the time of the first entry, where the log does not say. As processes__follow(). */
int replay_follow(struct replay *r, pid_t pid);
/* As krait record -p with these, now: targets_follow(). */
struct error;
int replay_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err);
/* As krait dump with these, which it has looked at: targets_follow_known(). */
int replay_known_targets(struct replay *r, const pid_t pids[], size_t cnt, struct error *err);
/* All records in their order, and whatever is due between them; then the books are closed. */
void replay_run(struct replay *r);

/* Writes why Python processes were not sampled. */
void replay_print_refused(const struct replay *r, FILE *out);
const struct native_part_stats *replay_natives(const struct replay *r);
/* NULL: the session placed none. */
const struct anchoring_stats *replay_anchoring(const struct replay *r);
struct profile *replay_profile(struct replay *r);
/* Folded stacks, sorted; valid until the next call. */
const char *replay_folded(struct replay *r);
__u64 replay_reason(struct replay *r, unsigned reason);
/* The same of processes of that pid, after replay_run(), where they have lost anything. */
__u64 replay_lost(struct replay *r, pid_t pid, unsigned reason);
/* What a tracked process is known to publish; NULL none is there. */
const struct published *replay_published(struct replay *r, pid_t pid);
/* As a session that has to do with less: processes__spare(). */
void replay_spare(struct replay *r);
/* As one that has overdrawn its budget: processes__starve(). */
void replay_starve(struct replay *r);
/* Processes that have ended unseen: processes__unseen(). */
__u64 replay_unseen(const struct replay *r);
/* Images of processes that were opened, since the beginning. */
unsigned replay_opened_cnt(const struct replay *r);
/* Processes that the kernel side was asked to track and has not been asked to forget. */
unsigned replay_tracked_cnt(const struct replay *r);

/* Before replay_run(): the kernel side takes no more than so many processes. */
void replay_track_max(unsigned cnt);
/* In replay_sampler.c: how many processes are tracked. */
struct sampler;
unsigned sampler_tracked_cnt(const struct sampler *s);

#endif /* KRAIT_TESTS_REPLAY_H */
