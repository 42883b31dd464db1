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
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* After a call that has failed, before which errno was 0. */
static inline int stream_cause(void)
{
	return errno ? -errno : -EIO;
}

/*
 * The same of a call that has failed some time ago: it was closed (util/environment.h), the reader is gone, or the file
 * system is full. Each can be asked.
 */
static inline int stream_late_cause(FILE *out)
{
	struct pollfd ask = { .fd = fileno(out) };
	struct statvfs st;
	int fd = fileno(out);

	if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (fd >= 0 && poll(&ask, 1, 0) > 0 && ask.revents & POLLERR)
		return -EPIPE;
	return fd >= 0 && !fstatvfs(fd, &st) && st.f_blocks && !st.f_bavail ? -ENOSPC : -EIO;
}

/* Flushes. 0 or -errno, -EIO where the cause is not known. */
static inline int stream_finish(FILE *out)
{
	errno = 0;
	if (fflush(out))
		return errno ? -errno : stream_late_cause(out);
	return ferror(out) ? stream_late_cause(out) : 0;
}

#endif /* KRAIT_UTIL_STREAM_H */
