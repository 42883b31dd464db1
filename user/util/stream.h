/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - has all that was written to a stdio stream arrived?
 *
 * A stream remembers that a write has failed, not why, and what has failed need not have set errno: a
 * cause that is left over from something else must not be named.
 */
#ifndef KRAIT_UTIL_STREAM_H
#define KRAIT_UTIL_STREAM_H

#include <errno.h>
#include <stdio.h>

/* After a call that has failed, before which errno was 0. */
static inline int stream_cause(void)
{
	return errno ? -errno : -EIO;
}

/* Flushes. 0 or -errno, -EIO where the cause is not known. */
static inline int stream_finish(FILE *out)
{
	errno = 0;
	return fflush(out) || ferror(out) ? stream_cause() : 0;
}

#endif /* KRAIT_UTIL_STREAM_H */
