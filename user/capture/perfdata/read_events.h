/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_events.h - the events of a perf.data file, and which of them an id in a record refers to.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_READ_EVENTS_H
#define KRAIT_CAPTURE_PERFDATA_READ_EVENTS_H

#include <stddef.h>

#include "capture/perfdata/format.h"
#include "capture/perfdata/perf_reader.h"

/* Smallest valid attribute of an event. */
#define PERF_ATTRS_LEAST_SIZE PERF_ATTR_SIZE_VER0
/* perf has one id per event, CPU and thread. */
#define PERF_ATTRS_MAX_IDS (1U << 20)

struct perf_attrs_id {
	__u64 id;
	unsigned event;
};

/* All zero: empty. */
struct perf_attrs {
	struct perf_read_event events[PERF_READER_MAX_EVENTS];
	unsigned cnt;
	struct perf_attrs_id *ids;
	unsigned id_cnt, id_cap, last_id;
	bool ids_sorted;
};

void perf_attrs_free(struct perf_attrs *a);

/* Adds an event from size bytes of struct perf_event_attr, of any version. Returns 0 or -errno. */
int perf_attrs_add(struct perf_attrs *a, const __u8 *bytes, size_t size)
	__attribute__((warn_unused_result));
/* Adds an id of an existing event. Returns 0 or -errno. */
int perf_attrs_add_id(struct perf_attrs *a, __u64 id, unsigned event)
	__attribute__((warn_unused_result));
/* Index of the event with an id; the first one if the id is unknown. ctx: struct perf_attrs. */
unsigned perf_attrs_by_id(void *ctx, __u64 id);

#endif /* KRAIT_CAPTURE_PERFDATA_READ_EVENTS_H */
