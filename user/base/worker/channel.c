/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/clock.h"

/* A control buffer for one message's descriptors, aligned as the kernel wants it. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
};

int channel_send(int fd, const void *msg, size_t len, const int *fds, unsigned fd_cnt)
{
	struct iovec data = { .iov_base = (void *)msg, .iov_len = len };
	struct msghdr h = { .msg_iov = &data, .msg_iovlen = 1 };
	union control control = { .bytes = { 0 } };
	ssize_t n;

	if (!len || len > CHANNEL_MAX || fd_cnt > CHANNEL_FDS_MAX)
		return -EINVAL;
	if (fd_cnt) {
		size_t size = fd_cnt * sizeof(*fds);

		control.align = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(size),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.align), fds, size);
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(size);
	}
	do {
		n = sendmsg(fd, &h, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET || errno == ENOTCONN ? -EPIPE : -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* Returns 0 if there is something to read, including the end. */
static int wait_readable(int fd, int timeout_ms)
{
	__u64 end_ns = clock_monotonic_ns() + (timeout_ms > 0 ? timeout_ms * NS_PER_MS : 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		int r = poll(&p, 1, timeout_ms);
		__u64 now_ns;

		if (r > 0)
			return p.revents & POLLNVAL ? -EBADF : 0;
		if (r == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
		now_ns = clock_monotonic_ns();
		if (timeout_ms > 0)
			timeout_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) : 0;
	}
}

/* Takes a message's descriptors. Returns how many, or -EPROTO after closing all of them. */
static int take_fds(struct msghdr *h, int *fds, unsigned room)
{
	unsigned cnt = 0, excess = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t len = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < len / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (cnt < room) {
				fds[cnt++] = fd;
			} else {
				close(fd);
				excess++;
			}
		}
	}
	if (!excess && !(h->msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
		return (int)cnt;
	while (cnt)
		close(fds[--cnt]);
	return h->msg_flags & MSG_TRUNC ? -EMSGSIZE : -EPROTO;
}

ssize_t channel_recv(int fd, void *buf, size_t size, int *fds, unsigned *fd_cnt, int timeout_ms)
{
	struct iovec data = { .iov_base = buf, .iov_len = size };
	union control control;
	struct msghdr h = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	unsigned room = fd_cnt ? *fd_cnt : 0;
	ssize_t n;
	int r;

	if (fd_cnt)
		*fd_cnt = 0;
	r = wait_readable(fd, timeout_ms);
	if (r)
		return r;
	do {
		n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
	r = take_fds(&h, fds, room);
	if (r < 0)
		return r;
	/* An empty message means the end, or a peer that breaks the rules. */
	if (n == 0) {
		while (r)
			close(fds[--r]);
		return -EPIPE;
	}
	if (fd_cnt)
		*fd_cnt = (unsigned)r;
	return n;
}

/* Receives with room for one descriptor if ret_fd is not NULL. */
static ssize_t recv_one(int fd, void *buf, size_t size, int *ret_fd, int timeout_ms)
{
	unsigned cnt = ret_fd != NULL;
	ssize_t n = channel_recv(fd, buf, size, ret_fd, &cnt, timeout_ms);

	if (ret_fd && !cnt)
		*ret_fd = -1;
	return n;
}

static void drop_fd(int *fd)
{
	if (!fd)
		return;
	cleanup_close_(fd);
	*fd = -1;
}

int channel_take(int fd, void *msg, size_t size, int *ret_fd, int timeout_ms)
{
	ssize_t n = recv_one(fd, msg, size, ret_fd, timeout_ms);

	if (n < 0)
		return (int)n;
	if ((size_t)n == size)
		return 0;
	drop_fd(ret_fd);
	return -EPROTO;
}

static bool is_answer(const struct channel_call *call)
{
	return !call->numbered || !memcmp(call->request, call->answer, sizeof(__u32));
}

ssize_t channel_call(int fd, const struct channel_call *call, int *ret_fd)
{
	const __u64 end_ns = clock_monotonic_ns() + (__u64)call->timeout_ms * NS_PER_MS;
	const size_t least = call->least ? call->least : call->size;
	int err, left_ms = call->timeout_ms;

	if (ret_fd)
		*ret_fd = -1;
	err = channel_send(fd, call->request, call->len, call->fds, call->fd_cnt);
	if (err)
		return err;
	for (;;) {
		ssize_t n = recv_one(fd, call->answer, call->size, ret_fd, left_ms);
		__u64 now_ns;

		if (n < 0 || ((size_t)n >= least && is_answer(call)))
			return n;
		drop_fd(ret_fd);
		if (!call->numbered)
			return -EPROTO;
		now_ns = clock_monotonic_ns();
		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		left_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
	}
}
