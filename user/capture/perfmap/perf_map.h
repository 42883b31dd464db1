/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.h - the functions of one process as a perf map, "START SIZE NAME" lines, for tools that
 * look up a capture's addresses in /tmp/perf-PID.map instead of its DSO.
 */
#ifndef KRAIT_CAPTURE_PERFMAP_PERF_MAP_H
#define KRAIT_CAPTURE_PERFMAP_PERF_MAP_H

#include <linux/types.h>
#include <stdio.h>

#include "capture/dso/dso.h"

/* First line of each file by krait; it names the address that stands for what had no room. */
#define PERF_MAP_FIRST_LINE "100000001000 4 [krait: no room]\n"

/* Opens a process's file, which we close; NULL: none for this process. */
typedef FILE *(*perf_map_open_fn)(void *ctx, int pid);

/* A process's file could not be written and is empty: the process may have chosen its location. */
typedef void (*perf_map_failed_fn)(void *ctx, int pid, int err);

struct perf_map_files {
	perf_map_open_fn open;
	perf_map_failed_fn failed;
	void *ctx;
};

/*
 * Writes a file for each process of the profile, with only what is on its sampled stacks. Returns 0
 * or -ENOMEM; that a file cannot be written is not the others' concern.
 */
int perf_maps_write(struct dso *d, const struct dict *dict, const struct perf_map_files *files)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_PERFMAP_PERF_MAP_H */
