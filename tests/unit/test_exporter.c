/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_exporter.c - from exporter__push() to a server, which is this program; the exporter is a
 * worker, as in krait.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/export/exporter.h"
#include "support_folder.h"
#include "support_http_server.h"
#include "support_roles.h"
#include "base/system/clock.h"
#include "base/system/error.h"

#define PATIENCE_NS (60 * NS_PER_SEC)

/* ---- the exporter ------------------------------------------------------------------------------ */

static char folder[TEST_FOLDER_MAX];
static char url[64], spool[96], token[96];

static struct exporter_destination to_server(void)
{
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_server.port);
	return (struct exporter_destination){ .url = url, .timeout_ms = 5000 };
}

static struct exporter *start(const struct exporter_destination *d, unsigned cnt, const char *dir)
{
	const struct exporter_config config = { .destinations = d,
						.destination_cnt = cnt,
						.spool_dir = dir };
	struct error err = { 0 };
	struct exporter *e = exporter__start(&config, &err);

	if (!e)
		print_error("%s\n", err.text);
	assert_non_null(e);
	return e;
}

/* Batch n begins with n and has n samples. */
static void push(struct exporter *e, __u32 n, size_t len)
{
	char *body = calloc(1, len);
	struct export_batch b = {
		.from_unix_ns = n, .to_unix_ns = n + 1, .samples = n, .body = body, .len = len
	};

	memcpy(body, &n, sizeof(n));
	memcpy(b.id, &n, sizeof(n));
	b.id[15] = 1;
	assert_int_equal(exporter__push(e, &b), 0);
	free(body);
}

static struct exporter_stats stats_of(struct exporter *e)
{
	struct exporter_stats s;

	exporter__step(e);
	exporter__stats(e, &s);
	return s;
}

/* Steps until so many are delivered or rejected. */
static struct exporter_stats wait_for(struct exporter *e, __u64 settled)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	struct exporter_stats s = stats_of(e);

	while (s.destinations[0].delivered + s.destinations[0].rejected < settled) {
		assert_true(clock_monotonic_ns() < end_ns);
		usleep(5000);
		s = stats_of(e);
	}
	return s;
}

static struct exporter_stats stop_exporter(struct exporter *e)
{
	struct exporter_stats s;

	exporter__stop(e, 5 * NS_PER_SEC, &s);
	return s;
}

static void what_is_pushed_arrives_in_order(void **state)
{
	static const char *const answers[] = { OK, NULL };
	struct exporter_destination d;
	struct exporter_stats s;
	struct exporter *e;

	http_server_start(0, answers);
	d = to_server();
	e = start(&d, 1, NULL);
	for (__u32 n = 1; n <= 50; n++)
		push(e, n, 1000 * n);
	s = wait_for(e, 50);
	assert_int_equal(s.pushed, 50);
	assert_int_equal(s.destinations[0].delivered, 50);
	assert_int_equal(s.destinations[0].delivered_samples, 1275);
	assert_int_equal(s.destinations[0].pending, 0);
	assert_int_equal(s.queue_dropped, 0);
	assert_false(s.spool_on_disk);
	s = stop_exporter(e);
	http_server_stop();
	assert_int_equal(http_server.body_cnt, 50);
	for (__u32 n = 1; n <= 50; n++)
		assert_int_equal(http_server.bodies[n - 1], n);
	assert_non_null(strstr(http_server.heads[0], "POST /v1development/profiles HTTP/1.1\r\n"));
	assert_non_null(strstr(http_server.heads[0], "Content-Type: application/x-protobuf\r\n"));
	assert_non_null(strstr(http_server.heads[0], "Content-Encoding: gzip\r\n"));
	assert_non_null(strstr(http_server.heads[0], "Content-Length: "));
	assert_null(strcasestr(http_server.heads[0], "Expect:"));
	assert_null(strcasestr(http_server.heads[0], "chunked"));
}

