/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_answer.c - servers' answers and their meaning; when a batch is retried; what stays secret.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "agent/export/answer.h"
#include "agent/export/backoff.h"
#include "agent/export/secrets.h"

static struct answer http(long status, __s64 after, const char *body, size_t len)
{
	struct answer a;

	answer_http(&a, status, after, 1, body, len);
	return a;
}

static void http_statuses_are_as_otlp_has_them(void **state)
{
	static const struct {
		long status;
		enum answer_verdict verdict;
	} cases[] = {
		{ 200, ANSWER_DELIVERED }, { 202, ANSWER_DELIVERED }, { 301, ANSWER_REJECTED },
		{ 400, ANSWER_REJECTED },  { 401, ANSWER_REJECTED },  { 404, ANSWER_REJECTED },
		{ 408, ANSWER_REJECTED },  { 413, ANSWER_REJECTED },  { 429, ANSWER_RETRY },
		{ 500, ANSWER_REJECTED },  { 501, ANSWER_REJECTED },  { 502, ANSWER_RETRY },
		{ 503, ANSWER_RETRY },	   { 504, ANSWER_RETRY },     { 505, ANSWER_REJECTED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer a = http(cases[i].status, 7, "", 0);

		assert_int_equal(a.verdict, cases[i].verdict);
		assert_int_equal(a.status, cases[i].status);
		assert_int_equal(a.retry_after_ms, a.verdict == ANSWER_RETRY ? 7000 : 0);
	}
}

static void a_part_may_be_refused(void **state)
{
	static const char body[] = "\x0a\x0d\x08\xac\x02\x12\x08too much";
	struct answer a = http(200, 0, body, sizeof(body) - 1);

	assert_int_equal(a.verdict, ANSWER_DELIVERED);
	assert_int_equal(a.partial_rejected, 300);
	assert_string_equal(a.text, "too much");
	/* Cut at each byte, and with a negative number. */
	for (size_t len = 0; len < sizeof(body) - 1; len++) {
		a = http(200, 0, body, len);
		assert_int_equal(a.verdict, ANSWER_DELIVERED);
		assert_int_equal(a.partial_rejected, 0);
	}
	a = http(200, 0, "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
	assert_int_equal(a.partial_rejected, 0);
}

static void reasons_are_text_or_a_status(void **state)
{
	static const char status[] = "\x08\x03\x12\x05never";
	char longer[1000];
	struct answer a = http(400, 0, "no such tenant", 14);

	assert_string_equal(a.text, "no such tenant");
	a = http(400, 0, status, sizeof(status) - 1);
	assert_string_equal(a.text, "never");
	memset(longer, 'x', sizeof(longer));
	a = http(400, 0, longer, sizeof(longer));
	assert_int_equal(strlen(a.text), ANSWER_TEXT_MAX - 1);
	a = http(503, 1LL << 62, "", 0);
	assert_true(a.retry_after_ms > BACKOFF_ASKED_MAX_MS && a.retry_after_ms < 1ULL << 40);
	a = http(503, -5, "", 0);
	assert_int_equal(a.retry_after_ms, 0);
}

static struct answer grpc(long http_status, const char *const *lines, const void *body, size_t len)
{
	struct answer_grpc g = { .status = -1 };
	struct answer a;

	for (; *lines; lines++)
		answer_grpc_header(&g, *lines, strlen(*lines));
	answer_grpc(&a, http_status, &g, body, len);
	return a;
}

static void grpc_codes_are_as_otlp_has_them(void **state)
{
	static const char again[] = { 1, 4, 10, 11, 14, 15 };

	for (int code = 0; code <= 17; code++) {
		char line[32];
		const char *const lines[] = { line, NULL };
		struct answer a;

		snprintf(line, sizeof(line), "grpc-status: %d\r\n", code);
		a = grpc(200, lines, "", 0);
		assert_int_equal(a.status, ANSWER_GRPC + code);
		assert_int_equal(a.verdict, !code			       ? ANSWER_DELIVERED :
					    memchr(again, code, sizeof(again)) ? ANSWER_RETRY :
										 ANSWER_REJECTED);
	}
}

static void grpc_says_when_and_why(void **state)
{
	/* Status {code 8, message "slow", details [Any {RetryInfo {2.5 s}}]} */
	static const char *const lines[] = {
		"Grpc-Status:8",
		"grpc-message: slow%20down%2C please%",
		"grpc-status-details-bin: "
		"CAgSBHNsb3caNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIAhCAyrXuAQ==",
		NULL,
	};
	static const char *const none[] = { "content-type: text/html", NULL };
	static const char *const odd[] = { "grpc-status: 0x", NULL };
	static const char *const fine[] = { "grpc-status: 0", NULL };
	static const char frame[] = "\0\0\0\0\x05\x0a\x03\x08\xac\x02";
	struct answer a = grpc(200, lines, "", 0);

	assert_string_equal(a.text, "slow down, please%");
	assert_int_equal(a.verdict, ANSWER_RETRY);
	assert_in_range(a.retry_after_ms, 2500, 2501);
	a = grpc(503, none, "", 0);
	assert_int_equal(a.verdict, ANSWER_RETRY);
	a = grpc(404, none, "", 0);
	assert_int_equal(a.verdict, ANSWER_REJECTED);
	assert_string_equal(a.text, "no gRPC: HTTP status 404");
	a = grpc(200, odd, "", 0);
	assert_int_equal(a.verdict, ANSWER_REJECTED);
	a = grpc(200, fine, frame, sizeof(frame) - 1);
	assert_int_equal(a.partial_rejected, 300);
	a = grpc(200, fine, frame, sizeof(frame) - 2);
	assert_int_equal(a.partial_rejected, 0);
}

/* ---- back-off ---------------------------------------------------------------------------------- */

/* Simulates tries of try_ms each for a while. Returns the longest time between two starts. */
static __u64 longest_pause(__u64 try_ms, __u64 from_ms, __u64 to_ms, __u64 chance)
{
	struct backoff b = { 0 };
	__u64 now = 5000 * BACKOFF_MS, start = now, longest = 0;

	while (now - start < to_ms * BACKOFF_MS) {
		__u64 began = now;

		backoff_failed(&b, began, began + try_ms * BACKOFF_MS, 0, chance);
		now = b.next_ns;
		if (began - start >= from_ms * BACKOFF_MS && now - began > longest)
			longest = now - began;
	}
	return longest / BACKOFF_MS;
}

static void tries_are_close_at_first_and_rare_later(void **state)
{
	for (__u64 chance = 0; chance < 100000; chance += 977) {
		assert_in_range(longest_pause(5, 0, 100000, chance), 7500, 15000);
		assert_in_range(longest_pause(10000, 0, 100000, chance), 10250, 15000);
		assert_in_range(longest_pause(5, 200000, 2000000, chance), 30000, 60000);
	}
}

static void a_server_gets_the_time_it_asks_for(void **state)
{
	struct backoff b = { 0 };

	backoff_failed(&b, 0, 0, 20000, 0);
	assert_int_equal(b.next_ns, 20000 * BACKOFF_MS);
	backoff_failed(&b, 0, 0, ~0ULL, 0);
	assert_int_equal(b.next_ns, BACKOFF_ASKED_MAX_MS * BACKOFF_MS);
	backoff_succeeded(&b);
	assert_int_equal(b.next_ns, 0);
	backoff_failed(&b, 1000, 1000, 0, 500);
	assert_int_equal(b.next_ns, 1000 + 500 * BACKOFF_MS);
}

/* ---- secrets ----------------------------------------------------------------------------------- */

static void no_secret_is_said(void **state)
{
	struct secrets s = { 0 };
	char text[] = "token abcdefgh is wrong: abcdefgh, abc and abcdefg";
	char name[64];

	secrets_add(&s, NULL);
	secrets_add(&s, "abc");
	secrets_add(&s, "abcdefgh");
	secrets_hide(&s, text);
	assert_string_equal(text, "token ******** is wrong: ********, abc and *******");
	secrets_url_name("https://me:pass@word@host:4318/a/b?key=x#y", name, sizeof(name));
	assert_string_equal(name, "https://host:4318/a/b");
	secrets_url_name("http://host?x@y", name, sizeof(name));
	assert_string_equal(name, "http://host");
	secrets_url_name("me@host", name, sizeof(name));
	assert_string_equal(name, "host");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http_statuses_are_as_otlp_has_them),
		cmocka_unit_test(a_part_may_be_refused),
		cmocka_unit_test(reasons_are_text_or_a_status),
		cmocka_unit_test(grpc_codes_are_as_otlp_has_them),
		cmocka_unit_test(grpc_says_when_and_why),
		cmocka_unit_test(tries_are_close_at_first_and_rare_later),
		cmocka_unit_test(a_server_gets_the_time_it_asks_for),
		cmocka_unit_test(no_secret_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
