/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - whether everything written to a stdio stream arrived.
 *
 * A stream remembers that a write failed, but not why, and the failure need not have set errno: we
 * must not report a stale cause.
 */
#ifndef KRAIT_BASE_TEXT_STREAM_H
#define KRAIT_BASE_TEXT_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* Call after a failure, having set errno to 0 before the call. */
static inline int stream_cause(void)
{
	return errno ? -errno : -EIO;
}

/*
 * Likewise for an earlier failure: the stream was closed (base/system/environment.h), the reader left, or
 * the file system is full. Each of these can be checked.
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

/* Flushes. Returns 0 or -errno; -EIO if the cause is unknown. */
static inline int stream_finish(FILE *out)
{
	errno = 0;
	if (fflush(out))
		return errno ? -errno : stream_late_cause(out);
	return ferror(out) ? stream_late_cause(out) : 0;
}

#endif /* KRAIT_BASE_TEXT_STREAM_H */
