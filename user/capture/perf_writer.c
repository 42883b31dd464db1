/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer.c - header, ids and attributes first, then the records, at the end the features.
 */
#include "capture/perf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/dso.h"
#include "capture/perf_features.h"
#include "util/bytes.h"
#include "util/clock.h"

#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER)
#define BUFFER_SIZE (256U << 10)

struct perf_writer {
	struct perf_writer_config config;
	struct perf_event_attr *attrs;
	FILE *out, *spool; /* spool: records on their way into a pipe, NULL for a file */
	struct bytes record; /* scratch */
	__u64 data_offset, data_size;
	__u64 first_ns, last_ns, wall_ns, clock_ns;
};

/* The body of a sample in front of its chain, by SAMPLE_TYPE. */
struct sample_head {
	struct perf_event_header header;
	__u64 id, ip;
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	__u64 period, nr;
};

static void fill_attr(struct perf_event_attr *a, const struct perf_writer_event *e)
{
	*a = (struct perf_event_attr){
		.type = e->type,
		.size = PERF_ATTR_SIZE,
		.config = e->config,
		.sample_period = e->frequency ? e->frequency : e->period,
		.sample_type = SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID,
		.mmap = 1,
		.comm = 1,
		.freq = e->frequency != 0,
		.task = 1,
		.sample_id_all = 1,
		.mmap2 = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static FILE *stream(const struct perf_writer *w)
{
	return w->spool ? w->spool : w->out;
}

static int stream_error(FILE *f)
{
	return ferror(f) ? (errno ? -errno : -EIO) : 0;
}

/* A header can be put right later only in a file that is ours from its start. */
static bool is_rewritable(FILE *out)
{
	int fd = fileno(out), flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && !(flags & O_APPEND) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       lseek(fd, 0, SEEK_CUR) == 0;
}

static struct perf_file_header make_header(const struct perf_writer *w)
{
	unsigned cnt = w->config.event_cnt;

	return (struct perf_file_header){
		.magic = PERF_MAGIC,
		.size = sizeof(struct perf_file_header),
		.attr_size = PERF_ATTR_SIZE + sizeof(struct perf_section),
		.attrs = { sizeof(struct perf_file_header) + cnt * sizeof(__u64),
			   cnt * (PERF_ATTR_SIZE + sizeof(struct perf_section)) },
		.data = { w->data_offset, w->data_size },
	};
}

static void put_front(struct perf_writer *w)
{
	struct perf_file_header header;
	unsigned cnt = w->config.event_cnt;
	struct bytes b = { 0 };

	w->data_offset = sizeof(header) +
			 cnt * (sizeof(__u64) + PERF_ATTR_SIZE + sizeof(struct perf_section));
	header = make_header(w);
	bytes_put(&b, &header, sizeof(header));
	for (unsigned i = 0; i < cnt; i++)
		bytes_u64(&b, i + 1);
	for (unsigned i = 0; i < cnt; i++) {
		bytes_put(&b, &w->attrs[i], PERF_ATTR_SIZE);
		bytes_u64(&b, sizeof(header) + i * sizeof(__u64));
		bytes_u64(&b, sizeof(__u64));
	}
	fwrite(b.data, 1, b.len, w->out);
	bytes_free(&b);
}

int perf_writer__new(struct perf_writer **ret, FILE *out, const struct perf_writer_config *config)
{
	struct perf_writer *w = calloc(1, sizeof(*w));
	struct timespec now;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	w->out = out;
	w->attrs = calloc(config->event_cnt, sizeof(*w->attrs));
	if (!w->attrs) {
		perf_writer__free(w);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < config->event_cnt; i++)
		fill_attr(&w->attrs[i], &config->events[i]);
	clock_gettime(CLOCK_REALTIME, &now);
	w->clock_ns = clock_monotonic_ns();
	w->wall_ns = (__u64)now.tv_sec * NS_PER_SEC + (__u64)now.tv_nsec;
	errno = 0;
	if (is_rewritable(out)) {
		put_front(w);
	} else {
		w->spool = tmpfile();
		if (!w->spool) {
			perf_writer__free(w);
			return errno ? -errno : -EIO;
		}
	}
	setvbuf(stream(w), NULL, _IOFBF, BUFFER_SIZE);
	*ret = w;
	return stream_error(stream(w));
}

void perf_writer__free(struct perf_writer *w)
{
	if (!w)
		return;
	if (w->spool)
		fclose(w->spool);
	bytes_free(&w->record);
	free(w->attrs);
	free(w);
}

/* ---- records ---------------------------------------------------------------------------------- */

static struct bytes *start_record(struct perf_writer *w, __u32 type, __u16 misc)
{
	const struct perf_event_header header = { .type = type, .misc = misc };

	w->record.len = 0;
	bytes_put(&w->record, &header, sizeof(header));
	return &w->record;
}

static int end_record(struct perf_writer *w)
{
	struct bytes *b = &w->record;

	if (b->failed)
		return -ENOMEM;
	if (b->len > 0xfff8)
		return -EMSGSIZE;
	bytes_patch_u16(b, offsetof(struct perf_event_header, size), (__u16)b->len);
	errno = 0;
	fwrite(b->data, 1, b->len, stream(w));
	w->data_size += b->len;
	return stream_error(stream(w));
}

/* What all records but samples end with. */
static int end_stamped(struct perf_writer *w, const struct perf_stamp *s)
{
	struct bytes *b = &w->record;

	bytes_align(b, 8);
	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->tid);
	bytes_u64(b, s->time_ns);
	bytes_u32(b, s->cpu);
	bytes_u32(b, 0);
	bytes_u64(b, 1);
	return end_record(w);
}

int perf_writer__comm(struct perf_writer *w, const struct perf_stamp *s, const char *comm,
		      bool exec)
{
	struct bytes *b = start_record(w, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->tid);
	bytes_text(b, comm);
	return end_stamped(w, s);
}

int perf_writer__thread(struct perf_writer *w, const struct perf_stamp *s)
{
	struct bytes *b = start_record(w, PERF_RECORD_FORK, 0);

	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->tid);
	bytes_u32(b, (__u32)s->pid);
	bytes_u64(b, s->time_ns);
	return end_stamped(w, s);
}

