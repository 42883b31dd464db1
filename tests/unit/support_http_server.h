/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_http_server.h - a scripted server with one connection at a time.
 */
#ifndef KRAIT_TESTS_SUPPORT_HTTP_SERVER_H
#define KRAIT_TESTS_SUPPORT_HTTP_SERVER_H

#include <linux/types.h>
#include <pthread.h>

#define BODIES_MAX 4096
/* The server reveals that. */
#define TOKEN "s3cret-token-of-the-test"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define UNAVAILABLE "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
#define BAD                                                                                        \
	"HTTP/1.1 400 Bad\r\nContent-Length: 34\r\n\r\nyour token " TOKEN /* 11 + 24 = 35: cut */
#define CUT "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nhalf"
#define PARTIAL "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\x0a\x09\x08\x03\x12\x05 some"
#define REDIRECT "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"

struct http_server {
	pthread_t thread;
	pthread_mutex_t lock;
	int fd, connection;
	unsigned port;
	const char *const *answers; /* one per request; the last one repeats */
	char heads[16][4096]; /* of the first requests */
	unsigned requests;
	/* for requests with status 200: the number at the beginning of the body */
	__u32 bodies[BODIES_MAX];
	unsigned body_cnt;
};
extern struct http_server http_server;

/* port 0: any free one. */
void http_server_start(unsigned port, const char *const *answers);
void http_server_stop(void);

#endif /* KRAIT_TESTS_SUPPORT_HTTP_SERVER_H */
