/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer_inner.h - a writer of perf.data, for what writes its records (perf_writer.c) and for what brings the
 * file around them up to date (write_file.c).
 */
#ifndef KRAIT_PERFDATA_PERF_WRITER_INNER_H
#define KRAIT_PERFDATA_PERF_WRITER_INNER_H

#include "perfdata/perf_writer.h"
#include "util/bytes.h"

#define PERF_WRITER_BUFFER_SIZE (64U << 10)

struct perf_writer {
	struct perf_writer_config config;
	struct perf_raw_event *events;
	__u64 *ids; /* of krait's own events: 1, 2 ... */
	FILE *out, *spool; /* spool: records on their way into a pipe, NULL for a file */
	struct bytes record; /* scratch */
	char buffer[PERF_WRITER_BUFFER_SIZE]; /* of the stream: glibc has its own of 4 KiB, whatever size it is asked for */
	__u64 data_size, flushed_size; /* flushed: as the header in the file says */
	__u64 first_ns, last_ns;
	bool finished; /* the stream has done with the buffer, and may be closed */
};

#endif /* KRAIT_PERFDATA_PERF_WRITER_INNER_H */
