/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input_log.h - the log of everything that a session learns from outside: its task, records of the
 * ring buffer, answers of probers and parsers, the kernel's symbols, and facts that it looks up
 * itself.
 *
 * Only the build that wrote a log can read it: keys and values are raw structs, and the header has
 * their sizes. A log may be malicious (a fuzzer's, or another build's): the reader is bounded, and
 * whoever takes an entry checks its value as if it came from outside.
 *
 * Files are identified by device and inode, never by a descriptor or a parser's number.
 *
 * Must hold: each entry has the time at which the session took it in, so a replay needs no other
 * clock.
 */
#ifndef KRAIT_RECORD_REPLAY_INPUT_LOG_H
#define KRAIT_RECORD_REPLAY_INPUT_LOG_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "process/proc/file_id.h"
#include "process/parser/parser_protocol.h"

/* Size limits of a key and a value in bytes. */
#define INPUT_KEY_MAX 8192U
#define INPUT_VALUE_MAX (256U << 10)

enum input_kind {
	INPUT_RECORD = 1, /* no key; value: as in the ring buffer */
	/* key: struct probe_request; value: struct input_answer and the accompanying data */
	INPUT_ANSWER,
	INPUT_FACT, /* key: struct input_question; value: struct input_fact */
	INPUT_SESSION, /* no key; value: struct input_session. The session is set up */
	/* key: struct input_parse; value: struct input_parsed and the message, if any */
	INPUT_PARSED,
	/* key: an address, __u64; value: that symbol's name and module, two strings */
	INPUT_KERNEL,
	INPUT_END, /* no key, no value: the session ended */
	INPUT_KINDS
};

struct input_answer {
	__s32 result;
	__u32 fds; /* as probe_answer.fds: those received; only PROBE_MAPS's has contents here */
	__u32 answered; /* 0: no prober has answered, and nothing follows */
	__u32 pad_;
	struct file_id file; /* of the last descriptor if it refers to a file; else zeroes */
};

/* The session's options, as far as they affect what it makes of its inputs. */
struct input_session {
	__u32 event_cnt, label;
	__u32 all, filtered; /* the filter itself is not logged */
	__u32 native, kernel, interpreter, addresses; /* struct native_part_options */
	__u32 mappings_reported; /* sampler__reports_mappings() */
	__u32 anchors; /* enum anchor_mode */
	__u32 tables; /* read what processes publish */
	__u32 async; /* enum async_mode */
	__u32 greenlets; /* show the parents of running greenlets */
	__u32 perf_heard; /* processes__hear_perf() */
};

struct input_parse {
	__u64 dev, ino; /* of the file in question */
	__u32 has_debug; /* another file has its debug information */
	__u32 pad_;
	struct parser_request request; /* with file 0; only parser_request_size() bytes are here */
};

struct input_parsed {
	__s32 result; /* as parser__answer() returned */
	__u32 size; /* of the answer; rows are left out */
	__u64 took_ns; /* how long the session waited for it */
};

/* What the session looks up about one process, or does at a caller's request. */
enum input_question_op {
	QUESTION_START = 1, /* process_start_ticks() */
	QUESTION_OWNER, /* proc_owner() */
	QUESTION_DROPPED, /* sampler__dropped() */
	QUESTION_FOLLOW, /* processes__follow() was called */
	QUESTION_MAPPED, /* processes__mapped() was called */
	/*
	 * processes__scan() was called, with that value; one of these follows for each process
	 * found
	 */
	QUESTION_SCAN,
	QUESTION_OPS
};

struct input_question {
	__u32 op;
	__s32 pid;
	__u64 start_ns; /* for QUESTION_DROPPED; otherwise 0 */
};

struct input_fact {
	__s32 result; /* 0 or -errno */
	__u32 pad_;
	__u64 value;
};

struct input_entry {
	enum input_kind kind;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	const void *key, *value; /* point into the log; 8-byte aligned */
	size_t key_size, value_size;
};

/* Writes the beginning of the file. Returns 0 or -errno. */
int input_log_begin(FILE *out) __attribute__((warn_unused_result));
/* Returns -EFBIG if the log would become too large. */
int input_log_write(FILE *out, const struct input_entry *e) __attribute__((warn_unused_result));

struct input_reader {
	const char *data;
	size_t size, pos;
};

/* data: borrowed, 8-byte aligned. Returns 0; -ENOEXEC: not a log, or another build's. */
int input_reader_begin(struct input_reader *r, const void *data, size_t size)
	__attribute__((warn_unused_result));
/* Returns 1 with the next entry in *ret, 0 at the end, or -EBADMSG if what follows is no entry. */
int input_reader_next(struct input_reader *r, struct input_entry *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_RECORD_REPLAY_INPUT_LOG_H */
