/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_units.c - numbers with units as people type them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/text/units.h"

struct good {
	const char *text;
	__u64 value;
};

typedef int parse_fn(const char *text, __u64 *ret);

static void assert_all(parse_fn *parse, const struct good *good, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		__u64 value = 0;

		if (parse(good[i].text, &value) || value != good[i].value)
			fail_msg("\"%s\" is %llu", good[i].text, value);
	}
}

#define ASSERT_ALL(parse, good) assert_all(parse, good, sizeof(good) / sizeof((good)[0]))

static void durations_have_units(void **state)
{
	static const struct good good[] = {
		{ "1", 1000000000ULL },	      { "10s", 10000000000ULL },
		{ "10S", 10000000000ULL },    { "500ms", 500000000ULL },
		{ "1.5s", 1500000000ULL },    { ".5s", 500000000ULL },
		{ "250us", 250000ULL },	      { "7ns", 7 },
		{ "2m", 120000000000ULL },    { "2min", 120000000000ULL },
		{ "24h", 86400000000000ULL }, { "0.1", 100000000ULL },
	};

	ASSERT_ALL(parse_duration, good);
}

static void rates_have_units(void **state)
{
	static const struct good good[] = { { "99", 99 },     { "997hz", 997 }, { "997Hz", 997 },
					    { "10k", 10000 }, { "10K", 10000 }, { "1.5khz", 1500 },
					    { "1M", 1000000 } };

	ASSERT_ALL(parse_rate, good);
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct good good[] = { { "4096", 4096 },	  { "64k", 65536 },
					    { "64KiB", 65536 },	  { "8M", 8 << 20 },
					    { "2G", 2ULL << 30 }, { "0.5k", 512 } };

	ASSERT_ALL(parse_size, good);
}

static void what_is_not_a_number_with_one_unit_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	" ",	 "s",	  "k",	 "-1",	"+1",	 "-0.5s", " 1",	 "1 ",
		"1 s",	"1x",	 "1ss",	  "1s2", "1,5", "1.2.3", "nan",	  "inf", "infinity",
		"0x10", "0X1p3", "1e400", ".",	 "..",	"1e",	 "1e+",	  "0b1", "one",
	};
	static parse_fn *const parsers[] = { parse_duration, parse_rate, parse_size };

	for (size_t p = 0; p < 3; p++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			__u64 value = 4711;

			if (parsers[p](bad[i], &value) >= 0)
				fail_msg("\"%s\" is taken as %llu", bad[i], value);
			assert_int_equal(value, 4711);
		}
	}
}

static void what_does_not_fit_is_out_of_range(void **state)
{
	static const char *const bad[] = { "0", "0.0", "1e19", "99999999999999999999" };
	static parse_fn *const parsers[] = { parse_duration, parse_rate, parse_size };

	for (size_t p = 0; p < 3; p++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			__u64 value = 4711;

			assert_int_equal(parsers[p](bad[i], &value), -ERANGE);
			assert_int_equal(value, 4711);
		}
	}
}

static void a_unit_can_take_a_number_out_of_range(void **state)
{
	__u64 value;

	assert_int_equal(parse_duration("0.4ns", &value), -ERANGE);
	assert_int_equal(parse_duration("3000000h", &value), -ERANGE);
	assert_int_equal(parse_size("99999999999G", &value), -ERANGE);
}

static void a_unit_of_another_kind_is_refused(void **state)
{
	__u64 value;

	assert_int_equal(parse_duration("10k", &value), -EINVAL);
	assert_int_equal(parse_duration("10hz", &value), -EINVAL);
	assert_int_equal(parse_rate("10s", &value), -EINVAL);
	assert_int_equal(parse_rate("10g", &value), -EINVAL);
	assert_int_equal(parse_size("10ms", &value), -EINVAL);
}

static void sizes_are_printed_with_a_unit(void **state)
{
	static const struct good good[] = {
		{ "0 bytes", 0 },
		{ "10239 bytes", 10239 },
		{ "10 KiB", 10240 },
		{ "45 KiB", 45 * 1024 + 1023 },
		{ "10239 KiB", (10ULL << 20) - 1 },
		{ "10 MiB", 10 << 20 },
		{ "17592186044415 MiB", ~0ULL },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		format_size(text, sizeof(text), good[i].value);
		assert_string_equal(text, good[i].text);
	}
}

static void a_short_buffer_is_not_overrun(void **state)
{
	char text[8] = "abcdefg";

	format_size(text, 4, 45 * 1024);
	assert_string_equal(text, "45 ");
	assert_int_equal(text[4], 'e');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(rates_have_units),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(what_is_not_a_number_with_one_unit_is_refused),
		cmocka_unit_test(what_does_not_fit_is_out_of_range),
		cmocka_unit_test(a_unit_can_take_a_number_out_of_range),
		cmocka_unit_test(a_unit_of_another_kind_is_refused),
		cmocka_unit_test(sizes_are_printed_with_a_unit),
		cmocka_unit_test(a_short_buffer_is_not_overrun),
	};

	return cmocka_run_group_tests_name("base/text/units", tests, NULL, NULL);
}
