/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c - event names, as in "perf list".
 */
#include "base/system/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/event_pmu.h"
#include "base/system/event_tracepoint.h"

static const struct {
	const char *name;
	__u32 type;
	__u32 config;
} events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
};

static const char *const caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = "L1-dcache", [PERF_COUNT_HW_CACHE_L1I] = "L1-icache",
	[PERF_COUNT_HW_CACHE_LL] = "LLC",	 [PERF_COUNT_HW_CACHE_DTLB] = "dTLB",
	[PERF_COUNT_HW_CACHE_ITLB] = "iTLB",	 [PERF_COUNT_HW_CACHE_BPU] = "branch",
	[PERF_COUNT_HW_CACHE_NODE] = "node",
};

/* By operation and result, in the order of the kernel's numbers. */
static const char *const accesses[] = { "-loads",	 "-load-misses", "-stores",
					"-store-misses", "-prefetches",	 "-prefetch-misses" };

const char *event_listed(unsigned i)
{
	static char name[64];
	const size_t cnt = sizeof(events) / sizeof(events[0]),
		     access_cnt = sizeof(accesses) / sizeof(accesses[0]);
	size_t cache = i < cnt ? 0 : (i - cnt) / access_cnt;

	if (i < cnt)
		return events[i].name;
	if (cache >= sizeof(caches) / sizeof(caches[0]))
		return NULL;
	snprintf(name, sizeof(name), "%s%s", caches[cache], accesses[(i - cnt) % access_cnt]);
	return name;
}

/* Returns the config, or -1. */
static __s64 cache_config(const char *name)
{
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		size_t len = strlen(caches[i]);

		if (strncmp(name, caches[i], len))
			continue;
		for (size_t k = 0; k < sizeof(accesses) / sizeof(accesses[0]); k++) {
			if (!strcmp(name + len, accesses[k]))
				return (__s64)(i | k / 2 << 8 | k % 2 << 16);
		}
	}
	return -1;
}

/* "r1a8": the PMU's own event number. */
static bool parse_raw(const char *name, __u64 *ret)
{
	char *end;

	if (name[0] != 'r' || !name[1] || strspn(name + 1, "0123456789abcdefABCDEF") > 16)
		return false;
	*ret = strtoull(name + 1, &end, 16);
	return !*end && end > name + 1 && name[1] != '-' && name[1] != '+';
}

static int find(struct event_spec *e, const char *name)
{
	__s64 config;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(name, events[i].name))
			continue;
		e->type = events[i].type;
		e->config = events[i].config;
		return 0;
	}
	config = cache_config(name);
	if (config >= 0) {
		e->type = PERF_TYPE_HW_CACHE;
		e->config = (__u64)config;
		return 0;
	}
	if (!parse_raw(name, &e->config))
		return -EINVAL;
	e->type = PERF_TYPE_RAW;
	return 0;
}

/* "u": user mode only; "k": kernel only; "p" to "ppp": more precise. */
static int parse_modifiers(struct event_spec *e, const char *text)
{
	bool user = false, kernel = false;

	for (; *text; text++) {
		if (*text == 'u')
			user = true;
		else if (*text == 'k')
			kernel = true;
		else if (*text == 'p' && e->precise < 3)
			e->precise++;
		else
			return -EINVAL;
	}
	e->exclude_kernel = user && !kernel;
	e->exclude_user = kernel && !user;
	return 0;
}

/* "PMU/TERMS/MODIFIERS", also with a colon before these. */
static int parse_pmu(struct event_spec *e, char *name, char *why, size_t why_size)
{
	char *terms = strchr(name, '/'), *modifiers = strrchr(name, '/');
	int err;

	if (terms == modifiers) {
		snprintf(why, why_size, "an event of a PMU ends with a slash: \"%s/\"", name);
		return -EINVAL;
	}
	*terms++ = *modifiers++ = '\0';
	err = event_pmu_parse(e, EVENT_PMUS, name, terms, why, why_size);
	return err ? err : parse_modifiers(e, modifiers + (*modifiers == ':'));
}

int event_parse(struct event_spec *ret, const char *text, size_t len, char *why, size_t why_size)
{
	struct event_spec e = { 0 };
	char name[EVENT_NAME_MAX], *modifiers;
	int err;

	*why = '\0';
	if (!len || len >= sizeof(name))
		return -EINVAL;
	memcpy(name, text, len);
	name[len] = '\0';
	memcpy(e.name, name, len + 1);
	if (strchr(name, '/')) {
		err = parse_pmu(&e, name, why, why_size);
		if (!err)
			*ret = e;
		return err;
	}
	modifiers = strchr(name, ':');
	if (modifiers)
		*modifiers++ = '\0';
	err = find(&e, name);
	/* The longest modifiers are "ukppp"; longer text means a tracepoint like "sched:sched_switch". */
	if (err && modifiers && (strlen(modifiers) > 5 || strpbrk(e.name, "*?["))) {
		err = event_tracepoint_parse(&e, why, why_size);
		if (!err)
			*ret = e;
		return err;
	}
	if (err)
		return err;
	if (modifiers && !*modifiers)
		return -EINVAL;
	err = modifiers ? parse_modifiers(&e, modifiers) : 0;
	if (err)
		return err;
	*ret = e;
	return 0;
}

bool event_is_probe(const struct event_spec *event)
{
	return event->type == PERF_TYPE_TRACEPOINT;
}

bool event_is_clock(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_is_off_cpu(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && !strcmp(event->name, EVENT_OFF_CPU);
}

static bool is_wall(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && !strcmp(event->name, EVENT_WALL);
}

bool event_is_time(const struct event_spec *event)
{
	return event_is_clock(event) || event_is_off_cpu(event) || is_wall(event);
}

void event_wall(struct event_spec *ret)
{
	*ret = (struct event_spec){ .name = EVENT_WALL,
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_DUMMY };
}

/* Readers that do not know krait see a kernel event that is counted in the same places. */
void event_off_cpu(struct event_spec *ret, __u64 threshold_ns)
{
	*ret = (struct event_spec){ .name = EVENT_OFF_CPU,
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
				    .period = threshold_ns };
}

bool event_is_tasks(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && !strcmp(event->name, EVENT_TASKS);
}

void event_tasks(struct event_spec *ret)
{
	*ret = (struct event_spec){ .name = EVENT_TASKS,
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_DUMMY,
				    .period = 1 };
}

void event_touched(struct event_spec *ret)
{
	*ret = (struct event_spec){ .name = EVENT_TOUCHED,
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_PAGE_FAULTS,
				    .period = 1 };
}

void event_resident(struct event_spec *ret)
{
	*ret = (struct event_spec){ .name = EVENT_RESIDENT,
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_DUMMY,
				    .period = 1 };
}

bool event_is_touched(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && !strcmp(event->name, EVENT_TOUCHED);
}

bool event_is_resident(const struct event_spec *event)
{
	return event->type == PERF_TYPE_SOFTWARE && !strcmp(event->name, EVENT_RESIDENT);
}

bool event_is_bytes(const struct event_spec *event)
{
	return event_is_touched(event) || event_is_resident(event);
}

bool event_is_made(const struct event_spec *event)
{
	return event_is_off_cpu(event) || event_is_tasks(event) || event_is_resident(event);
}

void event_default(struct event_spec *ret)
{
	*ret = (struct event_spec){ .name = "cpu-clock",
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_CPU_CLOCK };
}
