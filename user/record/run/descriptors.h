/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.h - the file descriptors of a recording: raises the limit as far as possible, and
 * reserves those that the recording cannot do without before processes take theirs.
 */
#ifndef KRAIT_RECORD_RUN_DESCRIPTORS_H
#define KRAIT_RECORD_RUN_DESCRIPTORS_H

#include <sys/resource.h>

struct descriptors;
struct error;

/*
 * Raises the limit (a launched command gets *ret_old back) and reserves what that number of perf
 * events on every CPU needs. NULL with *err filled if the limit is too low for any recording.
 */
struct descriptors *descriptors__new(unsigned events, struct rlimit *ret_old, struct error *err);
/* Only raises the limit: for commands that record nothing, or not yet. */
void descriptors_raise(void);
/* Releases the reserve: its descriptors are about to be used. */
void descriptors__release(struct descriptors *d);
void descriptors__free(struct descriptors *d);

#endif /* KRAIT_RECORD_RUN_DESCRIPTORS_H */
