/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.h - what others may fetch from krait over HTTP: metrics, health, profiles.
 *
 * A worker of the role "server" speaks HTTP (libmicrohttpd) on sockets that krait has bound for it. It knows two
 * kinds of routes: texts, which krait publishes and the worker hands out by itself as often as it is
 * asked, and questions, which it passes on to krait and whose client waits for the answer.
 *
 * Must hold: nothing here waits. The worker has no file, no right, and opens no connection. A route that needs the
 * token is refused without it on every socket but one in the file system, which is made with mode 0600.
 */
#ifndef KRAIT_SERVE_SERVER_H
#define KRAIT_SERVE_SERVER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct server;

#define SERVER_ROUTES_MAX 16U
#define SERVER_LISTENERS_MAX 4U
#define SERVER_PATH_MAX 64U
#define SERVER_QUERY_MAX 512U
#define SERVER_BODY_MAX (64U << 20)
/* Questions that wait at a time; others get 503. */
#define SERVER_WAITING_MAX 16U

struct server_route {
	const char *path; /* "/metrics" */
	bool ask; /* krait answers; else what server__publish() has said last */
	bool token; /* needed */
	/* Of a question: then 504; 0: 60 s. Of a text: one that is older is 503, as krait hangs; 0: never. */
	__u32 timeout_ms;
};

struct server_config {
	/* "127.0.0.1:9464", "[::1]:9464", "9464" (loopback), "unix:/run/krait/metrics". */
	const char *const *listen;
	unsigned listen_cnt;
	const struct server_route *routes;
	unsigned route_cnt;
	const char *
		token_file; /* NULL: routes that need one are for sockets in the file system only */
};

struct server_request {
	__u64 id;
	char path[SERVER_PATH_MAX];
	char query[SERVER_QUERY_MAX]; /* "seconds=5&x=y": without "?", as it came but for bytes that do not print */
};

/* NULL with *err filled: an address in use, a token file that others may read or write. */
struct server *server__start(const struct server_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* What a text's route answers from now on. 0 or -errno. */
int server__publish(struct server *s, const char *path, unsigned status, const char *content_type,
		    const void *body, size_t len) __attribute__((nonnull(1, 2, 4)));

/* A question: 1 and *ret; 0: none. To be called about once a second (a worker that has ended is started anew). */
int server__next(struct server *s, struct server_request *ret)
	__attribute__((warn_unused_result, nonnull));

/* 0 or -errno; a client that has gone is no error. */
int server__answer(struct server *s, __u64 id, unsigned status, const char *content_type,
		   const void *body, size_t len) __attribute__((nonnull(1, 4)));

/* The port of a listener, where it was asked for as 0; 0: it has none. */
unsigned server__port(const struct server *s, unsigned listener) __attribute__((nonnull));

void server__stop(struct server *s);

/* A value of a query, unescaped, into buf: its length, -ENOENT, or -EMSGSIZE. */
int server_query_value(const char *query, const char *name, char *buf, size_t size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_SERVE_SERVER_H */