static void trouble_is_tried_again_and_refusals_are_not(void **state)
{
	static const char *const answers[] = { UNAVAILABLE, CUT,      OK, BAD,
					       PARTIAL,	    REDIRECT, OK, NULL };
	struct exporter_destination d;
	struct exporter_stats s;
	struct exporter *e;
	char text[8192] = "";
	FILE *f = fmemopen(text, sizeof(text) - 1, "w");

	http_server_start(0, answers);
	d = to_server();
	d.compression = EXPORT_NONE;
	d.token_file = token;
	e = start(&d, 1, NULL);
	for (__u32 n = 1; n <= 5; n++)
		push(e, n, 100);
	s = wait_for(e, 5);
	assert_int_equal(s.destinations[0].delivered, 3);
	assert_int_equal(s.destinations[0].delivered_samples, 1 + 3 + 5);
	assert_int_equal(s.destinations[0].failed_tries, 2);
	assert_int_equal(s.destinations[0].rejected, 2);
	assert_int_equal(s.destinations[0].rejected_samples, 2 + 4);
	assert_int_equal(s.destinations[0].partial_rejected, 3);
	exporter_stats_write(&s, f);
	fclose(f);
	assert_non_null(strstr(
		text,
		"\nkrait_export_partial_rejected_profiles_total{destination=\"http://127.0.0.1:"));
	assert_null(strstr(text, TOKEN));
	stop_exporter(e);
	http_server_stop();
	assert_non_null(strstr(http_server.heads[0], "Authorization: Bearer " TOKEN "\r\n"));
	assert_null(strstr(http_server.heads[0], "Content-Encoding"));
}

static void an_outage_is_survived_on_disk(void **state)
{
	static const char *const answers[] = { OK, NULL };
	struct exporter_destination d;
	struct exporter_stats s;
	struct exporter *e;
	unsigned port;

	http_server_start(0, answers);
	d = to_server();
	port = http_server.port;
	e = start(&d, 1, spool);
	push(e, 1, 1000);
	wait_for(e, 1);
	http_server_stop();
	for (__u32 n = 2; n <= 20; n++)
		push(e, n, 5000);
	exporter__stop(e, NS_PER_SEC / 2, &s);
	assert_int_equal(s.destinations[0].pending, 19);
	assert_int_equal(s.queued, 0);
	/* The folder's other owner has ended. */
	e = start(&d, 1, spool);
	push(e, 21, 500);
	http_server_start(port, answers);
	s = wait_for(e, 20);
	assert_int_equal(s.destinations[0].delivered, 20);
	assert_int_equal(s.destinations[0].pending, 0);
	stop_exporter(e);
	http_server_stop();
	assert_int_equal(http_server.body_cnt, 20);
	for (__u32 n = 0; n < 20; n++)
		assert_int_equal(http_server.bodies[n], n + 2);
}

static pid_t exporter_pid(void)
{
	char path[64], name[32];
	struct dirent *entry;
	pid_t found = 0;
	DIR *proc = opendir("/proc");

	while ((entry = readdir(proc))) {
		int pid = atoi(entry->d_name), parent = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		f = pid ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%*d (%31[^)]) %*c %d", name, &parent) == 2 &&
		    parent == getpid() && !strcmp(name, "krait-exporter") && pid > found)
			found = pid; /* workers of earlier tests may not have ended yet */
		if (f)
			fclose(f);
	}
	closedir(proc);
	return found;
}

/* Also in memory: krait holds the files. */
static void a_worker_that_is_killed_is_replaced_and_nothing_is_lost(void **state)
{
	static const char *const answers[] = { UNAVAILABLE, UNAVAILABLE, OK, NULL };
	struct exporter_destination d;
	struct exporter_stats s;
	struct exporter *e;
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	pid_t pid;

	http_server_start(0, answers);
	d = to_server();
	e = start(&d, 1, NULL);
	for (__u32 n = 1; n <= 10; n++)
		push(e, n, 3000);
	do {
		s = stats_of(e);
		usleep(1000);
	} while (s.destinations[0].failed_tries < 1);
	pid = exporter_pid();
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (__u32 n = 11; n <= 15; n++)
		push(e, n, 3000);
	do {
		assert_true(clock_monotonic_ns() < end_ns);
		s = stats_of(e);
		usleep(5000);
	} while (s.worker_starts < 2 || s.destinations[0].pending || s.queued);
	stop_exporter(e);
	http_server_stop();
	assert_int_equal(s.destinations[0].dropped + s.queue_dropped, 0);
	assert_int_equal(http_server.body_cnt, 15);
	for (__u32 n = 0; n < 15; n++)
		assert_int_equal(http_server.bodies[n], n + 1);
}

