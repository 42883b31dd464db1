/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced_maps.h - which mappings of a process the perf.data file has already.
 *
 * Only mappings that a sample has hit are written, each once, and again when another one took its place: a
 * process can have tens of thousands, with names of four kilobytes, and change them all the time.
 *
 * Must hold: what one process makes krait write is bounded (ANNOUNCED_PROCESS_BYTES, and a part of
 * what is left for all), and what was cut is counted.
 */
#ifndef KRAIT_PERFDATA_ANNOUNCED_MAPS_H
#define KRAIT_PERFDATA_ANNOUNCED_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

/* A process with a thousand libraries takes 150 KiB. */
#define ANNOUNCED_PROCESS_BYTES (1U << 20)
/* Of all; no process gets more than one part in ANNOUNCED_PART of what is left. */
#define ANNOUNCED_ALL_BYTES (256U << 20)
#define ANNOUNCED_PART 64

struct mapping;

/* What has been written for all processes. All zero at first. */
struct announced_total {
	__u64 bytes, cut; /* mappings */
	unsigned cut_processes;
};

/* Of one process. All zero at first. */
struct announced_maps {
	struct mapping *list; /* by start; none lies over another */
	unsigned cnt, cap;
	__u32 bytes; /* written */
	bool cut;
};

void announced_maps_free(struct announced_maps *a);
/* Another image: readers take none of the old ones for its own. */
void announced_maps_clear(struct announced_maps *a);

/*
 * 1 where the caller has to write this mapping, which counts as written then; 0 where the file has it
 * already, or there is no room for it (counted); -ENOMEM.
 */
int announced_maps_add(struct announced_maps *a, struct announced_total *total,
		       const struct mapping *m) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PERFDATA_ANNOUNCED_MAPS_H */
