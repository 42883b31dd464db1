/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_file.c - writes what surrounds the records of a perf.data file: the header at each flush,
 * the features at the end; for a pipe, its front and then all records.
 */
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/perfdata/compressed.h"
#include "capture/perfdata/perf_writer_inner.h"
#include "capture/perfdata/write_layout.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

static struct perf_file_header header_of(const struct perf_writer *w, __u64 data_size)
{
	return perf_layout_header(w->events, w->config.event_cnt, data_size);
}

/* Of all records that went to the stream. */
static __u64 records_size(const struct perf_writer *w)
{
	return w->data_size + (w->packer ? packer__given(w->packer) : 0);
}

double perf_writer__ratio(const struct perf_writer *w)
{
	return w->packer && packer__given(w->packer) ?
		       (double)packer__taken(w->packer) / (double)packer__given(w->packer) :
		       1;
}

/* Of how many bytes: in the middle, where stacks repeat as they do everywhere. */
#define ESTIMATE_BYTES (1U << 20)

double perf_writer__would_save(const struct perf_writer *w)
{
	const off_t start = (off_t)header_of(w, 0).data.offset;
	cleanup_free void *data = malloc(ESTIMATE_BYTES);
	size_t packed;
	ssize_t n;

	if (!data || w->spool || w->packer || w->flushed_size < ESTIMATE_BYTES)
		return 0;
	n = pread(fileno(w->out), data, ESTIMATE_BYTES,
		  start + (off_t)((w->flushed_size - ESTIMATE_BYTES) / 2));
	packed = n > 0 ? packer_estimate(data, (size_t)n) : 0;
	return packed ? (double)n / (double)packed : 0;
}

/* What is to be compressed goes to the stream. */
static int flush_packer(struct perf_writer *w)
{
	return w->packer ? packer__flush(w->packer, w->spool ? w->spool : w->out) : 0;
}

int perf_writer__flush(struct perf_writer *w)
{
	struct perf_file_header header;
	int err = flush_packer(w);

	if (err || w->spool)
		return err;
	errno = 0;
	if (fflush(w->out))
		return stream_cause();
	header = header_of(w, records_size(w));
	if (pwrite(fileno(w->out), &header, sizeof(header), 0) != sizeof(header))
		return stream_cause();
	w->flushed_size = header.data.size;
	return 0;
}

__u64 perf_writer__written(const struct perf_writer *w)
{
	const __u64 start = header_of(w, 0).data.offset;
	struct stat st;

	if (w->spool || fstat(fileno(w->out), &st) || (__u64)st.st_size < start)
		return 0;
	return (__u64)st.st_size - start;
}

__u64 perf_writer__flushed(const struct perf_writer *w)
{
	return w->flushed_size;
}

int perf_writer__cut(struct perf_writer *w, __u64 size)
{
	struct perf_file_header header = header_of(w, 0);
	__u64 end = w->flushed_size, written = perf_writer__written(w);
	struct perf_event_header next;
	int fd = fileno(w->out);

	if (w->spool)
		return -ESPIPE;
	__fpurge(w->out);
	size = size < written ? size : written;
	size = size < records_size(w) ? size : records_size(w);
	while (end + sizeof(next) <= size &&
	       pread(fd, &next, sizeof(next), (off_t)(header.data.offset + end)) == sizeof(next) &&
	       next.size >= sizeof(next) && end + next.size <= size)
		end += next.size;
	header = header_of(w, end);
	if (ftruncate(fd, (off_t)(header.data.offset + end)) ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
		return stream_cause();
	return 0;
}

static int finish_file(struct perf_writer *w, const struct perf_facts *facts)
{
	struct perf_file_header header = header_of(w, records_size(w));
	cleanup_bytes struct bytes end = { 0 };

	perf_layout_end(&end, &header, facts);
	if (end.failed)
		return -ENOMEM;
	errno = 0;
	if (fwrite(end.data, 1, end.len, w->out) != end.len || fflush(w->out) ||
	    pwrite(fileno(w->out), &header, sizeof(header), 0) != sizeof(header))
		return stream_cause();
	return 0;
}

static int finish_pipe(struct perf_writer *w, const struct perf_facts *facts)
{
	cleanup_bytes struct bytes front = { 0 };
	char buf[65536];
	size_t n;
	int err;

	perf_layout_pipe_front(&front, facts);
	err = front.failed ? -ENOMEM : 0;
	errno = 0;
	if (!err && fwrite(front.data, 1, front.len, w->out) != front.len)
		err = stream_cause();
	if (!err && (fflush(w->spool) || fseek(w->spool, 0, SEEK_SET)))
		err = stream_cause();
	while (!err && (n = fread(buf, 1, sizeof(buf), w->spool))) {
		if (fwrite(buf, 1, n, w->out) != n)
			err = stream_cause();
	}
	if (!err && (ferror(w->spool) || fflush(w->out)))
		err = stream_cause();
	return err;
}

int perf_writer__finish(struct perf_writer *w, const struct perf_object *list, unsigned cnt)
{
	__s64 offset_ns = recording_wall_offset_ns(w->config.recording);
	const struct perf_facts facts = {
		.config = &w->config,
		.events = w->events,
		.objects = list,
		.object_cnt = cnt,
		.first_ns = w->first_ns,
		.last_ns = w->last_ns,
		.wall_ns = offset_ns ? w->first_ns + (__u64)offset_ns : 0,
		.clock_ns = w->first_ns,
		.ratio = (__u32)(perf_writer__ratio(w) + 0.5),
	};
	int err;

	errno = 0;
	err = flush_packer(w);
	if (err)
		return err;
	err = w->spool ? finish_pipe(w, &facts) : finish_file(w, &facts);

	if (!err && !w->spool)
		w->finished = !setvbuf(w->out, NULL, _IONBF, 0);
	return err;
}
