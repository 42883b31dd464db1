/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connections.h - how long each connection of a listener may take: libmicrohttpd ends those that are silent, and one
 * that says a byte now and then is not.
 *
 * Must hold: whoever connects finds a place, however many others hold one without asking anything.
 */
#ifndef KRAIT_SERVE_CONNECTIONS_H
#define KRAIT_SERVE_CONNECTIONS_H

#include <linux/types.h>

/* Of one listener. */
#define CONNECTIONS_MAX 64U
/* From so many on each that begins takes the place of the one that has waited longest for its request. */
#define CONNECTIONS_CROWDED 48U
/* For a whole request, from when it could begin; for sending the answer. */
#define CONNECTION_REQUEST_SECONDS 10U
#define CONNECTION_ANSWER_SECONDS 60U

struct connection {
	int fd; /* of libmicrohttpd; -1: this place is free */
	__u64 due_ns; /* it is ended then; ~0: it waits for krait, or has been ended */
	__u32 asking : 1; /* its request is not there yet */
};

struct connections {
	struct connection list[CONNECTIONS_MAX];
	unsigned cnt;
};

void connections_init(struct connections *c) __attribute__((nonnull));
/* NULL: there are too many. One that waits for a request may be ended for it. */
struct connection *connections_add(struct connections *c, int fd, __u64 now_ns)
	__attribute__((nonnull));
void connections_remove(struct connections *c, struct connection *connection)
	__attribute__((nonnull));

/* A request may begin. */
void connection_asks(struct connection *c, __u64 now_ns) __attribute__((nonnull));
/* The request is there: its answer is sent from now on. */
void connection_answers(struct connection *c, __u64 now_ns) __attribute__((nonnull));
/* The request is there, and the answer will be, at a time that others see to. */
void connection_waits(struct connection *c) __attribute__((nonnull));

/* Ends those whose time is over: libmicrohttpd finds them closed. */
void connections_end_late(struct connections *c, __u64 now_ns) __attribute__((nonnull));
/* When that is to be called again; ~0: not at all. */
__u64 connections_due_ns(const struct connections *c) __attribute__((nonnull));

#endif /* KRAIT_SERVE_CONNECTIONS_H */
