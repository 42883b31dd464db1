/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_import.h - a perf.data file into a profile.
 *
 * Addresses in krait's own DSO become functions again, with file, line and column. Addresses in
 * other objects are named by their symbols where the same file is here, and the same kernel runs;
 * else the object stands for them, "[libc.so.6]", one mark for each run of them.
 *
 * Each event of the file is one of the profile, by the same number.
 *
 * Must hold: every sample that is read and not filtered out is one sample of the profile, and is
 * handed to on_sample.
 */
#ifndef KRAIT_IMPORT_PERF_IMPORT_H
#define KRAIT_IMPORT_PERF_IMPORT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

#include "perfdata/perf_reader.h"
#include "profile/profile.h"
#include "profile/recording.h"
#include "profile/thread_filter.h"

struct error;

#define PERF_FILTER_PIDS 64

/* What to take; zero and NULL take all. */
struct perf_filter {
	int pids[PERF_FILTER_PIDS]; /* of these processes; pid_cnt 0: of all */
	unsigned pid_cnt;
	int tid;
	const char *comm; /* name of the thread or of the process */
	const char *function; /* only stacks that have it: a pattern of profile/stack_filter.h */
	const char *event; /* NULL: all, each apart */
	__u64 states; /* a set of profile/states.h */
	bool holds_gil; /* only of threads that have it */
	struct thread_filter thread;
	double from_seconds, to_seconds; /* since the first sample; to: 0 is no limit */
	/* Leave such frames out: what ends in them ends in the function of Python that called them. */
	bool no_native, no_kernel;
	bool sources; /* native code has its source lines, as far as they are known */
	bool inlined; /* and the functions that were inlined there */
	bool instructions; /* also those without samples of functions of Python that have some, into the dictionary */
};

struct perf_import_config {
	const char *path; /* of the file, for messages and to find the DSO beside it */
	struct perf_filter filter;
	bool alone; /* nothing else is looked at: what is named in other files, or here, has no names */
	void (*on_sample)(void *ctx, const struct profile *p, const struct profile_sample *s);
	void *ctx;
};

struct perf_import_stats {
	struct perf_read_stats read;
	struct perf_read_facts facts;
	__u64 samples, filtered, lost, unresolved; /* samples: of all events; unresolved: frames */
	__u64 mappings_refused; /* for which there was no room: their addresses have no names */
	__u64 other_events; /* samples of events that were not asked for */
	__u64 first_ns, last_ns;
	/*
	 * Its texts are those of the facts. It begins with the first sample; its length is between first and
	 * last sample, unless krait has noted it.
	 */
	struct recording recording;
	unsigned max_depth;
	bool is_krait; /* it has a DSO of krait */
	char missing_dso[256]; /* path of a DSO of krait that was not found */
	/* The processes (threads, where no process was asked for) with most of what was filtered out. */
	char others[160];
	unsigned events; /* of which there are samples */
	unsigned event; /* number of the first of these */
};

/* 0, or -errno with *err filled. *in is borrowed. */
int perf_import(struct profile *p, FILE *in, const struct perf_import_config *config,
		struct perf_import_stats *ret_stats, struct error *err)
	__attribute__((warn_unused_result));

#endif /* KRAIT_IMPORT_PERF_IMPORT_H */
