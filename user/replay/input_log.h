/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input_log.h - the file of everything that a session has learned from outside: what it is asked to do,
 * records of the ring buffer, answers of probers and parsers, the kernel's symbols, and facts that it has
 * looked up itself.
 *
 * For the build that wrote it: keys and values are its structs as they are, and the header says how large
 * those are. What is read back may be anything (a fuzzer's, or another build's): the reader is bounded, and
 * whoever takes an entry checks its value as if it had just come from outside.
 *
 * Files are known by device and inode, never by a descriptor or a number that a parser has for them.
 *
 * Must hold: each entry has the time at which the session took it in, so a replay needs no other clock.
 */
#ifndef KRAIT_REPLAY_INPUT_LOG_H
#define KRAIT_REPLAY_INPUT_LOG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "target/file_id.h"
#include "target/parser_protocol.h"

/* Bytes of a key and of a value, at most. */
#define INPUT_KEY_MAX 4096U
#define INPUT_VALUE_MAX (256U << 10)

enum input_kind {
	INPUT_RECORD = 1, /* no key; value: as the ring buffer had it */
	INPUT_ANSWER, /* key: struct probe_request; value: struct input_answer and what came with it */
	INPUT_FACT, /* key: struct input_question; value: struct input_fact */
	INPUT_SESSION, /* no key; value: struct input_session. The session stands */
	INPUT_PARSED, /* key: struct input_parse; value: struct input_parsed and the message, if there is one */
	INPUT_KERNEL, /* key: an address, __u64; value: name and module of that symbol, two strings */
	INPUT_END, /* no key, no value: the session ended */
	INPUT_KINDS
};

struct input_answer {
	__s32 result;
	__u32 fds; /* as probe_answer.fds: those that came; only that of PROBE_MAPS has contents here */
	__u32 answered; /* 0: no prober has answered, and nothing follows */
	__u32 pad_;
	struct file_id file; /* of the last descriptor, where it is one of a file; else zeroes */
};

/* How the session was asked to record, as far as that decides what it makes of its inputs. */
struct input_session {
	__u32 event_cnt, label;
	__u32 all, filtered; /* the filter itself is not logged */
	__u32 native, kernel, interpreter, addresses; /* struct native_part_options */
	__u32 mappings_reported; /* sampler__reports_mappings() */
	__u32 anchors; /* enum anchor_mode */
	__u32 tables; /* what processes publish is wanted */
	__u32 async; /* enum async_mode */
	__u32 greenlets; /* the parents of those that run are wanted */
	__u32 pad_;
};

struct input_parse {
	__u64 dev, ino; /* of the file that is asked about */
	__u32 has_debug; /* another one has its debug information */
	__u32 pad_;
	struct parser_request request; /* its file: 0; only parser_request_size() bytes are here */
};

struct input_parsed {
	__s32 result; /* as parser__answer() */
	__u32 size; /* of the answer, of which rows are left out */
	__u64 took_ns; /* the session has waited for it */
};

/* What the session looks up itself, about one process; or does, because somebody has asked for it. */
enum input_question_op {
	QUESTION_START = 1, /* process_start_ticks() */
	QUESTION_OWNER, /* proc_owner() */
	QUESTION_DROPPED, /* sampler__dropped() */
	QUESTION_FOLLOW, /* processes__follow() was called */
	QUESTION_MAPPED, /* processes__mapped() was */
	QUESTION_SCAN, /* processes__scan() was, with that value; then one of these for each process there */
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
