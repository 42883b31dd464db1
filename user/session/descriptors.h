/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.h - the file descriptors of a recording: as many as are allowed, and those that it cannot
 * do without set aside before processes, which take one each, get any.
 */
#ifndef KRAIT_SESSION_DESCRIPTORS_H
#define KRAIT_SESSION_DESCRIPTORS_H

#include <sys/resource.h>

struct descriptors;
struct error;

/*
 * Raises the limit, *ret_old being what a launched command gets back, and sets aside what so many events
 * need on every CPU. NULL with *err filled when the limit is too low for any recording.
 */
struct descriptors *descriptors__new(unsigned events, struct rlimit *ret_old, struct error *err);
/* They are needed now. */
void descriptors__release(struct descriptors *d);
void descriptors__free(struct descriptors *d);

#endif /* KRAIT_SESSION_DESCRIPTORS_H */
