/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_processes.h - what readers of a merged capture already know: about processes, from the
 * capture being added; about the kernel, from all.
 */
#ifndef KRAIT_KEEP_MERGE_PROCESSES_H
#define KRAIT_KEEP_MERGE_PROCESSES_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/strtab.h"

struct merge_process;
struct perf_read;

/* All zero: nothing. */
struct merge_processes {
	struct merge_process *list; /* sorted by pid */
	struct strtab kernel; /* mappings, as texts */
};

void merge_processes_free(struct merge_processes *ps);
/* The next capture begins. */
void merge_processes_clear(struct merge_processes *ps);
/*
 * The process has a name. again: a new image, by exec. Returns 1: it was unknown in this capture;
 * 0; -ENOMEM.
 */
int merge_processes_begin(struct merge_processes *ps, int pid, bool again)
	__attribute__((warn_unused_result));
/*
 * How many of krait's libraries it has; the caller updates it. Valid until the next call. NULL: out
 * of memory.
 */
unsigned *merge_processes_libraries(struct merge_processes *ps, int pid);
/* Is this mapping of the kernel new to readers? */
bool merge_processes_is_new_kernel(struct merge_processes *ps, const struct perf_read *mapping);

#endif /* KRAIT_KEEP_MERGE_PROCESSES_H */
