/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_import.h - reads a perf.data file into a profile.
 *
 * Addresses in krait's own DSO become functions again, with file, line and column. Addresses in
 * other objects get names from their symbols if the same file exists here, or the same kernel runs;
 * otherwise the object stands for them, "[libc.so.6]", one mark for each run of them.
 *
 * Each event of the file is an event of the profile, with the same number.
 *
 * Must hold: every sample that is read and not filtered out is one sample of the profile, and is
 * passed to on_sample.
 */
#ifndef KRAIT_CAPTURE_IMPORT_PERF_IMPORT_H
#define KRAIT_CAPTURE_IMPORT_PERF_IMPORT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/import/charging.h"
#include "capture/perfdata/perf_reader.h"
#include "profile/profile.h"
#include "profile/recording.h"
#include "profile/thread_filter.h"
#include "base/text/pattern.h"

struct error;

#define PERF_FILTER_PIDS 64

/* Selects samples; zero and NULL select all. */
struct perf_filter {
	int pids[PERF_FILTER_PIDS]; /* only these processes; pid_cnt 0: all */
	unsigned pid_cnt;
	int tid;
	const char *comm; /* name of the thread or of the process */
	const char *function; /* only stacks that contain it, as in profile/stack_filter.h */
	enum pattern_use function_use;
	const char *event; /* NULL: all, kept separate */
	__u64 states; /* a set of profile/states.h */
	bool holds_gil; /* only threads that hold it */
	struct thread_filter thread;
	double from_seconds, to_seconds; /* since the first sample; to_seconds 0: no limit */
	/* In place of these: parts of the time between the first sample and the last one; to_share 0: none. */
	double from_share, to_share;
	/* Leave such frames out: what ends in them counts for the Python function that called them. */
	bool no_native, no_kernel;
	bool charge_waiters; /* stacks of native threads are those of who waits for them (charging.h) */
	bool sources; /* give native code its source lines, as far as known */
	bool inlined; /* and the functions inlined there */
	/*
	 * add to the dictionary also instructions without samples, of Python functions that have
	 * some
	 */
	bool instructions;
};

struct perf_import_config {
	const char *path; /* for messages and to find the DSO beside it */
	struct perf_filter filter;
	bool alone; /* open no other files: what they would name has no names */
	void (*on_sample)(void *ctx, const struct profile *p, const struct profile_sample *s);
	void *ctx;
};

struct perf_import_stats {
	struct perf_read_stats read;
	struct perf_read_facts facts;
	/* samples: over all events; unresolved: frames */
	__u64 samples, filtered, lost, unresolved;
	__u64 mappings_refused; /* no room for them: their addresses have no names */
	__u64 other_events; /* samples of unwanted events */
	struct charging_stats charging; /* with charge_waiters */
	__u64 first_ns, last_ns;
	/*
	 * Its texts belong to the facts. It lasts from the first sample to the last one, unless krait has
	 * noted when it began and ended; of these, what lies within the filter's range of time. The window
	 * of all counts is the same.
	 */
	struct recording recording;
	unsigned max_depth;
	bool is_krait; /* it has a DSO of krait */
	char missing_dso[256]; /* a DSO of krait that was not found */
	/*
	 * The processes (or threads, if no process was selected) with the most samples filtered
	 * out.
	 */
	char others[160];
	unsigned events; /* number of events with samples */
	unsigned event; /* number of the first of these */
};

/* Returns 0, or -errno with *err filled. *in is borrowed. */
int perf_import(struct profile *p, FILE *in, const struct perf_import_config *config,
		struct perf_import_stats *ret_stats, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_IMPORT_PERF_IMPORT_H */
