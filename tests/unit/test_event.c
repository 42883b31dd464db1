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
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "support_folder.h"
#include "base/system/event.h"
#include "base/system/event_pmu.h"

static char why[512];

static struct event_spec good(const char *name)
{
	struct event_spec e;

	if (event_parse(&e, name, strlen(name), why, sizeof(why)))
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
		{ "tracepoint/config=1/", -EOPNOTSUPP },
		{ "uprobe//", -EOPNOTSUPP },
		{ "nosuch/event=0x3c/", -ENODEV },
		{ "../event/", -ENODEV },
		{ "software/config=2", -EINVAL },
		{ "software/config=2/x", -EINVAL },
		{ "software/config=/", -ERANGE },
		{ "software/config=-1/", -ERANGE },
		{ "software/fault/", -ENOENT },
		{ "software/type/", -ENOENT },
		{ "/config=1/", -ENODEV },
	};
	struct event_spec e = { .type = 77 };
	char longest[EVENT_NAME_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (event_parse(&e, cases[i].name, strlen(cases[i].name), why, sizeof(why)) !=
		    cases[i].err)
			fail_msg("\"%s\"", cases[i].name);
	}
	/* Whether it is not there, or cannot be seen. */
	assert_true(event_parse(&e, "nosuch:tracepoint", 17, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "\"nosuch:tracepoint\""));
	assert_true(event_parse(&e, "nosuch:*", 8, why, sizeof(why)) < 0);
	memset(longest, 'r', sizeof(longest));
	assert_int_equal(event_parse(&e, longest, sizeof(longest), why, sizeof(why)), -EINVAL);
	assert_int_equal(e.type, 77);
}

static void only_part_of_a_text_may_be_the_name(void **state)
{
	struct event_spec e;

	assert_int_equal(event_parse(&e, "cs,faults", 2, why, sizeof(why)), 0);
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

/* ---- named PMUs -------------------------------------------------------------------------------- */

static char pmus[TEST_FOLDER_MAX];

static void put_pmu(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", pmus, file);
	test_file_put(path, text);
}

static void make_pmu_folder(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", pmus, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int make_pmus(void **state)
{
	test_folder_make(pmus);
	make_pmu_folder("core");
	make_pmu_folder("package");
	put_pmu("package/type", "9\n");
	put_pmu("package/cpumask", "0,36\n");
	make_pmu_folder("core/format");
	make_pmu_folder("core/events");
	put_pmu("core/type", "4\n");
	put_pmu("core/format/event", "config:0-7,32-35\n");
	put_pmu("core/format/umask", "config:8-15\n");
	put_pmu("core/format/edge", "config:18\n");
	put_pmu("core/format/ldlat", "config1:0-15\n");
	put_pmu("core/format/frontend", "config2:0-63\n");
	put_pmu("core/format/odd", "config9:0-7\n");
	put_pmu("core/format/wild", "config:60-99\n");
	put_pmu("core/events/loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put_pmu("core/events/loads.unit", "GB\n");
	put_pmu("core/events/endless", "endless\n");
	return 0;
}

static int remove_pmus(void **state)
{
	test_folder_remove(pmus);
	return 0;
}

static int parse_core(struct event_spec *e, const char *terms)
{
	*e = (struct event_spec){ 0 };
	return event_pmu_parse(e, pmus, "core", terms, why, sizeof(why));
}

static void assert_core(const char *terms, __u64 config, __u64 config1, __u64 config2)
{
	struct event_spec e;

	assert_int_equal(parse_core(&e, terms), 0);
	assert_int_equal(e.type, 4);
	assert_int_equal(e.config, config);
	assert_int_equal(e.config1, config1);
	assert_int_equal(e.config2, config2);
}

static void fields_of_a_pmu_are_where_the_kernel_says(void **state)
{
	assert_core("", 0, 0, 0);
	assert_core("event=0x3c,umask=1", 0x13c, 0, 0);
	assert_core("event=0xabc", 0xa000000bc, 0, 0);
	assert_core("edge,event=1", 1 << 18 | 1, 0, 0);
	assert_core("loads", 0x1cd, 3, 0);
	assert_core("loads,ldlat=30,umask=2", 0x2cd, 30, 0);
	assert_core("frontend=0xffffffffffffffff,config1=7", 0, 7, ~0ULL);
	assert_core("config=0x1234", 0x1234, 0, 0);
}

static void a_pmu_may_name_its_event(void **state)
{
	struct event_spec e;

	assert_int_equal(parse_core(&e, "event=1,name=mine"), 0);
	assert_string_equal(e.name, "mine");
}

static void what_a_pmu_has_not_is_said(void **state)
{
	static const struct {
		const char *terms;
		int err;
	} cases[] = {
		{ "store", -ENOENT },	     { "event=0x1000", -ERANGE }, { "event=x", -ERANGE },
		{ "event=-1", -ERANGE },     { "event=", -ERANGE },	  { "edge=2", -ERANGE },
		{ "odd=1", -ENOENT },	     { "wild=1", -ERANGE },	  { "../type", -ENOENT },
		{ "loads.unit=1", -ENOENT }, { "endless", -ENOENT },	  { ".=1", -ENOENT },
		{ "config:0=1", -ENOENT },   { "loads=1", -ENOENT },
	};
	struct event_spec e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (parse_core(&e, cases[i].terms) != cases[i].err)
			fail_msg("\"%s\"", cases[i].terms);
		assert_true(*why);
	}
	assert_int_equal(parse_core(&e, "store"), -ENOENT);
	assert_non_null(strstr(why, "core has no event or field \"store\"; its events: "));
	assert_non_null(strstr(why, "loads"));
	assert_null(strstr(why, "loads.unit"));
	assert_non_null(strstr(why, "umask"));
	assert_int_equal(event_pmu_parse(&e, pmus, "gpu", "", why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "this machine has no PMU \"gpu\"; it has "));
	assert_non_null(strstr(why, "core"));
}

static void a_pmu_may_count_for_a_package(void **state)
{
	struct event_spec e;

	assert_int_equal(parse_core(&e, "loads"), 0);
	assert_false(e.package_wide);
	assert_int_equal(event_pmu_parse(&e, pmus, "package", "config=1", why, sizeof(why)), 0);
	assert_true(e.package_wide);
}

/* The kernel has this one everywhere. */
static void the_software_pmu_has_page_faults(void **state)
{
	struct event_spec e = good("software/config=2/u");

	assert_int_equal(e.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(e.config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_true(e.exclude_kernel);
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
		cmocka_unit_test(fields_of_a_pmu_are_where_the_kernel_says),
		cmocka_unit_test(a_pmu_may_name_its_event),
		cmocka_unit_test(what_a_pmu_has_not_is_said),
		cmocka_unit_test(a_pmu_may_count_for_a_package),
		cmocka_unit_test(the_software_pmu_has_page_faults),
	};

	return cmocka_run_group_tests_name("base/system/event", tests, make_pmus, remove_pmus);
}
