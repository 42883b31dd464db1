/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_server.c - pages, queries and access rights; the server is a worker, as in krait.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/serve/callers.h"
#include "agent/serve/connections.h"
#include "agent/serve/server.h"
#include "support_folder.h"
#include "support_roles.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/metrics_text.h"

#define TOKEN "a-token-of-the-test"
#define PATIENCE_NS (30 * NS_PER_SEC)

static char folder[TEST_FOLDER_MAX];
static char token_path[64], socket_path[64], socket_address[80];

static const struct server_route routes[] = {
	{ .path = "/metrics" },
	{ .path = "/healthz", .timeout_ms = 200 },
	{ .path = "/profile", .ask = true, .token = true, .timeout_ms = 3000 },
};

static struct server *start(void)
{
	const char *const listen[] = { "127.0.0.1:0", socket_address };
	const struct server_config config = { .listen = listen,
					      .listen_cnt = 2,
					      .routes = routes,
					      .route_cnt = 3,
					      .token_file = token_path };
	struct error err = { 0 };
	struct server *s = server__start(&config, &err);

	if (!s)
		print_error("%s\n", err.text);
	assert_non_null(s);
	return s;
}

static int connect_to(const struct server *s, bool in_files)
{
	struct sockaddr_in inet = { .sin_family = AF_INET,
				    .sin_addr = { htonl(INADDR_LOOPBACK) },
				    .sin_port = htons((__u16)server__port(s, 0)) };
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	int fd = socket(in_files ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

	snprintf(file.sun_path, sizeof(file.sun_path), "%s", socket_path);
	assert_int_equal(in_files ? connect(fd, (struct sockaddr *)&file, sizeof(file)) :
				    connect(fd, (struct sockaddr *)&inet, sizeof(inet)),
			 0);
	return fd;
}

static void send_request(int fd, const char *target, const char *header)
{
	char text[4096];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
		 target, header);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Receives until the end while krait's part goes on. Returns the status. */
static int receive(struct server *s, int fd, char *buf, size_t size)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	struct server_request r;
	size_t have = 0;
	int status = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		assert_true(clock_monotonic_ns() < end_ns);
		if (server__next(s, &r)) {
			char body[1024];

			snprintf(body, sizeof(body), "answer to %s?%s", r.path, r.query);
			if (!strstr(r.query, "never"))
				assert_int_equal(server__answer(s, r.id, 200, "text/x", body,
								strlen(body)),
						 0);
		}
		if (poll(&p, 1, 10) <= 0)
			continue;
		n = recv(fd, buf + have, size - 1 - have, 0);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	buf[have] = '\0';
	close(fd);
	sscanf(buf, "HTTP/1.1 %d", &status);
	return status;
}

static char reply[65536];

static int get(struct server *s, bool in_files, const char *target, const char *header)
{
	int fd = connect_to(s, in_files);

	send_request(fd, target, header);
	return receive(s, fd, reply, sizeof(reply));
}

static void pages_are_what_was_published_last(void **state)
{
	struct server *s = start();

	assert_int_equal(get(s, false, "/metrics", ""), 503);
	assert_int_equal(server__publish(s, "/metrics", 200, METRICS_CONTENT_TYPE, "a 1\n", 4), 0);
	assert_int_equal(server__publish(s, "/metrics", 200, METRICS_CONTENT_TYPE, "a 2\n", 4), 0);
	assert_int_equal(get(s, false, "/metrics", ""), 200);
	assert_non_null(strstr(reply, "\r\n\r\na 2\n"));
	assert_non_null(strstr(reply, "Content-Type: " METRICS_CONTENT_TYPE "\r\n"));
	assert_int_equal(get(s, true, "/metrics?x=1", ""), 200);
	assert_int_equal(get(s, false, "/other", ""), 404);
	assert_int_equal(server__publish(s, "/other", 200, "x", "", 0), -ENOENT);
	server__stop(s);
	assert_int_equal(access(socket_path, F_OK), -1);
}

static void what_is_not_said_again_is_not_healthy(void **state)
{
	struct server *s = start();

	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	int status;

	/* Again where that many milliseconds pass before the question. */
	do {
		assert_int_equal(server__publish(s, "/healthz", 200, "text/plain", "ok\n", 3), 0);
		status = get(s, false, "/healthz", "");
	} while (status == 503 && clock_monotonic_ns() < end_ns);
	assert_int_equal(status, 200);
	usleep(300000);
	assert_int_equal(get(s, false, "/healthz", ""), 503);
	server__stop(s);
}

