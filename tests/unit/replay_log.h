/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_log.h - a loaded log of inputs, and its answers at a time of the replay (replay.h), for
 * the replacements of the outside.
 *
 * An answer belongs to its request, not to a place in the log: it comes at its logged time or when
 * it is requested, whichever is later. An answer that the log does not have never comes.
 */
#ifndef KRAIT_TESTS_REPLAY_LOG_H
#define KRAIT_TESTS_REPLAY_LOG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "record/replay/input_log.h"
#include "process/probe/probe.h"

struct replay_answer {
	const struct probe_request *request;
	struct input_answer head;
	const char *all; /* everything that came with it */
	const void *data; /* the part that answers the request */
	size_t len;
	__u64 time_ns;
	bool used;
};

struct replay_log {
	struct input_entry *entries;
	size_t entry_cnt;
	struct replay_answer *answers;
	size_t answer_cnt;
	struct input_session session; /* as logged, or a recording of only Python frames */
	__u64 now_ns; /* CLOCK_MONOTONIC of the replay */
};

/* Fails the test if this is no log. data: borrowed. */
void replay_log_load(struct replay_log *l, const void *data, size_t size);
void replay_log_drop(struct replay_log *l);

/*
 * Returns the answer to that request: the first one not yet given; NULL: none. For memory: the next
 * read of exactly those bytes, or else the latest read so far that contains them. For a file:
 * another process's answer will do, and it comes at once. For an anchor: the last answer for its
 * thread state.
 */
struct replay_answer *replay_log_answer(struct replay_log *l, const struct probe_request *request);
/* Returns false if the log does not know. */
bool replay_log_fact(const struct replay_log *l, enum input_question_op op, pid_t pid,
		     struct input_fact *ret);
/*
 * Returns a parser's answer for that file: to exactly that request, or one that covers the only
 * offset requested. NULL: none.
 */
const struct input_entry *replay_log_parsed(const struct replay_log *l,
					    const struct input_parse *asked);
/* Tells whether a file was read with debug information of that build. */
bool replay_log_has_debug(const struct replay_log *l, const __u8 *build_id, size_t size);
/* Returns the kernel symbol with the highest address up to that one; NULL: none. */
const struct input_entry *replay_log_kernel(const struct replay_log *l, __u64 addr);

#endif /* KRAIT_TESTS_REPLAY_LOG_H */
