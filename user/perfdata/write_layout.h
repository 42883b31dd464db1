/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_layout.h - what stands around the records in a perf.data file: its front and its end, in the
 * layout of files and in that of pipes.
 */
#ifndef KRAIT_PERFDATA_WRITE_LAYOUT_H
#define KRAIT_PERFDATA_WRITE_LAYOUT_H

#include "perfdata/write_features.h"
#include "perfdata/format.h"
#include "perfdata/perf_writer.h"
#include "util/bytes.h"

/* The fields of every sample and of the trailer of every other record; of waits there is one more, an address. */
#define PERF_LAYOUT_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER)

void perf_layout_attr(struct perf_event_attr *a, const struct event_spec *e);

/* Ids of one event that fit its record in a pipe. */
#define PERF_LAYOUT_MAX_IDS 8000

/* Header of a file of cnt events with data_size bytes of records, without features. */
struct perf_file_header perf_layout_header(const struct perf_raw_event *events, unsigned cnt,
					   __u64 data_size);
/* All that is in front of the records of a file. */
void perf_layout_front(struct bytes *b, const struct perf_raw_event *events, unsigned cnt);
/* All that is behind them, into an empty *b; *header, of the whole file, learns what that is. */
void perf_layout_end(struct bytes *b, struct perf_file_header *header,
		     const struct perf_facts *facts);
/* All that is in front of the records in a pipe. Nothing is behind them. */
void perf_layout_pipe_front(struct bytes *b, const struct perf_facts *facts);

#endif /* KRAIT_PERFDATA_WRITE_LAYOUT_H */
