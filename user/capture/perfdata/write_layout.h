/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_layout.h - the bytes before and after the records of a perf.data file, in the file layout
 * and in the pipe layout.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_WRITE_LAYOUT_H
#define KRAIT_CAPTURE_PERFDATA_WRITE_LAYOUT_H

#include "capture/perfdata/write_features.h"
#include "capture/perfdata/format.h"
#include "capture/perfdata/perf_writer.h"
#include "base/data/bytes.h"

/*
 * The fields of every sample and of every other record's trailer; samples of waits have one more,
 * an address.
 */
#define PERF_LAYOUT_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER)

void perf_layout_attr(struct perf_event_attr *a, const struct event_spec *e);

/* Ids of one event that fit in its record in a pipe. */
#define PERF_LAYOUT_MAX_IDS 8000

/* The header of a file with cnt events and data_size bytes of records, without features. */
struct perf_file_header perf_layout_header(const struct perf_raw_event *events, unsigned cnt,
					   __u64 data_size);
/* Everything before the records of a file. */
void perf_layout_front(struct bytes *b, const struct perf_raw_event *events, unsigned cnt);
/* Everything after them, into an empty *b; updates *header, the whole file's, accordingly. */
void perf_layout_end(struct bytes *b, struct perf_file_header *header,
		     const struct perf_facts *facts);
/* A feature as a record; nothing if the facts lack it. */
void perf_layout_feature(struct bytes *b, enum perf_feature feature,
			 const struct perf_facts *facts);
/* Everything before the records in a pipe. Nothing follows them. */
void perf_layout_pipe_front(struct bytes *b, const struct perf_facts *facts);

#endif /* KRAIT_CAPTURE_PERFDATA_WRITE_LAYOUT_H */
