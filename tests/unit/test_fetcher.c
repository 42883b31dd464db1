/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fetcher.c - debug information from a debuginfod server: this program is the server, and the
 * fetcher is a worker, as in krait.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support_roles.h"
#include "process/parser/fetcher.h"
#include "base/system/clock.h"

#define ID_HEX "00112233445566778899aabbccddeeff00112233"
#define CONTENT "what a linker wrote"
#define PATIENCE_NS (60 * NS_PER_SEC)

static const __u8 build_id[20] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
				   0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33 };

enum manner {
	HAS_IT,
	HAS_NOT,
	SAYS_NOTHING,
};

static struct server {
	pthread_t thread;
	int fd;
	enum manner manner;
	unsigned asked; /* requests for the right file */
} server;

static char folder[] = "/tmp/krait-test-fetcher-XXXXXX";

/* ---- the server ------------------------------------------------------------------------------- */

static void answer(int fd)
{
	static const char found[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" CONTENT;
	static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
	const char *text = server.manner == HAS_IT ? found : none;
	char request[4096] = "";

	if (recv(fd, request, sizeof(request) - 1, 0) > 0 &&
	    !strncmp(request, "GET /buildid/" ID_HEX "/debuginfo ", 13 + 40 + 11))
		__atomic_add_fetch(&server.asked, 1, __ATOMIC_SEQ_CST);
	if (server.manner == SAYS_NOTHING)
		return;
	send(fd, text, strlen(text), MSG_NOSIGNAL);
	close(fd);
}

/* Runs until its socket is shut down. A connection without an answer stays open till the end. */
static void *serve(void *arg)
{
	int fd;

	while ((fd = accept(server.fd, NULL, NULL)) >= 0)
		answer(fd);
	return NULL;
}

static void start_server(enum manner manner)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	char urls[128];

	server = (struct server){ .manner = manner, .fd = socket(AF_INET, SOCK_STREAM, 0) };
	assert_int_equal(bind(server.fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(server.fd, 5), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &len), 0);
	snprintf(urls, sizeof(urls), "ima:enforcing http://127.0.0.1:%u/", ntohs(at.sin_port));
	setenv("DEBUGINFOD_URLS", urls, 1);
	assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void stop_server(void)
{
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.fd);
}

/* ---- what is kept ------------------------------------------------------------------------------ */

static void kept_path(char *ret, size_t size, const char *name)
{
	snprintf(ret, size, "%s/" ID_HEX "%s", folder, name);
}

static unsigned files_kept(void)
{
	char path[128];
	struct dirent *e;
	unsigned cnt = 0;
	DIR *dir;

	kept_path(path, sizeof(path), "");
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		cnt += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return cnt;
}

static int setup(void **state)
{
	char path[128];

	kept_path(path, sizeof(path), "/debuginfo");
	unlink(path);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("http_proxy");
	return 0;
}

static int make_folder(void **state)
{
	return !mkdtemp(folder) || setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
}

static int remove_folder(void **state)
{
	char path[128];

	setup(state);
	kept_path(path, sizeof(path), "");
	rmdir(path);
	return rmdir(folder);
}

/* ---- asking ----------------------------------------------------------------------------------- */

static int await(struct fetch *f, int *ret_fd, char why[200])
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	int result;

	while ((result = fetch__result(f, ret_fd, why, 200)) == -EINPROGRESS &&
	       clock_monotonic_ns() < end_ns)
		usleep(1000);
	return result;
}

static void assert_content(int fd)
{
	char text[64] = "";

	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, CONTENT);
	close(fd);
}

static void nobody_is_asked_unless_that_is_wanted(void **state)
{
	char why[200];

	assert_null(fetch__start(build_id, 20, why, sizeof(why)));
	assert_string_equal(why, "there is no debug information for it");
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9/", 1);
	assert_null(fetch__start(build_id, 0, why, sizeof(why)));
	assert_null(fetch__start(build_id, 10000, why, sizeof(why)));
	fetch__end(NULL);
}

static void what_a_server_has_is_kept(void **state)
{
	char why[200], path[128];
	struct fetch *f;
	struct stat st;
	int fd = -1;

	start_server(HAS_IT);
	f = fetch__start(build_id, 20, why, sizeof(why));
	assert_non_null(f);
	assert_int_equal(await(f, &fd, why), 0);
	fetch__end(f);
	assert_content(fd);
	assert_int_equal(server.asked, 1);
	stop_server();
	assert_int_equal(files_kept(), 1);
	kept_path(path, sizeof(path), "/debuginfo");
	assert_int_equal(stat(path, &st), 0);

	/* Nobody is asked again, whether or not a server exists. */
	f = fetch__start(build_id, 20, why, sizeof(why));
	assert_non_null(f);
	assert_int_equal(fetch__result(f, &fd, why, sizeof(why)), 0);
	fetch__end(f);
	assert_content(fd);
}

/* A build unknown to every server leaves nothing behind, nor does a missing server. */
static void what_no_server_has_is_not_there(void **state)
{
	char why[200];
	struct fetch *f;
	int fd = -1;

	for (int there = 1; there >= 0; there--) {
		start_server(HAS_NOT);
		if (!there)
			stop_server();
		f = fetch__start(build_id, 20, why, sizeof(why));
		assert_non_null(f);
		assert_int_equal(await(f, &fd, why), -ENOENT);
		assert_non_null(strstr(why, "nor do debuginfod servers have any"));
		fetch__end(f);
		if (there)
			stop_server();
		assert_int_equal(fd, -1);
		assert_int_equal(files_kept(), 0);
	}
}

/* A caller without time ends the request. */
static void a_server_that_says_nothing_is_not_waited_for(void **state)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	char why[200];
	struct fetch *f;
	int fd = -1;

	start_server(SAYS_NOTHING);
	f = fetch__start(build_id, 20, why, sizeof(why));
	assert_non_null(f);
	while (!__atomic_load_n(&server.asked, __ATOMIC_SEQ_CST) && clock_monotonic_ns() < end_ns)
		usleep(1000);
	assert_int_equal(fetch__result(f, &fd, why, sizeof(why)), -EINPROGRESS);
	assert_int_equal(files_kept(), 1);
	fetch__end(f);
	assert_int_equal(files_kept(), 0);
	stop_server();
}

/* A file that did not reach the disk completely is no answer. */
static void an_empty_file_is_no_answer(void **state)
{
	char why[200], path[128];
	struct fetch *f;
	int fd = -1;
	FILE *empty;

	kept_path(path, sizeof(path), "");
	mkdir(path, 0700);
	kept_path(path, sizeof(path), "/debuginfo");
	empty = fopen(path, "w");
	assert_non_null(empty);
	fclose(empty);
	start_server(HAS_IT);
	f = fetch__start(build_id, 20, why, sizeof(why));
	assert_non_null(f);
	assert_int_equal(await(f, &fd, why), 0);
	fetch__end(f);
	assert_content(fd);
	stop_server();
	assert_int_equal(files_kept(), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nobody_is_asked_unless_that_is_wanted, setup),
		cmocka_unit_test_setup(what_a_server_has_is_kept, setup),
		cmocka_unit_test_setup(what_no_server_has_is_not_there, setup),
		cmocka_unit_test_setup(a_server_that_says_nothing_is_not_waited_for, setup),
		cmocka_unit_test_setup(an_empty_file_is_no_answer, setup),
	};

	become_worker(argv);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
