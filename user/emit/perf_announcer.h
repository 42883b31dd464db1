/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_announcer.h - tells readers of a perf.data file of processes and threads, before their first
 * sample and again when something changes: names, krait's DSOs, native mappings.
 */
#ifndef KRAIT_EMIT_PERF_ANNOUNCER_H
#define KRAIT_EMIT_PERF_ANNOUNCER_H

#include "capture/dso_files.h"
#include "capture/perf_writer.h"
#include "profile/profile.h"

struct announced_task;

/* All zero is none. */
struct announcer {
	struct announced_task *tasks; /* that readers know, by tid */
};

struct announcer_output {
	struct perf_writer *writer;
	struct dso_files *files;
};

void announcer_free(struct announcer *a);

/*
 * To be called for each sample before it is written, when its addresses have been given. image: the
 * frame of the process, which is another one when it has another name. 0 or -errno.
 */
int announcer_sample(struct announcer *a, const struct announcer_output *to,
		     const struct profile *p, const struct profile_sample *s,
		     const struct perf_stamp *sample, __u32 image)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_PERF_ANNOUNCER_H */
