/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_notes.h - the notes of several captures (perfdata/output.c has them written) as those of one: numbers are
 * added up; of the kernel, of native code and of processes, what is said twice is kept once.
 *
 * Must hold: the notes may be anything; the parts stand in the order in which readers want them.
 */
#ifndef KRAIT_KEEP_MERGE_NOTES_H
#define KRAIT_KEEP_MERGE_NOTES_H

#include <linux/types.h>

struct merge_notes;

/* NULL when out of memory. */
struct merge_notes *merge_notes__new(void);
void merge_notes__free(struct merge_notes *n);
/* 0 or -ENOMEM. */
int merge_notes__add(struct merge_notes *n, const char *notes) __attribute__((warn_unused_result));
/* Its names alone: of a capture that was cut off the numbers are those of a while ago. */
int merge_notes__add_names(struct merge_notes *n, const char *notes)
	__attribute__((warn_unused_result));
/* Adds to one of the numbers. 0 or -ENOMEM. */
int merge_notes__count(struct merge_notes *n, const char *name, __u64 value)
	__attribute__((warn_unused_result));
/* Of all events. */
void merge_notes__totals(const struct merge_notes *n, __u64 *ret_interrupts, __u64 *ret_lost);
/* malloc'ed; NULL when out of memory. */
char *merge_notes__text(const struct merge_notes *n) __attribute__((warn_unused_result));

#endif /* KRAIT_KEEP_MERGE_NOTES_H */
