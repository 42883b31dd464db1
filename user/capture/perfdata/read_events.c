/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/read_events.h"
#include "base/data/compare.h"
#include "base/data/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void perf_attrs_free(struct perf_attrs *a)
{
	free(a->ids);
	*a = (struct perf_attrs){ 0 };
}

static int compare_ids(const void *left, const void *right)
{
	const struct perf_attrs_id *x = left, *y = right;

	return compare_numbers(x->id, y->id);
}

unsigned perf_attrs_by_id(void *ctx, __u64 id)
{
	struct perf_attrs *a = ctx;
	const struct perf_attrs_id key = { .id = id };
	const struct perf_attrs_id *found;

	if (a->last_id < a->id_cnt && a->ids_sorted && a->ids[a->last_id].id == id)
		return a->ids[a->last_id].event;
	if (!a->id_cnt)
		return 0;
	if (!a->ids_sorted)
		qsort(a->ids, a->id_cnt, sizeof(*a->ids), compare_ids);
	a->ids_sorted = true;
	found = bsearch(&key, a->ids, a->id_cnt, sizeof(*a->ids), compare_ids);
	if (!found)
		return 0;
	a->last_id = (unsigned)(found - a->ids);
	return found->event;
}

int perf_attrs_add_id(struct perf_attrs *a, __u64 id, unsigned event)
{
	if (a->id_cnt == PERF_ATTRS_MAX_IDS)
		return -E2BIG;
	if (vec_reserve(a->ids, a->id_cap, a->id_cnt + 1))
		return -ENOMEM;
	a->ids[a->id_cnt++] = (struct perf_attrs_id){ id, event };
	a->ids_sorted = false;
	return 0;
}

int perf_attrs_add(struct perf_attrs *a, const __u8 *bytes, size_t size)
{
	struct perf_event_attr attr = { 0 };
	struct perf_read_event *e = &a->events[a->cnt];

	if (a->cnt == PERF_READER_MAX_EVENTS)
		return -E2BIG;
	memcpy(&attr, bytes, size < sizeof(attr) ? size : sizeof(attr));
	*e = (struct perf_read_event){
		.type = attr.type,
		.config = attr.config,
		.sample_type = attr.sample_type,
		.read_format = attr.read_format,
		.value = attr.sample_period,
		.is_frequency = attr.freq,
		.exclude_user = attr.exclude_user,
		.exclude_kernel = attr.exclude_kernel,
		.precise = attr.precise_ip,
		.has_trailer = attr.sample_id_all,
		.branch_type = attr.branch_sample_type,
		.user_regs = attr.sample_regs_user,
		.monotonic = attr.use_clockid && attr.clockid == CLOCK_MONOTONIC,
		.joined = attr.type == PERF_TYPE_SOFTWARE &&
			  attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES &&
			  attr.config1 == PERF_CONFIG1_JOINED,
	};
	if (attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_CPU_CLOCK)
		snprintf(e->name, sizeof(e->name), "cpu-clock");
	else
		snprintf(e->name, sizeof(e->name), "event-%u", a->cnt);
	a->cnt++;
	return 0;
}
