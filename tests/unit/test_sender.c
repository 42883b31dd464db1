/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sender.c - one destination while the wall clock jumps: order, pauses and a server's
 * requested pause follow the monotonic clock, which the test advances; a batch's own times do not
 * change.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/export/backoff.h"
#include "agent/export/sender.h"
#include "support_http_server.h"
#include "support_spool.h"
#include "base/system/clock.h"

#define YEAR_S (365LL * 86400)
#define PATIENCE_NS (60 * NS_PER_SEC)
#define ASKED_S 7
#define BUSY "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"

/* Added to the wall clock for everything in this program. */
static long long wall_s;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = (int)syscall(SYS_clock_gettime, clock, ret);

	if (!err && clock == CLOCK_REALTIME)
		ret->tv_sec += wall_s;
	return err;
}

static struct curl_library curl;
static CURLM *multi;
static struct spool *spool;
static struct sender *sender;
static struct setup_destination destination;
static char url[64], said[4096];
static int cursor;
static __u64 now_ns; /* the monotonic clock */

static void say(void *ctx, enum log_level level, const char *text)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static int setup(void **state)
{
	if (curl_library_load(&curl) || spool_test_set_up(state))
		return -1;
	multi = curl.multi_init();
	now_ns = 1000 * NS_PER_SEC;
	wall_s = 0;
	*said = '\0';
	spool = spool_test_open(&cursor);
	destination = (struct setup_destination){ .url = url,
						  .name = url,
						  .kind = EXPORT_OTLP_PROFILES,
						  .compression = EXPORT_NONE,
						  .timeout_ms = 20000 };
	sender = NULL;
	return 0;
}

static void begin(const char *const *answers)
{
	static const struct sender_log log = { .say = say };

	http_server_start(0, answers);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_server.port);
	sender = sender__new(&curl, multi, spool, cursor, &destination, &log);
	assert_non_null(sender);
}

static int teardown(void **state)
{
	sender__free(sender);
	spool__close(spool);
	curl.multi_cleanup(multi);
	http_server_stop();
	return spool_test_tear_down(state);
}

/* Does what is due now, completely. Returns true if a request was made. */
static bool step(void)
{
	__u64 end_ns = clock_monotonic_ns() + PATIENCE_NS;
	struct exporter_destination_stats before, after;
	int running, left;
	CURLMsg *m = NULL;

	sender__stats(sender, now_ns, &before);
	sender__step(sender, now_ns);
	sender__stats(sender, now_ns, &after);
	if (after.tries == before.tries)
		return false;
	while (!m && clock_monotonic_ns() < end_ns) {
		curl.multi_perform(multi, &running);
		m = curl.multi_info_read(multi, &left);
		if (!m)
			curl.multi_poll(multi, NULL, 0, 20, &running);
	}
	assert_non_null(m);
	assert_true(sender__owns(sender, m->easy_handle));
	sender__ended(sender, m->data.result, now_ns);
	return true;
}

/* Appends a batch that says when it was taken. */
static void append(__u32 n)
{
	assert_int_equal(spool_test_append(spool, n, 100), 0);
}

/* It is there, and no jump of the clock has changed its times. */
static void check_next(__u32 n)
{
	const struct spool_entry *next = spool__next(spool, cursor);
	struct exporter_destination_stats stats;
	struct spool_batch b;
	void *buffer;

	assert_non_null(next);
	assert_int_equal(next->samples, n);
	assert_int_equal(next->from_unix_ns, 1000 + n);
	assert_int_equal(spool__read(spool, next, &b, &buffer), 0);
	assert_int_equal(b.batch.from_unix_ns, 1000 + n);
	assert_int_equal(b.batch.to_unix_ns, 2000 + n);
	free(buffer);
	sender__stats(sender, now_ns, &stats);
	assert_int_equal(stats.oldest_pending_unix_ns, 1000 + n);
}

