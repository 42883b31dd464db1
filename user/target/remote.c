/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/cleanup.h"

struct remote {
	struct memory memory;
	pid_t pid;
	int fd; /* /proc/PID/mem, or -1: go by pid */
};

static ssize_t read_once(const struct remote *r, __u64 addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec theirs = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	if (r->fd >= 0)
		return pread(r->fd, buf, len, (off_t)addr);
	return process_vm_readv(r->pid, &local, 1, &theirs, 1, 0);
}

static int remote_read(void *ctx, __u64 addr, void *buf, size_t len)
{
	const struct remote *r = ctx;
	size_t done = 0;

	/* Offsets of /proc/PID/mem are signed; user space never gets that high anyway. */
	if (addr > LLONG_MAX || len > LLONG_MAX - addr)
		return -EFAULT;
	while (done < len) {
		ssize_t n = read_once(r, addr + done, (char *)buf + done, len - done);

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
	/* Address 0 is never mapped: EFAULT means that we could have read it. */
	if (err != ESRCH && (read_once(r, 0, &probe, 1) >= 0 || errno == EFAULT))
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
