/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/text.h"

#include <stdio.h>
#include <string.h>

#include "profile/marks.h"
#include "profile/states.h"
#include "base/system/clock.h"
#include "base/text/short_path.h"

static const struct {
	const char *name, *text;
} states[] = {
	{ "", "on a CPU" },
	{ "cpu", "on a CPU" },
	{ "python", "on a CPU with the GIL" },
	{ "native", "on a CPU without the GIL" },
	{ "gil", "waits for the GIL" },
	{ "lock", "waits for a lock" },
	{ "io", "waits for files, sockets, children" },
	{ "sleep", "asleep" },
	{ "runnable", "ready to run, no CPU is free" },
	{ "fault", "waits for memory" },
	{ "stopped", "stopped" },
	{ "waiting", "waits" },
};

static const char *state_text(const char *name)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!strcmp(states[i].name, name))
			return states[i].text;
	}
	return name;
}

void row_name(char *buf, size_t size, const struct dict *d, enum rows_view view,
	      const struct row_key *key)
{
	const char *name = dict__text(d, key->name);

	if (view == ROWS_STATES)
		name = state_text(name);
	else if (view == ROWS_CONTAINERS && !*name)
		name = "(no container)";
	else if (!*name)
		name = NAME_EMPTY;
	snprintf(buf, size, "%s", name);
}

void row_file(char *buf, size_t size, const struct dict *d, const struct row_key *key)
{
	const char *path = dict__text(d, key->file);
	int line = key->line > 0 ? key->line : key->first_line;

	if (!*path)
		*buf = '\0';
	else if (line > 0)
		snprintf(buf, size, "%s:%d", short_path(path), line);
	else
		snprintf(buf, size, "%s", short_path(path));
}

const char *view_title(enum rows_view view)
{
	static const char *const titles[] = {
		[ROWS_FUNCTIONS] = "Functions",	  [ROWS_LINES] = "Lines",
		[ROWS_PROCESSES] = "Processes",	  [ROWS_THREADS] = "Threads",
		[ROWS_CONTAINERS] = "Containers", [ROWS_STATES] = "States",
		[ROWS_TREE] = "Call tree",	  [ROWS_CALLERS] = "Callers and callees",
		[ROWS_CALLEES] = "Callees",	  [ROWS_SOURCE] = "Source",
	};

	return titles[view];
}

const char *sort_title(enum row_sort sort)
{
	static const char *const titles[SORT_CNT] = {
		[SORT_SELF] = "self now",
		[SORT_TOTAL] = "total now",
		[SORT_SELF_ALL] = "self in all",
		[SORT_TOTAL_ALL] = "total in all",
		[SORT_NAME] = "name",
	};

	return titles[sort];
}

const char *measure_title(unsigned measures)
{
	switch (measures) {
	case 1U << MEASURE_CPU:
		return "time on a CPU";
	case 1U << MEASURE_GIL:
		return "waiting for the GIL";
	case 1U << MEASURE_WAIT:
		return "waiting";
	case 1U << MEASURE_READY:
		return "ready to run";
	default:
		return "all time";
	}
}

void put_share(char buf[16], __u64 ns, __u64 of_ns)
{
	double percent = of_ns ? 100.0 * (double)ns / (double)of_ns : 0;

	if (!ns)
		snprintf(buf, 16, "%6s", "");
	else
		snprintf(buf, 16, percent < 9999.95 ? "%6.1f" : "%6.0f", percent);
}

void put_seconds(char buf[16], __u64 ns)
{
	double seconds = (double)ns / NS_PER_SEC;

	if (!ns)
		snprintf(buf, 16, "%8s", "");
	else
		snprintf(buf, 16, seconds < 99999.995 ? "%8.2f" : "%8.0f", seconds);
}

void put_length(char buf[32], __u64 ns)
{
	__u64 s = ns / NS_PER_SEC;

	snprintf(buf, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
}
