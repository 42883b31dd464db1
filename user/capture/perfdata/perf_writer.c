/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_writer.c - the records, one after the other.
 */
#include "capture/perfdata/perf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/dso/dso.h"
#include "capture/perfdata/compressed.h"
#include "capture/perfdata/perf_writer_inner.h"
#include "capture/perfdata/write_layout.h"
#include "process/space/mapping.h"
#include "base/data/bytes.h"
#include "base/text/stream.h"

/*
 * A sample before its chain, by PERF_LAYOUT_SAMPLE_TYPE; addr comes in between, if the event has
 * it.
 */
struct sample_head {
	struct perf_event_header header;
	__u64 id, ip;
	__u32 pid, tid;
	__u64 time;
};

struct sample_rest {
	__u32 cpu, state;
	__u64 period, nr;
};

static FILE *stream(const struct perf_writer *w)
{
	return w->spool ? w->spool : w->out;
}

static int stream_error(FILE *f)
{
	return ferror(f) ? (stream_cause()) : 0;
}

/* A header can be updated later only in a file that we have written from its start. */
static bool is_rewritable(FILE *out)
{
	int fd = fileno(out), flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && !(flags & O_APPEND) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       lseek(fd, 0, SEEK_CUR) == 0;
}

static void put_front(struct perf_writer *w)
{
	const struct perf_facts facts = { .config = &w->config };
	cleanup_bytes struct bytes b = { 0 };
	size_t front;

	perf_layout_front(&b, w->events, w->config.event_cnt);
	front = b.len;
	/* Readers of a file without an end, where the features are, need to know this one. */
	perf_layout_feature(&b, PERF_FEATURE_COMPRESSED, &facts);
	fwrite(b.data, 1, b.len, w->out);
	w->data_size = b.len - front;
}

/* A file of krait's has one id per event. */
static int list_events(struct perf_writer *w, const struct perf_writer_config *config)
{
	w->events = calloc(config->event_cnt, sizeof(*w->events));
	w->ids = calloc(config->event_cnt, sizeof(*w->ids));
	if (!w->events || !w->ids)
		return -ENOMEM;
	for (unsigned i = 0; i < config->event_cnt; i++) {
		if (config->raw_events) {
			w->events[i] = config->raw_events[i];
			if (w->events[i].id_cnt > PERF_LAYOUT_MAX_IDS)
				return -E2BIG;
			continue;
		}
		w->ids[i] = i + 1;
		perf_layout_attr(&w->events[i].attr, &config->events[i]);
		/* As perf does: the records around its samples are switches. */
		w->events[i].attr.context_switch = event_is_off_cpu(&config->events[i]);
		w->events[i].ids = &w->ids[i];
		w->events[i].id_cnt = 1;
	}
	return 0;
}

int perf_writer__new(struct perf_writer **ret, FILE *out, const struct perf_writer_config *config)
{
	struct perf_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	w->out = out;
	err = list_events(w, config);
	if (!err && config->compression)
		err = packer__new(&w->packer, config->compression);
	if (err) {
		perf_writer__free(w);
		return err;
	}
	errno = 0;
	if (is_rewritable(out)) {
		put_front(w);
	} else {
		w->spool = tmpfile();
		if (!w->spool) {
			perf_writer__free(w);
			return stream_cause();
		}
	}
	setvbuf(stream(w), w->buffer, _IOFBF, sizeof(w->buffer));
	*ret = w;
	return stream_error(stream(w));
}

void perf_writer__free(struct perf_writer *w)
{
	if (!w)
		return;
	if (w->spool)
		fclose(w->spool);
	else if (!w->finished)
		setvbuf(w->out, NULL, _IONBF, 0); /* it outlives the buffer */
	bytes_free(&w->record);
	packer__free(w->packer);
	free(w->events);
	free(w->ids);
	free(w);
}

__u64 perf_writer__sample_type(const struct perf_writer *w, unsigned event)
{
	return w->events[event].attr.sample_type;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* A record of that size begins. */
static inline int begin(struct perf_writer *w, size_t size)
{
	return w->packer ? packer__reserve(w->packer, stream(w), size) : 0;
}

/* Returns 0 or -errno. Without compression only the stream knows whether it arrived. */
static inline int put(struct perf_writer *w, const void *data, size_t size)
{
	if (w->packer)
		return packer__put(w->packer, stream(w), data, size);
	fwrite_unlocked(data, 1, size, stream(w));
	w->data_size += size;
	return 0;
}

static int put_record(struct perf_writer *w, const void *data, size_t size)
{
	int err;

	errno = 0;
	err = begin(w, size);
	if (!err)
		err = put(w, data, size);
	return err ? err : stream_error(stream(w));
}

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
	return put_record(w, b->data, b->len);
}