static void questions_need_the_token_or_the_file(void **state)
{
	struct server *s = start();
	struct stat st;

	assert_int_equal(get(s, false, "/profile?seconds=3", ""), 401);
	assert_null(strstr(reply, TOKEN));
	assert_int_equal(get(s, false, "/profile", "Authorization: Bearer " TOKEN "x\r\n"), 401);
	assert_int_equal(get(s, false, "/profile", "Authorization: Bearer a\r\n"), 401);
	assert_int_equal(get(s, false, "/profile", "Authorization: Bearer \r\n"), 401);
	assert_int_equal(get(s, false, "/profile?a=b%20&c", "Authorization: Bearer " TOKEN "\r\n"),
			 200);
	assert_non_null(strstr(reply, "\r\n\r\nanswer to /profile?a=b%20&c"));
	/* "krait:a-token-of-the-test", as go tool pprof sends credentials of a URL. */
	assert_int_equal(get(s, false, "/profile",
			     "Authorization: Basic a3JhaXQ6YS10b2tlbi1vZi10aGUtdGVzdA==\r\n"),
			 200);
	assert_int_equal(get(s, true, "/profile?seconds=3", ""), 200);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	server__stop(s);
}

static void a_question_waits_no_longer_than_it_may(void **state)
{
	struct server *s = start();
	int waiting[SERVER_WAITING_MAX];
	struct server_request r;
	unsigned asked = 0;

	for (unsigned i = 0; i < SERVER_WAITING_MAX; i++) {
		waiting[i] = connect_to(s, true);
		send_request(waiting[i], "/profile?never", "");
	}
	while (asked < SERVER_WAITING_MAX)
		asked += (unsigned)server__next(s, &r);
	assert_int_equal(get(s, true, "/profile?never", ""), 503); /* one too many */
	close(waiting[0]);
	for (unsigned i = 1; i < SERVER_WAITING_MAX; i++)
		assert_int_equal(receive(s, waiting[i], reply, sizeof(reply)), 504);
	assert_int_equal(get(s, true, "/profile", ""), 200);
	assert_int_equal(server__answer(s, r.id, 200, "x", "late", 4), 0);
	server__stop(s);
}

/* Typical requests, none of which may end the server. */
static void nonsense_is_answered(void **state)
{
	static const char *const nonsense[] = {
		"\r\n\r\n",
		"GET\r\n\r\n",
		"GET / HTTP/9.9\r\n\r\n",
		"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
		"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"DELETE /profile?%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"\xff\xfe\x00garbage",
	};
	const struct timeval wait = { .tv_usec = 200000 };
	struct server *s = start();
	char longer[2000];

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		int fd = connect_to(s, false);

		send(fd, nonsense[i], strlen(nonsense[i]), MSG_NOSIGNAL);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
		memset(reply, 0, sizeof(reply));
		(void)!recv(fd, reply, sizeof(reply) - 1, 0); /* it may wait for more */
		assert_null(strstr(reply, "200 OK"));
		close(fd);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	longer[3] = '?';
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(get(s, false, longer, ""), 414);
	assert_int_equal(server__publish(s, "/metrics", 200, "text/plain", "a 3\n", 4), 0);
	assert_int_equal(get(s, false, "/metrics", ""), 200);
	server__stop(s);
}

/* A byte now and then but never the end of a request: libmicrohttpd alone would wait for ever. */
static void who_dawdles_keeps_nobody_out(void **state)
{
	enum { DAWDLERS = 80 };
	struct server *s = start();
	int fds[DAWDLERS];

	assert_int_equal(server__publish(s, "/metrics", 200, "text/plain", "a 1\n", 4), 0);
	for (unsigned i = 0; i < DAWDLERS; i++) {
		fds[i] = connect_to(s, false);
		/* These may be the ones that were dropped. */
		(void)!send(fds[i], "GET /metrics HTTP/1.1\r\n", 23, MSG_NOSIGNAL);
		if (i % 16 == 15)
			assert_int_equal(get(s, false, "/metrics", ""), 200);
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < DAWDLERS; i++)
			(void)!send(fds[i], "X: y\r\n", 6, MSG_NOSIGNAL);
		assert_int_equal(get(s, false, "/metrics", ""), 200);
	}
	for (unsigned i = 0; i < DAWDLERS; i++)
		close(fds[i]);
	server__stop(s);
}

