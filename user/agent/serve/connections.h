/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connections.h - limits the time of each connection of a listener: libmicrohttpd ends silent ones,
 * but not one that sends a byte now and then.
 *
 * Must hold: a new client always finds a place, however many others hold one without asking
 * anything.
 */
#ifndef KRAIT_AGENT_SERVE_CONNECTIONS_H
#define KRAIT_AGENT_SERVE_CONNECTIONS_H

#include <linux/types.h>

/* Per listener. */
#define CONNECTIONS_MAX 64U
/* From this many on, a new one replaces the one that has waited longest for its request. */
#define CONNECTIONS_CROWDED 48U
/* For a whole request, from when it could begin; and for sending the answer. */
#define CONNECTION_REQUEST_SECONDS 10U
#define CONNECTION_ANSWER_SECONDS 60U

struct connection {
	int fd; /* libmicrohttpd's; -1: free place */
	__u64 due_ns; /* when it will be ended; ~0: it waits for krait, or has been ended */
	__u32 asking : 1; /* its request is incomplete */
	unsigned caller; /* its address's bucket (callers.h); 0 initially */
};

struct connections {
	struct connection list[CONNECTIONS_MAX];
	unsigned cnt;
};

void connections_init(struct connections *c) __attribute__((nonnull));
/* NULL: there are too many. May end one that waits for a request. */
struct connection *connections_add(struct connections *c, int fd, __u64 now_ns)
	__attribute__((nonnull));
void connections_remove(struct connections *c, struct connection *connection)
	__attribute__((nonnull));

/* A request may begin. */
void connection_asks(struct connection *c, __u64 now_ns) __attribute__((nonnull));
/* The request is complete: its answer is being sent from now on. */
void connection_answers(struct connection *c, __u64 now_ns) __attribute__((nonnull));
/* The request is complete, and the answer will come at a time that is limited elsewhere. */
void connection_waits(struct connection *c) __attribute__((nonnull));

/* Ends those whose time is over: libmicrohttpd sees them closed. */
void connections_end_late(struct connections *c, __u64 now_ns) __attribute__((nonnull));
/* When to call that again; ~0: never. */
__u64 connections_due_ns(const struct connections *c) __attribute__((nonnull));

#endif /* KRAIT_AGENT_SERVE_CONNECTIONS_H */