/* The trailer of all records but samples: the first event's, in the order of perf_event_open(2). */
static int end_stamped(struct perf_writer *w, const struct perf_stamp *s)
{
	const struct perf_raw_event *e = &w->events[0];
	const __u64 fields = e->attr.sample_id_all ? e->attr.sample_type : 0;
	const __u64 id = e->id_cnt ? e->ids[0] : 0;
	struct bytes *b = &w->record;

	bytes_align(b, 8);
	if (fields & PERF_SAMPLE_TID) {
		bytes_u32(b, (__u32)s->pid);
		bytes_u32(b, (__u32)s->tid);
	}
	if (fields & PERF_SAMPLE_TIME)
		bytes_u64(b, s->time_ns);
	if (fields & PERF_SAMPLE_ID)
		bytes_u64(b, id);
	if (fields & PERF_SAMPLE_STREAM_ID)
		bytes_u64(b, id);
	if (fields & PERF_SAMPLE_CPU) {
		bytes_u32(b, s->cpu);
		bytes_u32(b, 0);
	}
	if (fields & PERF_SAMPLE_IDENTIFIER)
		bytes_u64(b, id);
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

int perf_writer__thread(struct perf_writer *w, const struct perf_stamp *s, bool ends)
{
	struct bytes *b = start_record(w, ends ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);

	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->pid);
	bytes_u32(b, (__u32)s->tid);
	bytes_u32(b, (__u32)s->pid);
	bytes_u64(b, s->time_ns);
	return end_stamped(w, s);
}

void perf_mapping_put(struct bytes *b, int pid, const struct mapping *at,
		      const struct perf_object *o)
{
	bytes_u32(b, (__u32)pid);
	bytes_u32(b, (__u32)pid);
	bytes_u64(b, at->start);
	bytes_u64(b, at->end - at->start);
	bytes_u64(b, at->offset);
	if (o->build_id) {
		bytes_u32(b, DSO_BUILD_ID_SIZE);
		bytes_put(b, o->build_id, DSO_BUILD_ID_SIZE);
	} else {
		bytes_fill(b, 0, 24);
	}
	bytes_u32(b, 5); /* PROT_READ | PROT_EXEC */
	bytes_u32(b, 2); /* MAP_PRIVATE */
	bytes_text(b, o->path);
}

int perf_writer__mapping(struct perf_writer *w, const struct perf_stamp *s,
			 const struct mapping *at, const struct perf_object *o)
{
	__u16 misc = PERF_RECORD_MISC_USER | (o->build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	struct bytes *b = start_record(w, PERF_RECORD_MMAP2, misc);

	perf_mapping_put(b, s->pid, at, o);
	return end_stamped(w, s);
}

int perf_writer__kernel(struct perf_writer *w, const struct mapping *at, const char *name)
{
	const struct perf_stamp stamp = { .pid = -1 };
	struct bytes *b = start_record(w, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	bytes_u32(b, (__u32)-1);
	bytes_u32(b, 0);
	bytes_u64(b, at->start);
	bytes_u64(b, at->end - at->start);
	bytes_u64(b, at->offset);
	bytes_text(b, name);
	return end_stamped(w, &stamp);
}

int perf_writer__switch(struct perf_writer *w, const struct perf_stamp *s, bool out, bool preempted)
{
	__u16 misc = (__u16)((out ? PERF_RECORD_MISC_SWITCH_OUT : 0) |
			     (preempted ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0));

	start_record(w, PERF_RECORD_SWITCH, misc);
	return end_stamped(w, s);
}

int perf_writer__sample(struct perf_writer *w, const struct perf_stamp *s, unsigned event,
			__u64 period, __u64 ip, const __u64 *chain, unsigned cnt)
{
	const bool has_addr = w->events[event].attr.sample_type & PERF_SAMPLE_ADDR;
	const __u64 addr = s->holder;
	const struct sample_rest rest = {
		.cpu = s->cpu,
		.state = s->state,
		.period = period,
		.nr = cnt,
	};
	const size_t size = sizeof(struct sample_head) + (has_addr ? sizeof(addr) : 0) +
			    sizeof(rest) + cnt * sizeof(*chain);
	const struct sample_head head = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = cnt && chain[0] == (__u64)PERF_CONTEXT_KERNEL ?
					PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			.size = (__u16)size,
		},
		.id = event + 1,
		.ip = ip,
		.pid = (__u32)s->pid,
		.tid = (__u32)s->tid,
		.time = s->time_ns,
	};
	FILE *f = stream(w);
	int err;

	if (w->config.raw_events)
		return -EINVAL;
	if (cnt > PERF_WRITER_MAX_CHAIN)
		return -EMSGSIZE;
	err = begin(w, size);
	if (!err)
		err = put(w, &head, sizeof(head));
	if (!err && has_addr)
		err = put(w, &addr, sizeof(addr));
	if (!err)
		err = put(w, &rest, sizeof(rest));
	if (!err)
		err = put(w, chain, cnt * sizeof(*chain));
	perf_writer__saw(w, s->time_ns);
	if (err)
		return err;
	return ferror_unlocked(f) ? stream_error(f) : 0;
}

void perf_writer__saw(struct perf_writer *w, __u64 time_ns)
{
	if (!w->first_ns || time_ns < w->first_ns)
		w->first_ns = time_ns;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
}

int perf_writer__raw(struct perf_writer *w, const void *record, size_t size)
{
	struct perf_event_header header;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, record, sizeof(header));
	if (header.size != size || size % sizeof(__u64))
		return -EINVAL;
	return put_record(w, record, size);
}

int perf_writer__lost(struct perf_writer *w, __u64 cnt)
{
	const struct perf_stamp stamp = { .pid = -1, .tid = -1, .time_ns = w->last_ns };
	struct bytes *b = start_record(w, PERF_RECORD_LOST_SAMPLES, 0);

	bytes_u64(b, cnt);
	return end_stamped(w, &stamp);
}
