/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_reader.h - reads the records of a perf.data file, from krait or perf, one after the other.
 *
 * Reads both the file layout and the pipe layout, as a stream: memory does not grow with the file (read_order.h).
 *
 * Must hold: the file is untrusted. No length in it is believed; a malformed record is skipped and
 * counted; a file that ends too early gives what is there. A compressed record expands to no more
 * than the file says, and at most PERF_READER_EXPANDS_TO.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_PERF_READER_H
#define KRAIT_CAPTURE_PERFDATA_PERF_READER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "capture/perfdata/format.h"
#include "base/system/event.h"

struct error;
struct perf_reader;

#define PERF_READER_MAX_EVENTS 128
#define PERF_READER_TEXT 4096
/* The largest buffer that perf record -m is likely to have for each CPU. */
#define PERF_READER_EXPANDS_TO (256U << 20)

struct perf_read_event {
	char name[128];
	__u32 type;
	__u64 config, sample_type, read_format, value;
	bool is_frequency; /* value is in Hz */
	bool exclude_user, exclude_kernel;
	__u8 precise;
	bool has_trailer; /* sample_id_all */
	bool joined; /* PERF_CONFIG1_JOINED */
	__u64 branch_type, user_regs; /* what samples have of these */
	bool monotonic; /* times are CLOCK_MONOTONIC */
};

/* From the features; "" or 0 if absent. */
struct perf_read_facts {
	char host[256], kernel[256], version[256], command_line[PERF_READER_TEXT];
	char arch[32]; /* of the machine, as uname -m says it */
	__u64 first_ns, last_ns;
	__s64 wall_offset_ns; /* add it to times of samples to get ns since 1970 */
	__u32 expands_to; /* bytes of records in a compressed one, at most */
};

enum perf_read_kind {
	PERF_READ_SAMPLE,
	PERF_READ_COMM,
	PERF_READ_MAPPING,
	PERF_READ_FORK,
	PERF_READ_EXIT,
	PERF_READ_LOST,
	PERF_READ_SWITCH, /* the thread left its CPU, or came back */
	PERF_READ_ROUND, /* what follows is not older than the previous round */
	PERF_READ_OTHER, /* not needed by krait */
};

/* Pointers are valid until the next call. */
struct perf_read {
	enum perf_read_kind kind;
	/* The whole record as in the file, for passing it on (perf_writer__raw()). */
	const void *raw;
	size_t raw_size;
	/* Of PERF_READ_OTHER: bytes that follow it in the file (perf_reader__extra()). */
	__u64 extra;
	__u64 at; /* where it is in a finished file; 0: unknown, or in a compressed record */
	int pid, tid;
	__u32 cpu;
	__u64 time_ns;
	bool in_kernel; /* of a mapping: the kernel's */
	/* sample */
	unsigned event;
	__u64 ip, period;
	__u32 state; /* as in perf_writer.h; 0 in files of other writers */
	__u64 addr; /* 0 if its event has none */
	const __u64 *chain; /* leaf first, with PERF_CONTEXT_* markers; may be unaligned */
	unsigned chain_cnt;
	/* comm: text; mapping: path in text */
	const char *text;
	bool exec;
	__u64 start, size, offset;
	__u8 build_id[20];
	unsigned build_id_size;
	/* fork */
	int parent_pid, parent_tid;
	/* lost */
	__u64 lost;
	/* switch */
	bool out;
};

struct perf_read_stats {
	__u64 records, skipped; /* skipped: malformed */
	bool cut; /* the file ends in the middle of something */
	bool unfinished; /* its writer was killed */
};

/* Returns 0, or -errno with *err filled. name is for messages. *in is borrowed. */
int perf_reader__open(struct perf_reader **ret, FILE *in, const char *name, struct error *err)
	__attribute__((warn_unused_result));
void perf_reader__free(struct perf_reader *r);

/*
 * Returns 1 and *ret; 0 at the end; -errno. Returns every complete record, also from compressed
 * ones, except those that describe the file (attributes and features) and trace data (AUXTRACE).
 */
int perf_reader__next(struct perf_reader *r, struct perf_read *ret)
	__attribute__((warn_unused_result));

/* Returns records by their times from now on, unless krait has written them (read_order.h): not for copying. */
void perf_reader__by_time(struct perf_reader *r);
/*
 * For copying a file: from now on also returns what describes the file, and malformed records, as
 * PERF_READ_OTHER, and trace data.
 */
void perf_reader__take_all(struct perf_reader *r);
/* Reads what follows the last record. Returns the number of bytes, 0: no more; -errno. */
ssize_t perf_reader__extra(struct perf_reader *r, void *buf, size_t size);
/* Of the file layout; NULL: the pipe layout. */
const struct perf_file_header *perf_reader__header(const struct perf_reader *r);

/* In pipes, events and facts come with the records. */
const struct perf_read_event *perf_reader__events(const struct perf_reader *r, unsigned *ret_cnt);
/* The event as it was requested. */
struct event_spec perf_read_event_spec(const struct perf_read_event *e);
const struct perf_read_facts *perf_reader__facts(const struct perf_reader *r);
const struct perf_read_stats *perf_reader__stats(const struct perf_reader *r);

#endif /* KRAIT_CAPTURE_PERFDATA_PERF_READER_H */
