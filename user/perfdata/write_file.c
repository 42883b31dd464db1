/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_file.c - writes what surrounds the records of a perf.data file: the header at each flush,
 * the features at the end; for a pipe, its front and then all records.
 */
#include <errno.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata/perf_writer_inner.h"
#include "perfdata/write_layout.h"
#include "util/stream.h"

static struct perf_file_header header_of(const struct perf_writer *w, __u64 data_size)
{
	return perf_layout_header(w->events, w->config.event_cnt, data_size);
}

int perf_writer__flush(struct perf_writer *w)
{
	const struct perf_file_header header = header_of(w, w->data_size);

	if (w->spool)
		return 0;
	errno = 0;
	if (fflush(w->out))
		return stream_cause();
	if (pwrite(fileno(w->out), &header, sizeof(header), 0) != sizeof(header))
		return stream_cause();
	w->flushed_size = w->data_size;
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
	size = size < w->data_size ? size : w->data_size;
	while (end + sizeof(next) <= size &&
	       pread(fd, &next, sizeof(next), (off_t)(header.data.offset + end)) == sizeof(next) &&
	       next.size >= sizeof(next) && end + next.size <= size)
		end += next.size;
	header = header_of(w, end);
	if (ftruncate(fd, (off_t)(header.data.offset + end)) ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
		return stream_cause();
	w->data_size = end;
	return 0;
}

static int finish_file(struct perf_writer *w, const struct perf_facts *facts)
{
	struct perf_file_header header = header_of(w, w->data_size);
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
	};
	int err = w->spool ? finish_pipe(w, &facts) : finish_file(w, &facts);

	if (!err && !w->spool)
		w->finished = !setvbuf(w->out, NULL, _IONBF, 0);
	return err;
}
