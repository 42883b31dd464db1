/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_record.h - decodes one record of perf.data into struct perf_read; nothing is trusted.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_READ_RECORD_H
#define KRAIT_CAPTURE_PERFDATA_READ_RECORD_H

#include <string.h>

#include "capture/perfdata/format.h"
#include "capture/perfdata/perf_reader.h"

/* Bytes consumed from the front; ok becomes false when there are too few. */
struct cursor {
	const __u8 *at, *end;
	bool ok;
};

static inline const void *cursor_take(struct cursor *c, size_t size)
{
	const void *at = c->at;

	if (!c->ok || (size_t)(c->end - c->at) < size) {
		c->ok = false;
		return NULL;
	}
	c->at += size;
	return at;
}

static inline __u32 cursor_u32(struct cursor *c)
{
	const void *p = cursor_take(c, sizeof(__u32));
	__u32 value = 0;

	if (p)
		memcpy(&value, p, sizeof(value));
	return value;
}

static inline __u64 cursor_u64(struct cursor *c)
{
	const void *p = cursor_take(c, sizeof(__u64));
	__u64 value = 0;

	if (p)
		memcpy(&value, p, sizeof(value));
	return value;
}

/* The event with an id; the first one if the id is unknown. */
typedef unsigned (*event_by_id_fn)(void *ctx, __u64 id);

struct decoder {
	const struct perf_read_event *events;
	unsigned event_cnt; /* > 0 */
	event_by_id_fn event_by_id;
	void *ctx;
};

/*
 * size: bytes at record, checked, including its header. Returns 1: *ret is filled; 0: not needed;
 * -EINVAL: malformed.
 */
int perf_decode(const struct decoder *d, const __u8 *record, size_t size, struct perf_read *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_CAPTURE_PERFDATA_READ_RECORD_H */
