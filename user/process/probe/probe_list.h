/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_list.h - lists that are longer than a message: a prober writes them to a file in memory,
 * from which krait reads them.
 */
#ifndef KRAIT_PROCESS_PROBE_PROBE_LIST_H
#define KRAIT_PROCESS_PROBE_PROBE_LIST_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static inline int probe_list_write(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n <= 0)
			return n < 0 && errno ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* Reads the first len bytes: 0, -errno, or -EPROTO if there are fewer. */
static inline int probe_list_read(int fd, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)done);

		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		done += (size_t)n;
	}
	return 0;
}

#endif /* KRAIT_PROCESS_PROBE_PROBE_LIST_H */
