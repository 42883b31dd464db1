/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_event.c - names of perf events.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <cmocka.h>

#include "base/system/event.h"

static struct event_spec good(const char *name)
{
	struct event_spec e;

	if (event_parse(&e, name, strlen(name)))
		fail_msg("\"%s\" is refused", name);
	assert_string_equal(e.name, name);
	assert_int_equal(e.frequency, 0);
	assert_int_equal(e.period, 0);
	return e;
}

static void assert_event(const char *name, __u32 type, __u64 config)
{
	struct event_spec e = good(name);

	assert_int_equal(e.type, type);
	assert_int_equal(e.config, config);
	assert_false(e.exclude_user || e.exclude_kernel || e.precise);
}

static void names_are_those_of_perf(void **state)
{
	assert_event("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	assert_event("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	assert_event("faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	assert_event("major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	assert_event("cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_event("migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS);
	assert_event("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	assert_event("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES);
	assert_event("LLC-load-misses", PERF_TYPE_HW_CACHE, 2 | 0 << 8 | 1 << 16);
	assert_event("L1-dcache-stores", PERF_TYPE_HW_CACHE, 0 | 1 << 8 | 0 << 16);
	assert_event("iTLB-prefetch-misses", PERF_TYPE_HW_CACHE, 4 | 2 << 8 | 1 << 16);
	assert_event("branch-loads", PERF_TYPE_HW_CACHE, 5 | 0 << 8 | 0 << 16);
	assert_event("r1a8", PERF_TYPE_RAW, 0x1a8);
	assert_event("rffffffffffffffff", PERF_TYPE_RAW, ~0ULL);
}

static void modifiers_choose_the_mode(void **state)
{
	struct event_spec e = good("cycles:u");

	assert_true(e.exclude_kernel && !e.exclude_user);
	assert_int_equal(e.config, PERF_COUNT_HW_CPU_CYCLES);
	e = good("cs:k");
	assert_true(!e.exclude_kernel && e.exclude_user);
	e = good("cycles:ukppp");
	assert_true(!e.exclude_kernel && !e.exclude_user);
	assert_int_equal(e.precise, 3);
	e = good("r1:up");
	assert_true(e.exclude_kernel);
	assert_int_equal(e.precise, 1);
}

static void what_is_no_event_is_refused(void **state)
{
	static const struct {
		const char *name;
		int err;
	} cases[] = {
		{ "", -EINVAL },
		{ "cpu-cloc", -EINVAL },
		{ "cpu-clocks", -EINVAL },
		{ "CPU-CLOCK", -EINVAL },
		{ "cycles:", -EINVAL },
		{ "cycles:x", -EINVAL },
		{ "cycles:pppp", -EINVAL },
		{ "cycles:u:k", -EINVAL },
		{ "L1-dcache", -EINVAL },
		{ "L1-dcache-", -EINVAL },
		{ "LLC-load-missesx", -EINVAL },
		{ "r", -EINVAL },
		{ "r-1", -EINVAL },
		{ "r0x", -EINVAL },
		{ "r12345678123456789", -EINVAL },
		{ "sched:sched_switch", -EOPNOTSUPP },
		{ "cpu/event=0x3c/", -EOPNOTSUPP },
	};
	struct event_spec e = { .type = 77 };
	char longest[EVENT_NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (event_parse(&e, cases[i].name, strlen(cases[i].name)) != cases[i].err)
			fail_msg("\"%s\"", cases[i].name);
	}
	memset(longest, 'r', sizeof(longest));
	assert_int_equal(event_parse(&e, longest, sizeof(longest)), -EINVAL);
	assert_int_equal(e.type, 77);
}

static void only_part_of_a_text_may_be_the_name(void **state)
{
	struct event_spec e;

	assert_int_equal(event_parse(&e, "cs,faults", 2), 0);
	assert_string_equal(e.name, "cs");
}

static void clocks_count_time(void **state)
{
	struct event_spec e = good("cpu-clock:u");

	assert_true(event_is_clock(&e));
	e = good("task-clock");
	assert_true(event_is_clock(&e));
	e = good("cycles"); /* the same number, for a hardware event */
	assert_false(event_is_clock(&e));
	e = good("faults");
	assert_false(event_is_clock(&e));
}

static void time_is_on_a_cpu_off_it_or_both(void **state)
{
	struct event_spec e = good("task-clock");

	assert_true(event_is_time(&e));
	event_off_cpu(&e, 1 << 20);
	assert_true(event_is_time(&e) && event_is_off_cpu(&e) && !event_is_clock(&e));
	event_wall(&e);
	assert_true(event_is_time(&e) && !event_is_off_cpu(&e) && !event_is_clock(&e));
	assert_string_equal(e.name, "wall-clock");
	e = good("cs"); /* the number that off-CPU time has in a file */
	assert_false(event_is_time(&e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_perf),
		cmocka_unit_test(modifiers_choose_the_mode),
		cmocka_unit_test(what_is_no_event_is_refused),
		cmocka_unit_test(only_part_of_a_text_may_be_the_name),
		cmocka_unit_test(clocks_count_time),
		cmocka_unit_test(time_is_on_a_cpu_off_it_or_both),
	};

	return cmocka_run_group_tests_name("base/system/event", tests, NULL, NULL);
}
