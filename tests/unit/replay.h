/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - a session without a kernel: the log of inputs (replay/input_log.h) stands for the ring
 * buffer, the probers, /proc and the clock. Nothing else is opened, nothing is waited for.
 *
 * Following, merging and naming are krait's own code, put together by session/assembly.c. replay_sampler.c
 * and replay_prober.c are linked in place of sampler/sampler.c and target/prober.c.
 *
 * An answer belongs to its request, not to a place in the log: it comes at its time, or as soon as it is
 * asked for, whichever is later. So a test moves records and answers against each other as it likes. One
 * that the log does not have never comes.
 */
#ifndef KRAIT_TESTS_REPLAY_H
#define KRAIT_TESTS_REPLAY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "replay/input_log.h"
#include "target/probe.h"

struct replay;
struct profile;
struct sampler_handler;
struct session;

struct replay_answer {
	const struct probe_request *request;
	struct input_answer head;
	const char *all; /* that came with it */
	const void *data; /* of it what answers the request */
	size_t len;
	__u64 time_ns;
	bool used;
};

/* Fails the test where the log is none. Only one at a time. all: every process is followed. */
struct replay *replay_new(const void *log, size_t size, bool all);
/* Also checks that nothing is held for the kernel side any more. */
void replay_free(struct replay *r);

/* As krait record -p PID, at the time of the first entry. As processes__follow(). */
int replay_follow(struct replay *r, pid_t pid);
/* All records in their order, and whatever is due between them; then the books are closed. */
void replay_run(struct replay *r);

struct profile *replay_profile(struct replay *r);
/* Folded stacks, sorted; valid until the next call. */
const char *replay_folded(struct replay *r);
__u64 replay_reason(struct replay *r, unsigned reason);
/* The same of processes of that pid, after replay_run(), where they have lost anything. */
__u64 replay_lost(struct replay *r, pid_t pid, unsigned reason);
/* What a tracked process is known to publish; NULL none is there. */
const struct published *replay_published(struct replay *r, pid_t pid);
/* Processes that the kernel side was asked to track and has not been asked to forget. */
unsigned replay_tracked_cnt(const struct replay *r);

/* ---- for what stands in place of the sampler and the prober ------------------------------------ */

/* CLOCK_MONOTONIC of the replay. */
__u64 replay_now_ns(void);
void replay_advance(__u64 now_ns);
/*
 * The answer to that request: the first one that was not given yet; NULL none. Of memory: the next read of
 * just those bytes, or else what has them and was read last by now.
 */
struct replay_answer *replay_find_answer(const struct probe_request *request);
/* False: the log does not know. */
bool replay_find_fact(enum input_question_op op, pid_t pid, struct input_fact *ret);
/* In replay_sampler.c: how many processes are tracked. */
struct sampler;
unsigned sampler_tracked_cnt(const struct sampler *s);

#endif /* KRAIT_TESTS_REPLAY_H */
