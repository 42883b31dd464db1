/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge_notes.h - merges the notes of several captures (written by capture/perfdata/output.h): numbers are
 * added up; lines about the kernel, native code and processes are kept once.
 *
 * Must hold: the notes are untrusted; the parts are in the order that readers expect.
 */
#ifndef KRAIT_AGENT_KEEP_MERGE_NOTES_H
#define KRAIT_AGENT_KEEP_MERGE_NOTES_H

#include <linux/types.h>

struct merge_notes;

/* NULL: out of memory. */
struct merge_notes *merge_notes__new(void);
void merge_notes__free(struct merge_notes *n);
/* Returns 0 or -ENOMEM. */
int merge_notes__add(struct merge_notes *n, const char *notes) __attribute__((warn_unused_result));
/* Adds only its names: a truncated capture's numbers are out of date. */
int merge_notes__add_names(struct merge_notes *n, const char *notes)
	__attribute__((warn_unused_result));
/* Adds to one of the numbers. Returns 0 or -ENOMEM. */
int merge_notes__count(struct merge_notes *n, const char *name, __u64 value)
	__attribute__((warn_unused_result));
/* Over all events. *ret_why: the reason for most of what was lost; NULL: nothing was. */
void merge_notes__totals(const struct merge_notes *n, __u64 *ret_interrupts, __u64 *ret_lost,
			 const char **ret_why);
/* malloc'ed; NULL: out of memory. */
char *merge_notes__text(const struct merge_notes *n) __attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_KEEP_MERGE_NOTES_H */
