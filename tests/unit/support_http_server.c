/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_http_server.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

struct http_server http_server = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .connection = -1 };

/* Returns the number at the beginning of the body, decompressed if needed. */
static __u32 number_of(const char *head, const char *body, size_t len)
{
	z_stream z = { .next_in = (Bytef *)body, .avail_in = (uInt)len };
	__u32 n = 0;

	if (!strcasestr(head, "\r\nContent-Encoding: gzip\r\n"))
		memcpy(&n, body, sizeof(n));
	else if (inflateInit2(&z, 31) == Z_OK) {
		z.next_out = (Bytef *)&n;
		z.avail_out = sizeof(n);
		inflate(&z, Z_SYNC_FLUSH);
		inflateEnd(&z);
	}
	return n;
}

static void take_request(const char *head, const char *body, size_t len, int fd)
{
	const char *answer = http_server.answers[0];

	pthread_mutex_lock(&http_server.lock);
	if (http_server.answers[1])
		http_server.answers++;
	if (http_server.requests < 16)
		snprintf(http_server.heads[http_server.requests], sizeof(http_server.heads[0]),
			 "%s", head);
	http_server.requests++;
	if (!strcmp(answer, OK) && http_server.body_cnt < BODIES_MAX)
		http_server.bodies[http_server.body_cnt++] = number_of(head, body, len);
	pthread_mutex_unlock(&http_server.lock);
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
}

/* Handles the requests of one connection. */
static void converse(int fd)
{
	static char buf[1 << 20];
	size_t have = 0;

	for (;;) {
		char *end;
		const char *length;
		size_t head_len, body_len;
		ssize_t n = recv(fd, buf + have, sizeof(buf) - have - 1, 0);

		if (n <= 0)
			return;
		have += (size_t)n;
		buf[have] = '\0';
		end = memmem(buf, have, "\r\n\r\n", 4);
		if (!end)
			continue;
		head_len = (size_t)(end + 4 - buf);
		end[3] = '\0';
		length = strcasestr(buf, "\nContent-Length:");
		body_len = length ? strtoul(length + 16, NULL, 10) : 0;
		end[3] = '\n';
		while (have < head_len + body_len) {
			n = recv(fd, buf + have, head_len + body_len - have, 0);
			if (n <= 0)
				return;
			have += (size_t)n;
		}
		{
			char head[4096];
			bool cut = http_server.answers[0] == (const char *)CUT;

			snprintf(head, sizeof(head), "%.*s", (int)head_len, buf);
			take_request(head, buf + head_len, body_len, fd);
			if (cut)
				return;
		}
		have = 0;
	}
}

static void *serve(void *arg)
{
	int fd;

	while ((fd = accept(http_server.fd, NULL, NULL)) >= 0) {
		__atomic_store_n(&http_server.connection, fd, __ATOMIC_SEQ_CST);
		converse(fd);
		__atomic_store_n(&http_server.connection, -1, __ATOMIC_SEQ_CST);
		close(fd);
	}
	return NULL;
}

void http_server_start(unsigned port, const char *const *answers)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons((__u16)port) };
	socklen_t len = sizeof(at);
	int one = 1;

	http_server.answers = answers;
	http_server.requests = http_server.body_cnt = 0;
	http_server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(http_server.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(http_server.fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(http_server.fd, 5), 0);
	assert_int_equal(getsockname(http_server.fd, (struct sockaddr *)&at, &len), 0);
	http_server.port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&http_server.thread, NULL, serve, NULL), 0);
}

void http_server_stop(void)
{
	int connection;

	shutdown(http_server.fd, SHUT_RDWR);
	connection = __atomic_load_n(&http_server.connection, __ATOMIC_SEQ_CST);
	if (connection >= 0)
		shutdown(connection, SHUT_RDWR);
	pthread_join(http_server.thread, NULL);
	close(http_server.fd);
	http_server.fd = -1;
}
