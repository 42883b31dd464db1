/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.h - what others may fetch from krait over HTTP: metrics, health, profiles.
 *
 * A worker of the role "server" speaks HTTP (libmicrohttpd) on sockets that krait has bound for it.
 * It knows two kinds of routes: texts, which krait publishes and the worker serves by itself, and
 * questions, which it passes on to krait while the client waits for the answer.
 *
 * Must hold: nothing here waits. The worker has no files and no rights, and opens no connections.
 * However many connections and requests come from the network, it takes a few of them a second. A
 * route that needs the token is refused without it on every socket except one in the file system,
 * which has mode 0600.
 */
#ifndef KRAIT_AGENT_SERVE_SERVER_H
#define KRAIT_AGENT_SERVE_SERVER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;
struct server;

#define SERVER_ROUTES_MAX 16U
#define SERVER_LISTENERS_MAX 4U
#define SERVER_PATH_MAX 64U
#define SERVER_QUERY_MAX 512U
#define SERVER_BODY_MAX (64U << 20)
/* Questions waiting at a time; others get 503. */
#define SERVER_WAITING_MAX 16U

struct server_route {
	const char *path; /* "/metrics" */
	bool ask; /* krait answers; else it serves the last server__publish() */
	bool token; /* required */
	bool post; /* changes something: only POST asks for it, no link, picture or crawler */
	/*
	 * For a question: after this 504; 0: 60 s. For a text: an older one gives 503, because
	 * krait hangs; 0: never.
	 */
	__u32 timeout_ms;
};

struct server_config {
	/* "127.0.0.1:9464", "[::1]:9464", "9464" (loopback), "unix:/run/krait/metrics". */
	const char *const *listen;
	unsigned listen_cnt;
	const struct server_route *routes;
	unsigned route_cnt;
	/* NULL: routes that need one work only on sockets in the file system */
	const char *token_file;
};

struct server_request {
	__u64 id;
	char path[SERVER_PATH_MAX];
	/* "seconds=5&x=y": without "?", unchanged except for unprintable bytes */
	char query[SERVER_QUERY_MAX];
};

/* NULL with *err filled: an address in use, or a token file that others may read or write. */
struct server *server__start(const struct server_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));

/* What a text route answers from now on. Returns 0 or -errno. */
int server__publish(struct server *s, const char *path, unsigned status, const char *content_type,
		    const void *body, size_t len) __attribute__((nonnull(1, 2, 4)));

/*
 * Returns 1 and *ret: a question; 0: none. Call about once a second (restarts a worker that has
 * ended).
 */
int server__next(struct server *s, struct server_request *ret)
	__attribute__((warn_unused_result, nonnull));

/* Returns 0 or -errno; it is no error if the client has gone. */
int server__answer(struct server *s, __u64 id, unsigned status, const char *content_type,
		   const void *body, size_t len) __attribute__((nonnull(1, 4)));

/* The port of a listener that was requested as 0; 0: it has none. */
unsigned server__port(const struct server *s, unsigned listener) __attribute__((nonnull));

/* The worker's pid, which changes when it has to be restarted; 0: there is none now. */
pid_t server__pid(const struct server *s) __attribute__((nonnull));

void server__stop(struct server *s);

/* A query's value, unescaped, into buf. Returns its length, -ENOENT, or -EMSGSIZE. */
int server_query_value(const char *query, const char *name, char *buf, size_t size)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_AGENT_SERVE_SERVER_H */