int perf_writer__mapping(struct perf_writer *w, const struct perf_stamp *s,
			 const struct perf_mapping *m)
{
	__u16 misc = PERF_RECORD_MISC_USER | (m->build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	struct bytes *b = start_record(w, PERF_RECORD_MMAP2, misc);

	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->pid);
	bytes_u64(b, m->start);
	bytes_u64(b, m->size);
	bytes_u64(b, m->offset);
	if (m->build_id) {
		bytes_u32(b, DSO_BUILD_ID_SIZE);
		bytes_put(b, m->build_id, DSO_BUILD_ID_SIZE);
	} else {
		bytes_fill(b, 0, 24);
	}
	bytes_u32(b, 5); /* PROT_READ | PROT_EXEC */
	bytes_u32(b, 2); /* MAP_PRIVATE */
	bytes_text(b, m->path);
	return end_stamped(w, s);
}

int perf_writer__kernel(struct perf_writer *w, __u64 start, __u64 size)
{
	const struct perf_stamp stamp = { .pid = -1 };
	struct bytes *b = start_record(w, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	bytes_u32(b, (__u32)-1);
	bytes_u32(b, 0);
	bytes_u64(b, start);
	bytes_u64(b, size);
	bytes_u64(b, start);
	bytes_text(b, "[kernel.kallsyms]_text");
	return end_stamped(w, &stamp);
}

int perf_writer__sample(struct perf_writer *w, const struct perf_stamp *s, unsigned event,
			__u64 period, __u64 ip, const __u64 *chain, unsigned cnt)
{
	struct sample_head head = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = cnt && chain[0] == (__u64)PERF_CONTEXT_KERNEL ?
					PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			.size = (__u16)(sizeof(head) + cnt * sizeof(*chain)),
		},
		.id = event + 1,
		.ip = ip,
		.pid = (__u32)s->pid,
		.tid = (__u32)s->tid,
		.time = s->time_ns,
		.cpu = s->cpu,
		.period = period,
		.nr = cnt,
	};
	FILE *f = stream(w);

	if (cnt > PERF_WRITER_MAX_CHAIN)
		return -EMSGSIZE;
	fwrite_unlocked(&head, sizeof(head), 1, f);
	fwrite_unlocked(chain, sizeof(*chain), cnt, f);
	w->data_size += sizeof(head) + cnt * sizeof(*chain);
	if (!w->first_ns || s->time_ns < w->first_ns)
		w->first_ns = s->time_ns;
	if (s->time_ns > w->last_ns)
		w->last_ns = s->time_ns;
	return ferror_unlocked(f) ? stream_error(f) : 0;
}

int perf_writer__lost(struct perf_writer *w, __u64 cnt)
{
	const struct perf_stamp stamp = { .pid = -1, .tid = -1, .time_ns = w->last_ns };
	struct bytes *b = start_record(w, PERF_RECORD_LOST_SAMPLES, 0);

	bytes_u64(b, cnt);
	return end_stamped(w, &stamp);
}

/* ---- the rest --------------------------------------------------------------------------------- */

