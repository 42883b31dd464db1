/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.h - messages with descriptors between krait and its workers.
 *
 * A channel is one end of a SOCK_SEQPACKET pair: a message arrives whole or not at all. The peer may
 * be in the hands of whoever wrote the file that it parses, so what arrives is checked: it fits, it
 * has no more descriptors than asked for, and none that is refused stays open.
 *
 * Must hold: nothing here waits longer than it is asked to; a peer that is gone is an error, never
 * a signal.
 */
#ifndef KRAIT_WORKER_CHANNEL_H
#define KRAIT_WORKER_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

/* Of a message; no message is empty. */
#define CHANNEL_MAX 65536
#define CHANNEL_FDS_MAX 8

/*
 * Sends len bytes and copies of the descriptors, which stay the caller's. Waits for room only where
 * fd is a blocking descriptor (a worker's end is, krait's is not). 0, or
 *  -EAGAIN    the peer has not read what was sent before
 *  -EPIPE     the peer is gone
 *  -EINVAL    empty, too long, or too many descriptors
 *  -errno     else
 */
int channel_send(int fd, const void *msg, size_t len, const int *fds, unsigned fd_cnt)
	__attribute__((warn_unused_result));

/*
 * Receives one message: its length, at least 1. *fd_cnt: in, the room in fds; out, how many came, all
 * close-on-exec and now the caller's. Both may be NULL: no descriptors. timeout_ms: -1 for ever, 0
 * only what is there. On failure no descriptor is left open and *fd_cnt is 0:
 *  -ETIMEDOUT nothing came
 *  -EPIPE     the peer is gone
 *  -EMSGSIZE  longer than size: it is dropped
 *  -EPROTO    more descriptors than room, or krait has no descriptors left: it is dropped
 *  -errno     else
 */
ssize_t channel_recv(int fd, void *buf, size_t size, int *fds, unsigned *fd_cnt, int timeout_ms)
	__attribute__((warn_unused_result));

#endif /* KRAIT_WORKER_CHANNEL_H */
