/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.h - several captures of one machine, one after the other in time, as one.
 *
 * Samples and what is said of processes go over record by record, with their times; addresses of Python become those
 * of one set of libraries (merge_python.h), those of native code and the kernel stay. The notes are added up
 * (merge_notes.h). A process is announced anew in each capture, as another one may have its pid by then.
 *
 * Must hold: the sums of the whole are the sums of its parts; what cannot be taken over is counted and said.
 */
#ifndef KRAIT_KEEP_MERGE_H
#define KRAIT_KEEP_MERGE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>

struct emit_place;
struct error;
struct merge;

struct merge_stats {
	unsigned captures; /* that are in it */
	unsigned torn; /* of these: cut off, without accounts of what was lost */
	unsigned other_events; /* left out: they count something else */
	__u64 samples, skipped; /* skipped: records that make no sense */
	__u64 interrupts, lost; /* as the captures' accounts say, of all events */
	__u64 unnamed; /* addresses of Python without a name */
	__u64 first_ns, last_ns; /* of the samples, CLOCK_MONOTONIC */
	__s64 wall_offset_ns; /* from these to ns since 1970; 0 not known */
};

/* *out, which belongs to the caller, has the place *place. 0 or -errno. */
int merge__new(struct merge **ret, FILE *out, const struct emit_place *place)
	__attribute__((warn_unused_result));
void merge__free(struct merge *m);

/*
 * The next one. wall_offset_ns: as merge_stats has it, for those that do not say; 0 not known. 0, or -errno with
 * *err filled: 0 also where it is left out.
 */
int merge__add(struct merge *m, const char *path, __s64 wall_offset_ns, struct error *err)
	__attribute__((warn_unused_result));
/* 0 or -errno; -ENODATA: there is not one sample. */
int merge__finish(struct merge *m) __attribute__((warn_unused_result));
void merge__stats(const struct merge *m, struct merge_stats *ret);

#endif /* KRAIT_KEEP_MERGE_H */