static const long long jumps[] = { YEAR_S, -YEAR_S, 3600, -3600, 0 };
#define JUMPS (sizeof(jumps) / sizeof(jumps[0]))

/* As long as an outage lasts, whatever the wall clock says meanwhile. */
static void pauses_follow_the_monotonic_clock(void **state)
{
	static const char *const answers[] = { UNAVAILABLE, NULL };
	struct exporter_destination_stats stats;
	__u64 pause_ns, begin_ns = now_ns;
	unsigned tries = 0;

	begin(answers);
	append(1);
	for (unsigned i = 0; i < 2 * JUMPS; i++) {
		assert_true(step());
		tries++;
		pause_ns = sender__next_ns(sender) - now_ns;
		assert_in_range(pause_ns, BACKOFF_LEAST_MS * BACKOFF_MS,
				BACKOFF_EARLY_MS * BACKOFF_MS);
		wall_s = jumps[i % JUMPS];
		assert_false(step());
		assert_int_equal(sender__next_ns(sender), now_ns + pause_ns);
		now_ns += pause_ns - 1;
		assert_false(step());
		sender__stats(sender, now_ns, &stats);
		assert_int_equal(stats.tries, tries);
		check_next(1);
		now_ns++;
	}
	/* It lasted as long as the pauses: minutes, not years. */
	assert_true(now_ns - begin_ns < 300 * NS_PER_SEC);
	assert_int_equal(http_server.requests, tries);
}

/* A server that requests a pause gets exactly that, even if the clock is set meanwhile. */
static void what_a_server_asks_for_is_measured_by_the_monotonic_clock(void **state)
{
	static const char *const answers[] = { BUSY, BUSY, BUSY, BUSY, BUSY, OK, NULL };

	begin(answers);
	append(1);
	for (unsigned i = 0; i < JUMPS; i++) {
		/* The clock is set even during the request: libcurl reads the header. */
		wall_s = jumps[i];
		assert_true(step());
		wall_s = jumps[(i + 1) % JUMPS];
		assert_true(sender__next_ns(sender) >= now_ns + ASKED_S * NS_PER_SEC);
		assert_true(sender__next_ns(sender) <= now_ns + BACKOFF_EARLY_MS * BACKOFF_MS);
		now_ns += ASKED_S * NS_PER_SEC - 1;
		assert_false(step());
		check_next(1);
		now_ns = sender__next_ns(sender);
	}
	assert_true(step());
	assert_int_equal(http_server.body_cnt, 1);
	assert_non_null(strstr(said, "accepts profiles again after "));
	assert_null(strstr(said, "after 3153"));
}

/*
 * Batches from before and after a jump, with times that go backwards: they are sent in order of
 * arrival.
 */
static void batches_stay_in_their_order(void **state)
{
	static const char *const answers[] = { OK, NULL };
	struct exporter_destination_stats stats;

	begin(answers);
	for (__u32 n = 1; n <= JUMPS; n++) {
		append(100 - n); /* each with an earlier time than the one before */
		wall_s = jumps[n - 1];
	}
	/* Rereads the spool, as a restarted krait would. */
	sender__free(sender);
	spool__close(spool);
	wall_s = -YEAR_S;
	spool = spool_test_open(&cursor);
	sender = NULL;
	http_server_stop();
	begin(answers);
	for (__u32 n = 1; n <= JUMPS; n++) {
		check_next(100 - n);
		wall_s = jumps[n - 1];
		assert_true(step());
	}
	assert_false(step());
	assert_int_equal(http_server.body_cnt, JUMPS);
	for (__u32 n = 1; n <= JUMPS; n++)
		assert_int_equal(http_server.bodies[n - 1], 0x01010101U * (100 - n));
	sender__stats(sender, now_ns, &stats);
	assert_int_equal(stats.delivered, JUMPS);
	assert_int_equal(stats.pending, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pauses_follow_the_monotonic_clock),
		TEST(what_a_server_asks_for_is_measured_by_the_monotonic_clock),
		TEST(batches_stay_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
