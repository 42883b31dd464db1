/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announce.h - tells readers of a perf.data file about processes and threads, before their first
 * sample and again when something changes: names, krait's DSOs, native mappings.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_ANNOUNCE_H
#define KRAIT_CAPTURE_PERFDATA_ANNOUNCE_H

#include "capture/dso/dso_files.h"
#include "capture/perfdata/announced_maps.h"
#include "capture/perfdata/perf_writer.h"
#include "profile/profile.h"

struct announced_task;
struct chain;

/* Recent stacks whose mappings have been announced; a power of two. */
#define ANNOUNCED_STACKS 4096

/* No padding, since it is hashed. */
struct announced_stack {
	int pid;
	__u32 node;
	__u64 mappings; /* of the process at that time */
};

/* Threads whose tasks are cached. */
#define ANNOUNCED_THREADS 1024

struct announced_thread {
	__u32 number; /* profile_sample.thread */
	struct announced_task *process, *thread; /* NULL: not announced yet */
};

/* All zero: empty. */
struct announcer {
	struct announced_task *tasks; /* known to readers, by tid */
	struct announced_total total; /* of mappings */
	__u64 epoch; /* changes when a process gets another image */
	struct announced_stack stacks[ANNOUNCED_STACKS];
	struct announced_thread recent[ANNOUNCED_THREADS];
	__u32 renamed_cnt; /* dict__renamed_cnt() at the last look */
};

struct announcer_output {
	struct perf_writer *writer;
	struct dso_files *files;
};

/*
 * A DSO of krait's, which every process has at dso_start(); its strings are valid until files is
 * freed. Returns 0 or -errno.
 */
int announcer_dso(struct dso_files *files, __u32 generation, struct perf_object *ret)
	__attribute__((warn_unused_result));

void announcer_free(struct announcer *a);
/* Warns about what had to be left out. */
void announcer_warn(const struct announcer *a);

/* Call for each sample before it is written, once its chain is built. Returns 0 or -errno. */
int announcer_sample(struct announcer *a, const struct announcer_output *to,
		     const struct dict *dict, const struct profile_sample *s,
		     const struct perf_stamp *sample, const struct chain *chain)
	__attribute__((warn_unused_result));

/* Threads may have other names since their last samples. Returns 0 or -errno. */
int announcer_rename(struct announcer *a, const struct announcer_output *to,
		     const struct dict *dict) __attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_PERFDATA_ANNOUNCE_H */