static void a_token_that_changes_is_used(void **state)
{
	static const char *const answers[] = { OK, NULL };
	struct exporter_destination d;
	struct exporter *e;
	FILE *f;

	http_server_start(0, answers);
	d = to_server();
	d.token_file = token;
	e = start(&d, 1, NULL);
	push(e, 1, 100);
	wait_for(e, 1);
	f = fopen(token, "w");
	fputs("another-one\n", f);
	fclose(f);
	exporter__reload(e);
	push(e, 2, 100);
	wait_for(e, 2);
	stop_exporter(e);
	http_server_stop();
	assert_non_null(
		strstr(http_server.heads[http_server.requests - 1], "Bearer another-one\r\n"));
}

static void files_that_others_could_have_written_are_refused(void **state)
{
	struct exporter_destination d = { .url = "http://127.0.0.1:1", .token_file = token };
	struct exporter_config config = { .destinations = &d, .destination_cnt = 1 };
	struct error err;

	chmod(token, 0644);
	assert_null(exporter__start(&config, &err));
	assert_non_null(strstr(err.text, "everybody can read it"));
	assert_null(strstr(err.text, TOKEN));
	chmod(token, 0620);
	assert_null(exporter__start(&config, &err));
	assert_non_null(strstr(err.text, "others can write to it"));
	chmod(token, 0600);
	d.token_file = "/dev/zero";
	assert_null(exporter__start(&config, &err));
	assert_non_null(strstr(err.text, "not a regular file"));
	d.token_file = NULL;
	d.url = "ftp://me:pass@host";
	assert_null(exporter__start(&config, &err));
	assert_null(strstr(err.text, "pass"));
	d.url = "http://127.0.0.1:1";
	mkdir(spool, 0700);
	chmod(spool, 0777);
	config.spool_dir = spool;
	assert_null(exporter__start(&config, &err));
	assert_non_null(strstr(err.text, "others can write to it"));
	chmod(spool, 0700);
}

static void two_agents_cannot_share_a_spool(void **state)
{
	struct exporter_destination d = { .url = "http://127.0.0.1:1" };
	struct exporter_config config = { .destinations = &d,
					  .destination_cnt = 1,
					  .spool_dir = spool };
	struct exporter *e = start(&d, 1, spool);
	struct error err;

	assert_null(exporter__start(&config, &err));
	assert_non_null(strstr(err.text, "another krait agent"));
	stop_exporter(e);
}

static void what_has_no_batch_in_it_is_refused(void **state)
{
	struct exporter_destination d = { .url = "http://127.0.0.1:1" };
	struct exporter *e = start(&d, 1, NULL);
	struct export_batch b = { .samples = 5, .body = "x", .len = 0 };
	struct exporter_stats s;

	assert_int_equal(exporter__push(e, &b), -EINVAL);
	b.len = EXPORT_BODY_MAX + 1;
	assert_int_equal(exporter__push(e, &b), -EMSGSIZE);
	s = stats_of(e);
	assert_int_equal(s.refused, 2);
	assert_int_equal(s.refused_samples, 10);
	stop_exporter(e);
}

/* ---- around ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
	FILE *f;

	f = fopen(token, "w");
	if (!f)
		return -1;
	fputs(TOKEN "\n", f);
	fclose(f);
	return chmod(token, 0600);
}

static int teardown(void **state)
{
	char path[192];

	if (http_server.fd >= 0)
		http_server_stop();
	for (unsigned i = 0; i < 32; i++) {
		snprintf(path, sizeof(path), "%s/segment-%02u", spool, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/cursors", spool);
	unlink(path);
	rmdir(spool);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(what_is_pushed_arrives_in_order),
		TEST(trouble_is_tried_again_and_refusals_are_not),
		TEST(an_outage_is_survived_on_disk),
		TEST(a_worker_that_is_killed_is_replaced_and_nothing_is_lost),
		TEST(a_token_that_changes_is_used),
		TEST(files_that_others_could_have_written_are_refused),
		TEST(two_agents_cannot_share_a_spool),
		TEST(what_has_no_batch_in_it_is_refused),
	};
	int failed;

	become_worker(argv);
	test_folder_make(folder);
	snprintf(spool, sizeof(spool), "%s/spool", folder);
	snprintf(token, sizeof(token), "%s/token", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_folder_remove(folder);
	return failed;
}
