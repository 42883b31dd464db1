/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input_log.h - the file of everything that a session has learned from outside: records of the ring
 * buffer, answers of probers, and facts that it has looked up itself.
 *
 * For the build that wrote it: keys and values are its structs as they are, and the header says how large
 * those are. What is read back may be anything (a fuzzer's, or another build's): the reader is bounded, and
 * whoever takes an entry checks its value as if it had just come from outside.
 *
 * Must hold: each entry has the time at which the session took it in, so a replay needs no other clock.
 */
#ifndef KRAIT_REPLAY_INPUT_LOG_H
#define KRAIT_REPLAY_INPUT_LOG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of a key and of a value, at most. */
#define INPUT_KEY_MAX 4096U
#define INPUT_VALUE_MAX (256U << 10)

enum input_kind {
	INPUT_RECORD = 1, /* no key; value: as the ring buffer had it */
	INPUT_ANSWER, /* key: struct probe_request; value: struct input_answer and what came with it */
	INPUT_FACT, /* key: struct input_question; value: struct input_fact */
	INPUT_END, /* no key, no value: the session ended */
	INPUT_KINDS
};

struct input_answer {
	__s32 result;
	__u32 fds; /* as probe_answer.fds: those that came; only that of PROBE_MAPS has contents here */
	__u32 answered; /* 0: no prober has answered, and nothing follows */
	__u32 pad_;
};

/* What the session looks up itself, about one process. */
enum input_question_op {
	QUESTION_START = 1, /* process_start_ticks() */
	QUESTION_OWNER, /* proc_owner() */
	QUESTION_DROPPED, /* sampler__dropped() */
	QUESTION_OPS
};

struct input_question {
	__u32 op;
	__s32 pid;
	__u64 start_ns; /* of QUESTION_DROPPED; otherwise 0 */
};

struct input_fact {
	__s32 result; /* 0 or -errno */
	__u32 pad_;
	__u64 value;
};

struct input_entry {
	enum input_kind kind;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	const void *key, *value; /* of the log; 8-byte aligned */
	size_t key_size, value_size;
};

/* What the file begins with. 0 or -errno. */
int input_log_begin(FILE *out) __attribute__((warn_unused_result));
/* -EFBIG: more than a log may have. */
int input_log_write(FILE *out, const struct input_entry *e) __attribute__((warn_unused_result));

struct input_reader {
	const char *data;
	size_t size, pos;
};

/* data: borrowed, 8-byte aligned. 0; -ENOEXEC: no log, or another build's. */
int input_reader_begin(struct input_reader *r, const void *data, size_t size)
	__attribute__((warn_unused_result));
/* 1: *ret is the next entry; 0: there are no more; -EBADMSG: what follows is none. */
int input_reader_next(struct input_reader *r, struct input_entry *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_REPLAY_INPUT_LOG_H */
