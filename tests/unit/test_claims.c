/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_claims.c - two variables from an environment that arrives in pieces, and their contents;
 * nothing else gets out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <sys/wait.h>
#include <linux/types.h>
#include <cmocka.h>

#include "process/proc/claims.h"
#include "process/proc/proc.h"

#define ENVIRON(text) text, sizeof(text) - 1

static void scan(struct claims *ret, const char *text, size_t len, size_t piece)
{
	struct claims_scan s = { 0 };

	memset(ret, 0, sizeof(*ret));
	for (size_t at = 0; at < len; at += piece)
		claims_scan(&s, ret, text + at, len - at < piece ? len - at : piece);
	claims_scan_end(&s, ret);
}

static void two_variables_are_found_however_they_come(void **state)
{
	static const char text[] = "PATH=/bin\0OTEL_SERVICE_NAME=api\0OTEL_SERVICE_NAMES=no\0"
				   "XOTEL_SERVICE_NAME=no\0OTEL_RESOURCE_ATTRIBUTES=a=b,c=d\0"
				   "OTEL_SERVICE_NAME=second\0SECRET=OTEL_SERVICE_NAME=no";
	struct claims c;

	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		scan(&c, text, sizeof(text), piece);
		assert_string_equal(c.service_name, "api");
		assert_string_equal(c.attributes, "a=b,c=d");
		assert_false(c.attributes_cut);
	}
}

/* A value that the process overwrote, or that exceeds the limit, has no end. */
static void a_value_without_an_end_is_none(void **state)
{
	struct claims c;

	scan(&c, ENVIRON("OTEL_SERVICE_NAME=api"), 5);
	assert_string_equal(c.service_name, "");
	scan(&c, ENVIRON("OTEL_RESOURCE_ATTRIBUTES=a=b"), 5);
	assert_string_equal(c.attributes, "");
	assert_true(c.attributes_cut);
}

static void long_values_are_cut(void **state)
{
	static char text[32 + 2 * sizeof(((struct claims *)0)->attributes)];
	struct claims c;
	size_t len;

	memset(text, 'x', sizeof(text));
	len = (size_t)sprintf(text, "OTEL_RESOURCE_ATTRIBUTES=");
	text[len] = 'x';
	text[sizeof(text) - 1] = '\0';
	scan(&c, text, sizeof(text), 4096);
	assert_int_equal(strlen(c.attributes), sizeof(c.attributes) - 1);
	assert_true(c.attributes_cut);
	memset(text, 'N', sizeof(text) - 1);
	scan(&c, text, sizeof(text), 4096);
	assert_string_equal(c.attributes, "");
}

static void put(void *ctx, const char *key, const char *value)
{
	char *to = ctx;

	sprintf(to + strlen(to), "[%s|%s]", key, value);
}

static void attributes_are_pairs(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "a=b", "[a|b]" },
		{ " a = b , service.version=1%2C2%20x,", "[a|b][service.version|1,2 x]" },
		{ "a=", "[a|]" },
		{ "a=b=c", "[a|b=c]" },
		{ "a=%E2%82%AC", "[a|\xe2\x82\xac]" },
	};
	static const char *const bad[] = {
		"a", "=b", "a=b,c", "a=%", "a=%4", "a=%zz", "a=%00", "a b=c", "\033=c", "ok=1,a=%0",
	};
	char got[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		got[0] = '\0';
		assert_true(claims_each(cases[i].text, put, got) >= 0);
		assert_string_equal(got, cases[i].expected);
	}
	/* One error invalidates everything, as OpenTelemetry specifies. */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		got[0] = '\0';
		assert_true(claims_each(bad[i], put, got) < 0);
		assert_string_equal(got, "");
	}
}

static void there_are_so_many_and_no_more(void **state)
{
	char text[(CLAIMS_MAX + 1) * 8] = "", got[4096] = "";

	for (int i = 0; i < CLAIMS_MAX; i++)
		sprintf(text + strlen(text), "%sk%d=v", i ? "," : "", i);
	assert_int_equal(claims_each(text, put, got), CLAIMS_MAX);
	strcat(text, ",x=y");
	assert_true(claims_each(text, put, got) < 0);
}

static void a_live_process_says_it(void **state)
{
	char *argv[] = { (char *)"sleep", (char *)"60", NULL };
	char *env[] = { (char *)"SECRET=password", (char *)"OTEL_SERVICE_NAME=api", NULL };
	struct claims c = { 0 };
	pid_t pid = fork();
	int dir;

	if (!pid) {
		execve("/bin/sleep", argv, env);
		_exit(1);
	}
	dir = proc_open(pid);
	for (int i = 0; i < 5000 && !c.service_name[0]; i++) {
		usleep(1000);
		assert_int_equal(claims_read_at(dir, &c), 0);
	}
	assert_string_equal(c.service_name, "api");
	assert_non_null(strstr(c.exe, "/sleep"));
	assert_null(memmem(&c, sizeof(c), "password", 8));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_variables_are_found_however_they_come),
		cmocka_unit_test(a_value_without_an_end_is_none),
		cmocka_unit_test(long_values_are_cut),
		cmocka_unit_test(attributes_are_pairs),
		cmocka_unit_test(there_are_so_many_and_no_more),
		cmocka_unit_test(a_live_process_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