int perf_writer__flush(struct perf_writer *w)
{
	struct perf_file_header header = make_header(w);

	if (w->spool)
		return 0;
	errno = 0;
	if (fflush(w->out))
		return errno ? -errno : -EIO;
	if (pwrite(fileno(w->out), &header, sizeof(header), 0) != sizeof(header))
		return errno ? -errno : -EIO;
	return 0;
}

static int finish_file(struct perf_writer *w, const struct perf_facts *facts)
{
	struct perf_file_header header = make_header(w);
	struct bytes sections = { 0 }, payloads = { 0 }, one = { 0 };
	__u64 offset = w->data_offset + w->data_size;
	unsigned cnt = 0;
	int err;

	for (const enum perf_feature *f = perf_features; *f; f++)
		cnt++;
	for (const enum perf_feature *f = perf_features; *f; f++) {
		one.len = 0;
		perf_feature_put(&one, *f, facts);
		if (!one.len)
			continue;
		header.features[*f / 64] |= 1ULL << *f % 64;
		/* The table has a place for each, used or not: offsets do not depend on it. */
		bytes_u64(&sections, offset + cnt * sizeof(struct perf_section) + payloads.len);
		bytes_u64(&sections, one.len);
		bytes_put(&payloads, one.data, one.len);
	}
	bytes_fill(&sections, 0, cnt * sizeof(struct perf_section) - sections.len);
	err = sections.failed || payloads.failed || one.failed ? -ENOMEM : 0;
	errno = 0;
	if (!err &&
	    (fwrite(sections.data, 1, sections.len, w->out) != sections.len ||
	     fwrite(payloads.data, 1, payloads.len, w->out) != payloads.len || fflush(w->out) ||
	     pwrite(fileno(w->out), &header, sizeof(header), 0) != sizeof(header)))
		err = errno ? -errno : -EIO;
	bytes_free(&sections);
	bytes_free(&payloads);
	bytes_free(&one);
	return err;
}

static void put_pipe_front(struct perf_writer *w, const struct perf_facts *facts, struct bytes *b)
{
	size_t start;

	bytes_u64(b, PERF_MAGIC);
	bytes_u64(b, PERF_PIPE_HEADER_SIZE);
	for (unsigned i = 0; i < w->config.event_cnt; i++) {
		bytes_u32(b, PERF_USER_HEADER_ATTR);
		bytes_u16(b, 0);
		bytes_u16(b, sizeof(struct perf_event_header) + PERF_ATTR_SIZE + sizeof(__u64));
		bytes_put(b, &w->attrs[i], PERF_ATTR_SIZE);
		bytes_u64(b, i + 1);
	}
	for (const enum perf_feature *f = perf_features; *f; f++) {
		/* Build IDs are in MMAP2 here. */
		if (*f == PERF_FEATURE_BUILD_ID)
			continue;
		start = b->len;
		bytes_u32(b, PERF_USER_HEADER_FEATURE);
		bytes_u32(b, 0);
		bytes_u64(b, *f);
		perf_feature_put(b, *f, facts);
		bytes_fill(b, 0, (8 - (b->len - start) % 8) % 8);
		if (b->len - start == 16)
			b->len = start;
		else
			bytes_patch_u16(b, start + 6, (__u16)(b->len - start));
	}
}

static int finish_pipe(struct perf_writer *w, const struct perf_facts *facts)
{
	struct bytes front = { 0 };
	char buf[65536];
	size_t n;
	int err;

	put_pipe_front(w, facts, &front);
	err = front.failed ? -ENOMEM : 0;
	errno = 0;
	if (!err && fwrite(front.data, 1, front.len, w->out) != front.len)
		err = errno ? -errno : -EIO;
	bytes_free(&front);
	if (!err && (fflush(w->spool) || fseek(w->spool, 0, SEEK_SET)))
		err = errno ? -errno : -EIO;
	while (!err && (n = fread(buf, 1, sizeof(buf), w->spool))) {
		if (fwrite(buf, 1, n, w->out) != n)
			err = errno ? -errno : -EIO;
	}
	if (!err && (ferror(w->spool) || fflush(w->out)))
		err = errno ? -errno : -EIO;
	return err;
}

int perf_writer__finish(struct perf_writer *w, const struct perf_mapping *m)
{
	const struct perf_facts facts = {
		.config = &w->config,
		.attrs = w->attrs,
		.object = m,
		.first_ns = w->first_ns,
		.last_ns = w->last_ns,
		.wall_ns = w->wall_ns,
		.clock_ns = w->clock_ns,
	};

	return w->spool ? finish_pipe(w, &facts) : finish_file(w, &facts);
}
