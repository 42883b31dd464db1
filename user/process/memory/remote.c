/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/memory/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/privileges.h"

struct remote {
	struct memory memory;
	pid_t pid;
	int fd; /* /proc/PID/mem, or -1: use the pid */
};

static ssize_t read_by_pid(pid_t pid, __u64 addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	return process_vm_readv(pid, &local, 1, &theirs, 1, 0);
}

/* fd -1: use the pid. */
static int read_all(int fd, pid_t pid, __u64 addr, void *buf, size_t len)
{
	size_t done = 0;

	/* Offsets of /proc/PID/mem are signed; user space never gets that high anyway. */
	if (addr > LLONG_MAX || len > LLONG_MAX - addr)
		return -EFAULT;
	while (done < len) {
		char *to = (char *)buf + done;
		ssize_t n = fd >= 0 ? pread(fd, to, len - done, (off_t)(addr + done)) :
				      read_by_pid(pid, addr + done, to, len - done);

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

int remote_read_fd(int fd, __u64 addr, void *buf, size_t len)
{
	return fd < 0 ? -EPERM : read_all(fd, 0, addr, buf, len);
}

static int remote_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct remote *r = ctx;

	return read_all(r->fd, r->pid, addr, buf, len);
}

struct remote *remote__open_at(int dir, bool writable)
{
	struct remote *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return NULL;
	*r = (struct remote){ .memory = { .read = remote_read, .ctx = r }, .fd = -1 };
	if (writable) {
		/* The file belongs to the process's user, who need not be krait's. */
		cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_DAC_OVERRIDE);

		r->fd = openat(dir, "mem", O_RDWR | O_CLOEXEC);
	}
	if (r->fd < 0)
		r->fd = openat(dir, "mem", O_RDONLY | O_CLOEXEC);
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

struct remote *remote__open(pid_t pid)
{
	struct remote *r = malloc(sizeof(*r));
	char path[32], probe;
	int err;

	if (!r)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*r = (struct remote){
		.memory = { .read = remote_read, .ctx = r },
		.pid = pid,
		.fd = open(path, O_RDONLY | O_CLOEXEC),
	};
	if (r->fd >= 0)
		return r;
	err = errno == ENOENT ? ESRCH : errno;
	/* Address 0 is never mapped: EFAULT means that reading is allowed. */
	if (err != ESRCH && (read_by_pid(pid, 0, &probe, 1) >= 0 || errno == EFAULT))
		return r;
	free(r);
	errno = err == EPERM ? EACCES : err;
	return NULL;
}

void remote__close(struct remote *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

const struct memory *remote__memory(const struct remote *r)
{
	return &r->memory;
}