/* Tells whether the server has closed the connection. */
static bool is_ended(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void a_connection_has_its_time(void **state)
{
	const __u64 request_ns = CONNECTION_REQUEST_SECONDS * NS_PER_SEC;
	const __u64 answer_ns = CONNECTION_ANSWER_SECONDS * NS_PER_SEC;
	struct connections all;
	struct connection *c;
	int fds[2];

	connections_init(&all);
	assert_true(connections_due_ns(&all) == ~0ULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	c = connections_add(&all, fds[0], 5);
	assert_true(connections_due_ns(&all) == 5 + request_ns);
	connection_waits(c);
	connections_end_late(&all, 1000 * answer_ns);
	connection_answers(c, 7);
	connections_end_late(&all, 6 + answer_ns);
	connection_asks(c, 9);
	connections_end_late(&all, 8 + request_ns);
	assert_false(is_ended(fds[1]));
	connections_end_late(&all, 9 + request_ns);
	assert_true(is_ended(fds[1]));
	assert_true(connections_due_ns(&all) == ~0ULL);
	connections_remove(&all, c);
	assert_int_equal(all.cnt, 0);
	close(fds[0]);
	close(fds[1]);
}

/* Who calls too often is refused, and others are not, up to what all together may. */
static void a_caller_has_its_share(void **state)
{
	static struct callers c;
	unsigned calls = 0, other = CALLERS_UNITS_AT_ONCE, refused = 0;

	callers_init(&c);
	while (callers_take(&c, 7))
		calls++;
	assert_in_range(calls, CALLERS_AT_ONCE, CALLERS_AT_ONCE + CALLERS_PER_SEC);
	assert_true(callers_may_call(&c));
	assert_true(callers_take(&c, 8));
	while (other-- && callers_may_call(&c))
		refused += !callers_take(&c, 7);
	assert_true(refused > CALLERS_UNITS_AT_ONCE / 2);
	assert_false(callers_may_call(&c));
	assert_true(callers_pause_ms(&c) > 0);
}

static unsigned caller_at(const struct callers *c, const char *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return callers_find(c, (struct sockaddr *)&v4, sizeof(v4), 1);
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return callers_find(c, (struct sockaddr *)&v6, sizeof(v6), 1);
}

static void callers_are_told_apart_by_what_they_cannot_choose(void **state)
{
	static struct callers c;
	unsigned differ = 0;

	callers_init(&c);
	assert_int_equal(caller_at(&c, "127.0.0.1"), caller_at(&c, "127.9.9.9"));
	assert_int_equal(caller_at(&c, "10.0.0.1"), caller_at(&c, "::ffff:10.0.0.1"));
	assert_int_equal(caller_at(&c, "2001:db8::1"), caller_at(&c, "2001:db8::ffff:1"));
	/* By chance two may share a bucket. */
	differ += caller_at(&c, "10.0.0.1") != caller_at(&c, "10.0.0.2");
	differ += caller_at(&c, "10.0.0.1") != caller_at(&c, "10.0.0.3");
	differ += caller_at(&c, "2001:db8::1") != caller_at(&c, "2001:db8:0:1::1");
	assert_true(differ >= 2);
}

static void addresses_that_cannot_be_are_refused(void **state)
{
	static const char *const bad[] = { "example.org:1", "127.0.0.1:99999999", "unix:relative",
					   "[::1", "127.0.0.1:" };
	struct error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct server_config config = {
			.listen = &bad[i], .listen_cnt = 1, .routes = routes, .route_cnt = 1
		};

		assert_null(server__start(&config, &err));
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void values_of_queries_are_found(void **state)
{
	char value[8];

	assert_int_equal(server_query_value("a=1&seconds=30&b", "seconds", value, 8), 2);
	assert_string_equal(value, "30");
	assert_int_equal(server_query_value("a=1&seconds=30&b", "b", value, 8), 0);
	assert_int_equal(server_query_value("a=1&seconds=30&b", "second", value, 8), -ENOENT);
	assert_int_equal(server_query_value("", "a", value, 8), -ENOENT);
	assert_int_equal(server_query_value("x=%41+%zz%", "x", value, 8), 6);
	assert_string_equal(value, "A %zz%");
	assert_int_equal(server_query_value("x=12345678", "x", value, 8), -EMSGSIZE);
	assert_int_equal(server_query_value("x=a%00b", "x", value, 8), -EMSGSIZE);
}

static void labels_stay_within_their_quotes(void **state)
{
	char text[512] = "";
	FILE *f = fmemopen(text, sizeof(text) - 1, "w");

	metrics_family(f, "m", "gauge", "Help.");
	metrics_value(f, "m", 3, "a", "x\"} 1\nevil \\ \xff", "b", "", NULL);
	metrics_seconds(f, "t", 1500000000, NULL);
	fclose(f);
	assert_string_equal(text, "# HELP m Help.\n# TYPE m gauge\n"
				  "m{a=\"x\\\"} 1\\\\nevil \\\\ \\\\xff\",b=\"\"} 3\n"
				  "t 1.500000000\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_what_was_published_last),
		cmocka_unit_test(what_is_not_said_again_is_not_healthy),
		cmocka_unit_test(questions_need_the_token_or_the_file),
		cmocka_unit_test(a_question_waits_no_longer_than_it_may),
		cmocka_unit_test(nonsense_is_answered),
		cmocka_unit_test(who_dawdles_keeps_nobody_out),
		cmocka_unit_test(a_connection_has_its_time),
		cmocka_unit_test(a_caller_has_its_share),
		cmocka_unit_test(callers_are_told_apart_by_what_they_cannot_choose),
		cmocka_unit_test(addresses_that_cannot_be_are_refused),
		cmocka_unit_test(values_of_queries_are_found),
		cmocka_unit_test(labels_stay_within_their_quotes),
	};
	FILE *f;
	int failed;

	become_worker(argv);
	test_folder_make(folder);
	snprintf(token_path, sizeof(token_path), "%s/token", folder);
	snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
	snprintf(socket_address, sizeof(socket_address), "unix:%s", socket_path);
	f = fopen(token_path, "w");
	fputs(TOKEN "\n", f);
	fclose(f);
	chmod(token_path, 0600);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_folder_remove(folder);
	return failed;
}
