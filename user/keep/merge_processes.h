/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_processes.h - what readers of a merged capture have been told: of processes, in the capture that is being
 * taken in; of the kernel, in all.
 */
#ifndef KRAIT_KEEP_MERGE_PROCESSES_H
#define KRAIT_KEEP_MERGE_PROCESSES_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/strtab.h"

struct merge_process;
struct perf_read;

/* All zero is none. */
struct merge_processes {
	struct merge_process *list; /* by pid */
	struct strtab kernel; /* mappings, as texts */
};

void merge_processes_free(struct merge_processes *ps);
/* The next capture begins. */
void merge_processes_clear(struct merge_processes *ps);
/*
 * The process has a name. again: another one, by exec. 1: nothing was known of it in this capture; 0; -ENOMEM.
 */
int merge_processes_begin(struct merge_processes *ps, int pid, bool again)
	__attribute__((warn_unused_result));
/* How many of krait's libraries it has; the caller counts. Valid until the next call. NULL when out of memory. */
unsigned *merge_processes_libraries(struct merge_processes *ps, int pid);
/* Has it not been said that there is this of the kernel? */
bool merge_processes_is_new_kernel(struct merge_processes *ps, const struct perf_read *mapping);

#endif /* KRAIT_KEEP_MERGE_PROCESSES_H */
