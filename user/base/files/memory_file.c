/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/files/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/data/cleanup.h"

int memory_file(const char *name, const void *data, size_t len)
{
	cleanup_close int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return take_fd(&fd);
}
