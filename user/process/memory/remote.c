/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/privileges.h"
#include "process/memory/opener.h"

struct remote {
	struct memory memory;
	int fd; /* /proc/PID/mem */
};

int remote_read_fd(int fd, __u64 addr, void *buf, size_t len)
{
	size_t done = 0;

	if (fd < 0)
		return -EPERM;
	/* Offsets of /proc/PID/mem are signed; user space never gets that high anyway. */
	if (addr > LLONG_MAX || len > LLONG_MAX - addr)
		return -EFAULT;
	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(addr + done));

		if (n > 0)
			done += (size_t)n;
		else if (n == 0)
			return -ESRCH; /* the address space is gone */
		else if (errno == EIO || errno == EFAULT || errno == ENOMEM)
			return -EFAULT;
		else if (errno != EINTR)
			return errno == EACCES ? -EPERM : -errno;
	}
	return 0;
}

static int read_at_fd(void *ctx, __u64 addr, void *buf, size_t len)
{
	return remote_read_fd(*(const int *)ctx, addr, buf, len);
}

struct memory remote_memory_at(const int *fd)
{
	return (struct memory){ .read = read_at_fd, .ctx = (void *)fd };
}

struct remote *remote__open_at(int dir, bool writable)
{
	struct remote *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return NULL;
	*r = (struct remote){ .memory = remote_memory_at(&r->fd), .fd = -1 };
	if (writable) {
		/* The file belongs to the process's user, who need not be krait's. */
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_DAC_OVERRIDE);

		r->fd = openat(dir, "mem", O_RDWR | O_CLOEXEC);
	}
	if (r->fd < 0)
		r->fd = openat(dir, "mem", O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 && (errno == EACCES || errno == EPERM))
		r->fd = opener_memory(dir);
	if (r->fd >= 0)
		return r;
	err = errno;
	free(r);
	errno = err == ENOENT ? ESRCH : err == EPERM ? EACCES : err;
	return NULL;
}

int remote__fd(const struct remote *r)
{
	return r->fd;
}

void remote__close(struct remote *r)
{
	if (!r)
		return;
	close(r->fd);
	free(r);
}

const struct memory *remote__memory(const struct remote *r)
{
	return &r->memory;
}
