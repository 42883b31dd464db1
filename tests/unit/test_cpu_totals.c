/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cpu_totals.c - CPU time by service and by process, in few rows that add up.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>
#include <cmocka.h>

#include "agent/cpu_totals.h"
#include "base/system/clock.h"

static const struct cpu_total *find(const struct cpu_table *t, const char *service, uid_t uid,
				    int pid)
{
	for (unsigned i = 0; i < t->cnt; i++) {
		const struct cpu_total *row = &t->rows[i];

		if (row->pid == pid && row->uid == uid && !strcmp(row->service, service))
			return row;
	}
	return NULL;
}

static __u64 sum_of(const struct cpu_table *t)
{
	__u64 ns = t->left_out_ns;

	for (unsigned i = 0; i < t->cnt; i++)
		ns += t->rows[i].ns;
	return ns;
}

static void services_and_processes(void **state)
{
	struct cpu_totals t = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	cpu_totals_add(&t, "web", 10, 1, NS_PER_SEC);
	cpu_totals_add(&t, "web", 10, 2, NS_PER_SEC / 2);
	cpu_totals_end_window(&t);
	cpu_totals_add(&t, "web", 10, 1, NS_PER_SEC);
	/* Another user's processes claim the same name. */
	cpu_totals_add(&t, "web", 11, 3, 7);
	cpu_totals_add(&t, "we\"b", (uid_t)-1, 4, 1);
	cpu_totals_write(&t, out);
	fclose(out);
	assert_non_null(strstr(
		text,
		"\nkrait_service_cpu_seconds_total{service=\"web\",uid=\"10\"} 2.500000000\n"));
	assert_non_null(strstr(
		text,
		"\nkrait_service_cpu_seconds_total{service=\"web\",uid=\"11\"} 0.000000007\n"));
	assert_non_null(strstr(
		text,
		"\nkrait_service_cpu_seconds_total{service=\"we\\\"b\",uid=\"\"} 0.000000001\n"));
	assert_non_null(strstr(
		text,
		"\nkrait_process_cpu_seconds_total{service=\"web\",uid=\"10\",pid=\"1\"} 2.000000000\n"));
	assert_non_null(strstr(
		text,
		"\nkrait_process_cpu_seconds_total{service=\"web\",uid=\"10\",pid=\"2\"} 0.500000000\n"));
	assert_non_null(
		strstr(text, "\nkrait_cpu_seconds_left_out_total{of=\"services\"} 0.000000000\n"));
	free(text);
	cpu_totals_free(&t);
}

/* Whoever starts many processes loses rows of its own only, and nothing is lost in the sums. */
static void flood(void **state)
{
	struct cpu_totals t = { 0 };
	__u64 ns = 0;
	char name[32];

	(void)state;
	for (int pid = 1; pid <= 20; pid++, ns += 100)
		cpu_totals_add(&t, "quiet", 10, pid, 100);
	for (int window = 0; window < 3; window++) {
		cpu_totals_end_window(&t);
		for (int i = 0; i < 2 * (int)CPU_TOTALS_MAX; i++, ns += 1000) {
			snprintf(name, sizeof(name), "made up %d %d", window, i);
			cpu_totals_add(&t, name, 666, 1000 + i, 1000);
		}
	}
	/* A newcomer of a third user finds room, too. */
	cpu_totals_add(&t, "new", 11, 9, 5);
	assert_int_equal(t.processes.cnt, CPU_TOTALS_MAX);
	assert_int_equal(t.services.cnt, CPU_TOTALS_MAX);
	for (int pid = 1; pid <= 20; pid++)
		assert_non_null(find(&t.processes, "quiet", 10, pid));
	assert_non_null(find(&t.processes, "new", 11, 9));
	assert_non_null(find(&t.services, "new", 11, 0));
	assert_int_equal(find(&t.services, "quiet", 10, 0)->ns, 2000);
	assert_int_equal(sum_of(&t.processes), ns + 5);
	assert_int_equal(sum_of(&t.services), ns + 5);
	cpu_totals_free(&t);
}

/* A process of its own kind has its row until it has been quiet for long; its service stays. */
static void ended(void **state)
{
	struct cpu_totals t = { 0 };

	(void)state;
	cpu_totals_add(&t, "job", 10, 1, 100);
	for (int window = 0; window < 100; window++) {
		cpu_totals_end_window(&t);
		cpu_totals_add(&t, "web", 10, 2, 1);
		if (window == 30)
			assert_non_null(find(&t.processes, "job", 10, 1));
	}
	assert_null(find(&t.processes, "job", 10, 1));
	assert_int_equal(find(&t.processes, "web", 10, 2)->ns, 100);
	assert_int_equal(t.processes.left_out_ns, 100);
	assert_int_equal(find(&t.services, "job", 10, 0)->ns, 100);
	cpu_totals_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_and_processes),
		cmocka_unit_test(flood),
		cmocka_unit_test(ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
