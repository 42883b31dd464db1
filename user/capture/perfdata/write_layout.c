/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/write_layout.h"

#include <time.h>

void perf_layout_attr(struct perf_event_attr *a, const struct event_spec *e)
{
	/* Readers ask for a tracepoint's fields, which samples do not have. */
	const bool probe = event_is_probe(e);

	*a = (struct perf_event_attr){
		.type = probe ? PERF_TYPE_SOFTWARE : e->type,
		.size = PERF_ATTR_SIZE,
		.config = probe ? PERF_COUNT_SW_DUMMY : e->config,
		.sample_period = e->frequency ? e->frequency : e->period,
		.sample_type = PERF_LAYOUT_SAMPLE_TYPE |
			       (event_is_off_cpu(e) ? PERF_SAMPLE_ADDR : 0),
		.read_format = PERF_FORMAT_ID,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.exclude_hv = e->exclude_kernel,
		.precise_ip = e->precise,
		.mmap = 1,
		.comm = 1,
		.freq = e->frequency != 0,
		.task = 1,
		.sample_id_all = 1,
		.mmap2 = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.config1 = e->joined ? PERF_CONFIG1_JOINED : e->config1,
		.config2 = e->config2,
	};
}

struct perf_file_header perf_layout_header(const struct perf_raw_event *events, unsigned cnt,
					   __u64 data_size)
{
	const __u64 attrs_size = cnt * (PERF_ATTR_SIZE + sizeof(struct perf_section));
	__u64 attrs = sizeof(struct perf_file_header);

	for (unsigned i = 0; i < cnt; i++)
		attrs += events[i].id_cnt * sizeof(__u64);
	return (struct perf_file_header){
		.magic = PERF_MAGIC,
		.size = sizeof(struct perf_file_header),
		.attr_size = PERF_ATTR_SIZE + sizeof(struct perf_section),
		.attrs = { attrs, attrs_size },
		.data = { attrs + attrs_size, data_size },
	};
}

/* Header, ids, and the attributes with the location of their ids. */
void perf_layout_front(struct bytes *b, const struct perf_raw_event *events, unsigned cnt)
{
	const struct perf_file_header header = perf_layout_header(events, cnt, 0);
	__u64 ids = sizeof(header);

	bytes_put(b, &header, sizeof(header));
	for (unsigned i = 0; i < cnt; i++)
		bytes_put(b, events[i].ids, events[i].id_cnt * sizeof(__u64));
	for (unsigned i = 0; i < cnt; i++) {
		bytes_put(b, &events[i].attr, PERF_ATTR_SIZE);
		bytes_u64(b, ids);
		bytes_u64(b, events[i].id_cnt * sizeof(__u64));
		ids += events[i].id_cnt * sizeof(__u64);
	}
}

void perf_layout_end(struct bytes *b, struct perf_file_header *header,
		     const struct perf_facts *facts)
{
	cleanup_bytes struct bytes payloads = { 0 };
	__u64 at = header->data.offset + header->data.size;
	size_t table = 0;

	/* The table has an entry for each, used or not: so offsets do not depend on use. */
	for (const enum perf_feature *f = perf_features; *f; f++)
		table += sizeof(struct perf_section);
	for (const enum perf_feature *f = perf_features; *f; f++) {
		size_t start = payloads.len;

		perf_feature_put(&payloads, *f, facts);
		if (payloads.len == start)
			continue;
		header->features[*f / 64] |= 1ULL << *f % 64;
		bytes_u64(b, at + table + start);
		bytes_u64(b, payloads.len - start);
	}
	bytes_fill(b, 0, table - b->len);
	bytes_put(b, payloads.data, payloads.len);
	b->failed |= payloads.failed;
}

void perf_layout_feature(struct bytes *b, enum perf_feature feature, const struct perf_facts *facts)
{
	size_t start = b->len;

	bytes_u32(b, PERF_USER_HEADER_FEATURE);
	bytes_u32(b, 0);
	bytes_u64(b, feature);
	perf_feature_put(b, feature, facts);
	bytes_fill(b, 0, (8 - (b->len - start) % 8) % 8);
	if (b->len - start == 16)
		b->len = start;
	else
		bytes_patch_u16(b, start + 6, (__u16)(b->len - start));
}

void perf_layout_pipe_front(struct bytes *b, const struct perf_facts *facts)
{
	bytes_u64(b, PERF_MAGIC);
	bytes_u64(b, PERF_PIPE_HEADER_SIZE);
	for (unsigned i = 0; i < facts->config->event_cnt; i++) {
		const struct perf_raw_event *e = &facts->events[i];
		size_t ids_size = e->id_cnt * sizeof(*e->ids);

		bytes_u32(b, PERF_USER_HEADER_ATTR);
		bytes_u16(b, 0);
		bytes_u16(b, (__u16)(sizeof(struct perf_event_header) + PERF_ATTR_SIZE + ids_size));
		bytes_put(b, &e->attr, PERF_ATTR_SIZE);
		bytes_put(b, e->ids, ids_size);
	}
	/* In this layout MMAP2 has the build IDs. */
	for (const enum perf_feature *f = perf_features; *f; f++) {
		if (*f != PERF_FEATURE_BUILD_ID)
			perf_layout_feature(b, *f, facts);
	}
}
