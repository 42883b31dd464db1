/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.h - messages with descriptors between krait and its workers.
 *
 * A channel is one end of a SOCK_SEQPACKET pair: a message arrives whole or not at all. An attacker
 * who wrote the file that the peer parses may control the peer. So each message is checked: it
 * fits, it has no more descriptors than requested, and refused descriptors are closed.
 *
 * Must hold: nothing waits longer than requested. A peer that has ended is an error, never a
 * signal.
 */
#ifndef KRAIT_BASE_WORKER_CHANNEL_H
#define KRAIT_BASE_WORKER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Size limit of a message; no message is empty. */
#define CHANNEL_MAX 65536
#define CHANNEL_FDS_MAX 8

/*
 * Sends len bytes and copies of the descriptors, which stay the caller's. Waits for room only if fd
 * is a blocking descriptor (a worker's end is, krait's is not). Returns 0, or
 *  -EAGAIN    the peer has not read what was sent before
 *  -EPIPE     the peer has ended
 *  -EINVAL    empty, too long, or too many descriptors
 *  -errno     other errors
 */
int channel_send(int fd, const void *msg, size_t len, const int *fds, unsigned fd_cnt)
	__attribute__((warn_unused_result));

/*
 * Receives one message and returns its length, at least 1. *fd_cnt: in, the room in fds; out, how
 * many arrived, all close-on-exec and now the caller's. Both may be NULL: no descriptors.
 * timeout_ms: -1 waits for ever, 0 not at all. On failure no descriptor is left open and *fd_cnt is
 * 0:
 *  -ETIMEDOUT nothing arrived
 *  -EPIPE     the peer has ended
 *  -EMSGSIZE  longer than size: dropped
 *  -EPROTO    more descriptors than room, or krait has no descriptors left: dropped
 *  -errno     other errors
 */
ssize_t channel_recv(int fd, void *buf, size_t size, int *fds, unsigned *fd_cnt, int timeout_ms)
	__attribute__((warn_unused_result));

/*
 * Receives one message of exactly that size. ret_fd: NULL: no descriptor; else at most one, which is
 * the caller's; -1: none came. Returns 0, or as channel_recv(); -EPROTO: another size.
 */
int channel_take(int fd, void *msg, size_t size, int *ret_fd, int timeout_ms)
	__attribute__((warn_unused_result));

/* A request to a worker, and the room for its answer. */
struct channel_call {
	const void *request;
	size_t len;
	const int *fds; /* go with the request; stay the caller's */
	unsigned fd_cnt;
	void *answer;
	size_t size; /* of the answer, at most */
	size_t least; /* at least; 0: exactly size */
	/*
	 * Both begin with a __u32, the answer's being that of its request: answers to earlier requests,
	 * which nobody waits for any more, are passed over.
	 */
	bool numbered;
	int timeout_ms; /* for the answer */
};

/*
 * Sends the request and waits for its answer. *ret_fd (NULL: none is expected): the descriptor that
 * came with it, or -1. Returns the answer's length, or as channel_send() and channel_recv(); -EPROTO:
 * a length that it cannot have.
 */
ssize_t channel_call(int fd, const struct channel_call *call, int *ret_fd)
	__attribute__((warn_unused_result, nonnull(2)));

#endif /* KRAIT_BASE_WORKER_CHANNEL_H */
