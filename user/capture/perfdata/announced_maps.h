/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced_maps.h - which mappings of a process the perf.data file already contains.
 *
 * Only mappings that a sample has hit are written, each once, and again when another one has
 * replaced it: a process can have tens of thousands, with names of four kilobytes, and change them
 * all the time.
 *
 * Must hold: what one process makes krait write is bounded (ANNOUNCED_PROCESS_BYTES, and a part of
 * what is left for all), and what was cut is counted.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_ANNOUNCED_MAPS_H
#define KRAIT_CAPTURE_PERFDATA_ANNOUNCED_MAPS_H

#include <linux/types.h>
#include <stdbool.h>

/* A process with a thousand libraries takes 150 KiB. */
#define ANNOUNCED_PROCESS_BYTES (1U << 20)
/* For all processes; none gets more than 1/ANNOUNCED_PART of what is left. */
#define ANNOUNCED_ALL_BYTES (256U << 20)
#define ANNOUNCED_PART 64

struct mapping;

/* What has been written for all processes. All zero initially. */
struct announced_total {
	__u64 bytes, cut; /* cut: number of mappings */
	unsigned cut_processes;
};

/* For one process. All zero initially. */
struct announced_maps {
	struct mapping *list; /* sorted by start, not overlapping */
	unsigned cnt, cap;
	__u32 bytes; /* written so far */
	bool cut;
};

void announced_maps_free(struct announced_maps *a);
/* A new image: readers assign none of the old mappings to it. */
void announced_maps_clear(struct announced_maps *a);

/*
 * Returns 1 if the caller has to write this mapping, which then counts as written; 0 if the file
 * has it already, or there is no room for it (counted); -ENOMEM.
 */
int announced_maps_add(struct announced_maps *a, struct announced_total *total,
		       const struct mapping *m) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_CAPTURE_PERFDATA_ANNOUNCED_MAPS_H */
