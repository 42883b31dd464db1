/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.h - merges several consecutive captures of one machine into one.
 *
 * Samples and information about processes are copied record by record, with their times. Addresses
 * of Python become those of one common set of libraries (merge_python.h); those of native code and
 * the kernel stay. The notes are added up (merge_notes.h). A process is announced anew in each
 * capture, as another one may have its pid by then.
 *
 * Must hold: the sums of the whole are the sums of its parts; what cannot be copied is counted and
 * reported.
 */
#ifndef KRAIT_AGENT_KEEP_MERGE_H
#define KRAIT_AGENT_KEEP_MERGE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct emit_place;
struct error;
struct merge;

struct merge_stats {
	unsigned captures; /* included */
	unsigned torn; /* of those, truncated ones, without accounts of what was lost */
	unsigned other_events; /* left out: they count something else */
	__u64 samples, skipped; /* skipped: malformed records */
	__u64 interrupts, lost; /* from the captures' accounts, over all events */
	const char *why_lost; /* the reason for most of these; NULL: none was */
	__u64 unnamed; /* addresses of Python without a name */
	__u64 first_ns, last_ns; /* of the samples, CLOCK_MONOTONIC */
	__s64 wall_offset_ns; /* add it to get ns since 1970; 0 unknown */
};

/* The caller keeps *out, which is at *place. Returns 0 or -errno. */
int merge__new(struct merge **ret, FILE *out, const struct emit_place *place)
	__attribute__((warn_unused_result));
void merge__free(struct merge *m);

/*
 * Adds the next capture. wall_offset_ns: as in merge_stats, for captures that lack it; 0 unknown.
 * Returns 0, also if it is left out, or -errno with *err filled.
 */
int merge__add(struct merge *m, const char *path, __s64 wall_offset_ns, struct error *err)
	__attribute__((warn_unused_result));
/* Returns 0 or -errno; -ENODATA: there is not a single sample. */
int merge__finish(struct merge *m) __attribute__((warn_unused_result));
void merge__stats(const struct merge *m, struct merge_stats *ret);

#endif /* KRAIT_AGENT_KEEP_MERGE_H */
