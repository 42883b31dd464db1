/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/read_record.h"

#include <errno.h>

/* { value, times, id, lost } for one event, or the same for each member of a group. */
static void skip_read(struct cursor *c, __u64 format)
{
	__u64 times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		      !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	__u64 each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1U << 4) /* LOST */);
	__u64 cnt = format & PERF_FORMAT_GROUP ? cursor_u64(c) : 1;

	if (cnt > 0xffff)
		c->ok = false;
	else
		cursor_take(c, (times + cnt * each) * sizeof(__u64));
}

static int decode_sample(const struct decoder *d, struct cursor *c, struct perf_read *ret)
{
	__u64 type = d->events[0].sample_type;
	struct cursor id = *c;

	ret->kind = PERF_READ_SAMPLE;
	if (type & PERF_SAMPLE_IDENTIFIER) {
		ret->event = d->event_by_id(d->ctx, cursor_u64(&id));
		type = d->events[ret->event].sample_type;
		cursor_u64(c);
	}
	if (type & PERF_SAMPLE_IP)
		ret->ip = cursor_u64(c);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = (int)cursor_u32(c);
		ret->tid = (int)cursor_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = cursor_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		ret->addr = cursor_u64(c);
	if (type & PERF_SAMPLE_ID)
		ret->event = d->event_by_id(d->ctx, cursor_u64(c));
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor_u64(c);
	if (type & PERF_SAMPLE_CPU) {
		ret->cpu = cursor_u32(c);
		ret->state = cursor_u32(c);
	}
	if (type & PERF_SAMPLE_PERIOD)
		ret->period = cursor_u64(c);
	else
		ret->period = d->events[ret->event].is_frequency ? 1 : d->events[ret->event].value;
	if (type & PERF_SAMPLE_READ)
		skip_read(c, d->events[ret->event].read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		__u64 cnt = cursor_u64(c);

		if (cnt > 0xffff / sizeof(__u64))
			return -EINVAL;
		ret->chain_cnt = (unsigned)cnt;
		ret->chain = cursor_take(c, cnt * sizeof(__u64));
	}
	return c->ok ? 1 : -EINVAL;
}

/* Takes the id fields off the end of a record that is not a sample. */
static void decode_trailer(const struct decoder *d, struct cursor *c, struct perf_read *ret)
{
	static const __u64 fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					PERF_SAMPLE_ID,	 PERF_SAMPLE_STREAM_ID,
					PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
	__u64 type = d->events[0].sample_type;
	size_t size = 0;
	struct cursor t;

	if (!d->events[0].has_trailer)
		return;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		size += type & fields[i] ? sizeof(__u64) : 0;
	if ((size_t)(c->end - c->at) < size)
		return;
	c->end -= size;
	t = (struct cursor){ c->end, c->end + size, true };
	if (type & PERF_SAMPLE_TID) {
		ret->pid = (int)cursor_u32(&t);
		ret->tid = (int)cursor_u32(&t);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = cursor_u64(&t);
}

/* The rest, as a text. NULL: it is not terminated. */
static const char *rest_text(const struct cursor *c)
{
	if (!c->ok || !memchr(c->at, 0, (size_t)(c->end - c->at)))
		return NULL;
	return (const char *)c->at;
}

static int decode_comm(struct cursor *c, __u16 misc, struct perf_read *ret)
{
	ret->kind = PERF_READ_COMM;
	ret->pid = (int)cursor_u32(c);
	ret->tid = (int)cursor_u32(c);
	ret->exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	ret->text = rest_text(c);
	return ret->text ? 1 : -EINVAL;
}

static void decode_mmap2(struct cursor *c, __u16 misc, struct perf_read *ret)
{
	const __u8 *id = cursor_take(c, 24);

	cursor_take(c, 8);
	if (!id || !(misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || id[0] > sizeof(ret->build_id))
		return;
	ret->build_id_size = id[0];
	memcpy(ret->build_id, id + 4, id[0]);
}

static int decode_mapping(struct cursor *c, __u32 type, __u16 misc, struct perf_read *ret)
{
	ret->kind = PERF_READ_MAPPING;
	ret->in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	ret->pid = (int)cursor_u32(c);
	ret->tid = (int)cursor_u32(c);
	ret->start = cursor_u64(c);
	ret->size = cursor_u64(c);
	ret->offset = cursor_u64(c);
	if (type == PERF_RECORD_MMAP2)
		decode_mmap2(c, misc, ret);
	ret->text = rest_text(c);
	return ret->text ? 1 : -EINVAL;
}

static int decode_fork(struct cursor *c, __u32 type, struct perf_read *ret)
{
	ret->kind = type == PERF_RECORD_FORK ? PERF_READ_FORK : PERF_READ_EXIT;
	ret->pid = (int)cursor_u32(c);
	ret->parent_pid = (int)cursor_u32(c);
	ret->tid = (int)cursor_u32(c);
	ret->parent_tid = (int)cursor_u32(c);
	return c->ok ? 1 : -EINVAL;
}

static int decode_lost(struct cursor *c, __u32 type, struct perf_read *ret)
{
	ret->kind = PERF_READ_LOST;
	if (type == PERF_RECORD_LOST)
		cursor_u64(c);
	ret->lost = cursor_u64(c);
	return c->ok ? 1 : -EINVAL;
}

int perf_decode(const struct decoder *d, const __u8 *record, size_t size, struct perf_read *ret)
{
	struct perf_event_header header;
	struct cursor c = { record + sizeof(header), record + size, true };

	memcpy(&header, record, sizeof(header));
	*ret = (struct perf_read){ 0 };
	if (header.type == PERF_RECORD_SAMPLE)
		return decode_sample(d, &c, ret);
	if (header.type == PERF_USER_FINISHED_ROUND) {
		ret->kind = PERF_READ_ROUND;
		return 1;
	}
	if (header.type >= PERF_USER_HEADER_ATTR)
		return 0;
	decode_trailer(d, &c, ret);
	switch (header.type) {
	case PERF_RECORD_COMM:
		return decode_comm(&c, header.misc, ret);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return decode_mapping(&c, header.type, header.misc, ret);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return decode_fork(&c, header.type, ret);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return decode_lost(&c, header.type, ret);
	case PERF_RECORD_SWITCH:
		ret->kind = PERF_READ_SWITCH;
		ret->out = header.misc & PERF_RECORD_MISC_SWITCH_OUT;
		return 1;
	default:
		return 0;
	}
}
