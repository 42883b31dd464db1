/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.h - the functions of one process as the text of a perf map, "START SIZE NAME", for tools
 * that look up the addresses of a capture in /tmp/perf-PID.map and not in its DSO.
 */
#ifndef KRAIT_PERFMAP_PERF_MAP_H
#define KRAIT_PERFMAP_PERF_MAP_H

#include <linux/types.h>
#include <stdio.h>

#include "dso/dso.h"

/* All of krait's begin with it; it names the address of what had no room. */
#define PERF_MAP_FIRST_LINE "100000001000 4 [krait: no room]\n"

/* A file for a process, which is closed again; NULL: none for this one. */
typedef FILE *(*perf_map_open_fn)(void *ctx, int pid);

/*
 * Writes one for each process of the profile: what its samples have on their stacks, and nothing of
 * others. 0, or the first -errno of writing.
 */
int perf_maps_write(struct dso *d, const struct dict *dict, perf_map_open_fn open, void *ctx)
	__attribute__((warn_unused_result));

#endif /* KRAIT_PERFMAP_PERF_MAP_H */
