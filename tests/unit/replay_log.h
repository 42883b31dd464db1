/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_log.h - a log of inputs, loaded, and what it answers at a time of the replay (replay.h): for what stands
 * in place of the outside.
 *
 * An answer belongs to its request, not to a place in the log: it comes at its time, or as soon as it is
 * asked for, whichever is later. One that the log does not have never comes.
 */
#ifndef KRAIT_TESTS_REPLAY_LOG_H
#define KRAIT_TESTS_REPLAY_LOG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "replay/input_log.h"
#include "target/probe.h"

struct replay_answer {
	const struct probe_request *request;
	struct input_answer head;
	const char *all; /* that came with it */
	const void *data; /* of it what answers the request */
	size_t len;
	__u64 time_ns;
	bool used;
};

struct replay_log {
	struct input_entry *entries;
	size_t entry_cnt;
	struct replay_answer *answers;
	size_t answer_cnt;
	struct input_session session; /* as it was logged, or a recording of Python frames alone */
	__u64 now_ns; /* CLOCK_MONOTONIC of the replay */
};

/* Fails the test where the log is none. data: borrowed. */
void replay_log_load(struct replay_log *l, const void *data, size_t size);
void replay_log_drop(struct replay_log *l);

/*
 * The answer to that request: the first one that was not given yet; NULL none. Of memory: the next read of
 * just those bytes, or else what has them and was read last by now. Of a file: what another process was
 * asked will do, and it comes at once. Of an anchor: what its thread state was asked last.
 */
struct replay_answer *replay_log_answer(struct replay_log *l, const struct probe_request *request);
/* False: the log does not know. */
bool replay_log_fact(const struct replay_log *l, enum input_question_op op, pid_t pid,
		     struct input_fact *ret);
/*
 * What a parser said of that file: to just that request, or what it knew of the only offset that is asked
 * about. NULL none.
 */
const struct input_entry *replay_log_parsed(const struct replay_log *l,
					    const struct input_parse *asked);
/* Was a file read with debug information of that build? */
bool replay_log_has_debug(const struct replay_log *l, const __u8 *build_id, size_t size);
/* The symbol of the kernel with the highest address up to that one; NULL none. */
const struct input_entry *replay_log_kernel(const struct replay_log *l, __u64 addr);

#endif /* KRAIT_TESTS_REPLAY_LOG_H */
