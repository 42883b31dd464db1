/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer_inner.h - a perf.data writer, shared by perf_writer.c, which writes records, and
 * write_file.c, which updates the file around them.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_PERF_WRITER_INNER_H
#define KRAIT_CAPTURE_PERFDATA_PERF_WRITER_INNER_H

#include "capture/perfdata/perf_writer.h"
#include "base/data/bytes.h"

#define PERF_WRITER_BUFFER_SIZE (64U << 10)

struct perf_writer {
	struct perf_writer_config config;
	struct perf_raw_event *events;
	__u64 *ids; /* for krait's own events: 1, 2 ... */
	FILE *out, *spool; /* spool: records on their way into a pipe; NULL for a file */
	struct packer *packer; /* NULL: records are not compressed */
	struct bytes record; /* scratch */
	/* of the stream: glibc's own has 4 KiB, whatever size is requested */
	char buffer[PERF_WRITER_BUFFER_SIZE];
	__u64 data_size; /* of records, but for what the packer has given */
	__u64 flushed_size; /* as in the file's header */
	__u64 first_ns, last_ns;
	bool finished; /* the stream no longer needs the buffer, and may be closed */
};

#endif /* KRAIT_CAPTURE_PERFDATA_PERF_WRITER_INNER_H */
