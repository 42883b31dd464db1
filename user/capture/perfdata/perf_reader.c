/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_reader.c - finds the records and their descriptions; read_record.c, read_events.c and
 * read_features.c decode them.
 */
#include "capture/perfdata/perf_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/perfdata/compressed.h"
#include "capture/perfdata/read_events.h"
#include "capture/perfdata/read_record.h"
#include "capture/perfdata/read_features.h"
#include "capture/perfdata/read_order.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"

/* The features that we read are texts and numbers. */
#define MAX_FEATURE (1U << 20)
#define MAX_RECORD 65536

struct perf_reader {
	FILE *in;
	bool pipe, takes_all, by_time;
	__u64 left; /* bytes of records left; ~0: up to the end of the file */
	__u64 extra; /* bytes that follow the last record */
	__u64 at; /* of the last record; 0: unknown */
	struct perf_file_header header; /* of a file */
	struct perf_attrs attrs;
	struct perf_read_facts facts;
	struct perf_read_stats stats;
	struct unpacker *unpacker; /* NULL until there is something compressed */
	struct read_order order;
	__u64 record[MAX_RECORD / sizeof(__u64)];
};

void perf_reader__free(struct perf_reader *r)
{
	if (!r)
		return;
	perf_attrs_free(&r->attrs);
	unpacker__free(r->unpacker);
	read_order_free(&r->order);
	free(r);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static int read_all(struct perf_reader *r, void *buf, size_t size)
{
	errno = 0;
	if (fread(buf, 1, size, r->in) == size)
		return 0;
	return ferror(r->in) && errno ? -errno : -ENODATA;
}

static int read_at(struct perf_reader *r, __u64 offset, void *buf, size_t size)
{
	if (offset > 1ULL << 62)
		return -ENODATA;
	if (fseeko(r->in, (off_t)offset, SEEK_SET))
		return -errno;
	return read_all(r, buf, size);
}

static int read_ids(struct perf_reader *r, const struct perf_section *s, unsigned event)
{
	cleanup_free __u64 *ids = NULL;
	int err;

	if (!s->size)
		return 0;
	if (s->size / sizeof(__u64) > PERF_ATTRS_MAX_IDS)
		return -E2BIG;
	ids = malloc(s->size);
	if (!ids)
		return -ENOMEM;
	err = read_at(r, s->offset, ids, s->size);
	for (__u64 i = 0; i < s->size / sizeof(__u64) && !err; i++)
		err = perf_attrs_add_id(&r->attrs, ids[i], event);
	return err;
}

static int read_attrs(struct perf_reader *r, const struct perf_file_header *h)
{
	size_t attr_size = h->attr_size - sizeof(struct perf_section);
	__u64 cnt = h->attrs.size / h->attr_size;
	__u8 buf[4096];
	int err = 0;

	if (!cnt || cnt > PERF_READER_MAX_EVENTS)
		return -EINVAL;
	for (__u64 i = 0; i < cnt && !err; i++) {
		struct perf_section ids;

		err = read_at(r, h->attrs.offset + i * h->attr_size, buf, h->attr_size);
		if (!err)
			err = perf_attrs_add(&r->attrs, buf, attr_size);
		memcpy(&ids, buf + attr_size, sizeof(ids));
		if (!err)
			err = read_ids(r, &ids, (unsigned)i);
	}
	return err;
}

/* ---- features --------------------------------------------------------------------------------- */

/* Unreadable ones are left out, since they are only descriptive. */
static void read_features(struct perf_reader *r, const struct perf_file_header *h)
{
	__u64 table = h->data.offset + h->data.size;

	for (unsigned i = 0; i < PERF_FEATURE_CNT; i++) {
		struct perf_section s;
		cleanup_free __u8 *payload = NULL;
		struct cursor c;

		if (!(h->features[i / 64] & 1ULL << i % 64))
			continue;
		if (read_at(r, table, &s, sizeof(s)))
			return;
		table += sizeof(s);
		if (s.size > MAX_FEATURE || !s.size)
			continue;
		payload = malloc(s.size);
		if (!payload || read_at(r, s.offset, payload, s.size))
			continue;
		c = (struct cursor){ payload, payload + s.size, true };
		perf_description_take(&r->facts, &r->attrs, i, &c);
	}
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int open_file(struct perf_reader *r, const char *name, struct error *err)
{
	struct perf_file_header h;
	int result;

	if (fseeko(r->in, 0, SEEK_SET))
		return error_set(err, EINVAL, EXIT_CODE_OUTPUT,
				 "%s: this layout cannot be read from a pipe; name the file", name);
	if (read_all(r, &h, sizeof(h)))
		return error_set(err, ENODATA, EXIT_CODE_OUTPUT, "%s: ends within its header",
				 name);
	if (h.size < sizeof(h) ||
	    h.attr_size < PERF_ATTRS_LEAST_SIZE + sizeof(struct perf_section) ||
	    h.attr_size > 4096 || h.data.offset < sizeof(h) ||
	    h.data.size > ~0ULL - h.data.offset || h.attrs.offset > ~0ULL >> 1)
		return error_set(err, EINVAL, EXIT_CODE_OUTPUT,
				 "%s: its header is malformed (damaged?)", name);
	result = read_attrs(r, &h);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT,
				 "%s: its list of events cannot be read (damaged?)", name);
	r->header = h;
	r->stats.unfinished = !h.data.size;
	if (h.data.size)
		read_features(r, &h);
	r->left = h.data.size ? h.data.size : ~0ULL;
	if (fseeko(r->in, (off_t)h.data.offset, SEEK_SET))
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", name, strerror(errno));
	return 0;
}

int perf_reader__open(struct perf_reader **ret, FILE *in, const char *name, struct error *err)
{
	struct perf_reader *r = calloc(1, sizeof(*r));
	__u64 start[2];
	int result;

	if (!r)
		return error_set(err, ENOMEM, EXIT_CODE_OUTPUT, "out of memory");
	r->in = in;
	result = read_all(r, start, sizeof(start));
	if (result == -ENODATA || (!result && start[0] != PERF_MAGIC))
		result = error_set(err, EINVAL, EXIT_CODE_OUTPUT, "%s: %s", name,
				   !result && start[0] == PERF_MAGIC_SWAPPED ?
					   "a perf.data from a machine with the other byte order" :
					   "not a perf.data file");
	else if (result)
		result = error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", name,
				   strerror(-result));
	else if (start[1] == PERF_PIPE_HEADER_SIZE) {
		r->pipe = true;
		r->left = ~0ULL;
	} else {
		result = open_file(r, name, err);
	}
	if (result) {
		perf_reader__free(r);
		return result;
	}
	*ret = r;
	return 0;
}

/* ---- records ---------------------------------------------------------------------------------- */

static int take_attr(struct perf_reader *r, const __u8 *body, size_t size)
{
	struct cursor c = { body, body + size, true };
	__u32 attr_size;
	int err;

	if (size < PERF_ATTRS_LEAST_SIZE)
		return -EINVAL;
	memcpy(&attr_size, body + offsetof(struct perf_event_attr, size), sizeof(attr_size));
	if (attr_size < PERF_ATTRS_LEAST_SIZE || attr_size > size)
		return -EINVAL;
	err = perf_attrs_add(&r->attrs, body, attr_size);
	cursor_take(&c, attr_size);
	while (!err && c.end - c.at >= (long)sizeof(__u64))
		err = perf_attrs_add_id(&r->attrs, cursor_u64(&c), r->attrs.cnt - 1);
	return err;
}

/* Records that describe others. Returns 0: it was not one. */
static int take_description(struct perf_reader *r, const __u8 *record, size_t size)
{
	struct cursor c = { record + sizeof(struct perf_event_header), record + size, true };
	struct perf_event_header header;
	__u64 feature;

	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_USER_HEADER_ATTR && r->pipe)
		return take_attr(r, c.at, (size_t)(c.end - c.at)) ? -EINVAL : 1;
	if (header.type != PERF_USER_HEADER_FEATURE)
		return 0;
	feature = cursor_u64(&c);
	if (c.ok && feature < PERF_FEATURE_CNT)
		perf_description_take(&r->facts, &r->attrs, (unsigned)feature, &c);
	return 1;
}

/* Returns 1: r->record holds *ret_size bytes; 0: the end; -errno. */
static int read_record(struct perf_reader *r, size_t *ret_size)
{
	struct perf_event_header header;
	int err;

	if (r->left < sizeof(header))
		return 0;
	r->at = r->pipe || r->left == ~0ULL ? 0 :
					      r->header.data.offset + r->header.data.size - r->left;
	err = read_all(r, &header, sizeof(header));
	if (err == -ENODATA) {
		r->stats.cut = r->left != ~0ULL || (r->unpacker && unpacker__is_torn(r->unpacker));
		return 0;
	}
	if (!err && (header.size < sizeof(header) || header.size > r->left)) {
		/* Nobody knows where the next one begins. */
		r->stats.skipped++;
		r->stats.cut = true;
		return 0;
	}
	memcpy(r->record, &header, sizeof(header));
	if (!err)
		err = read_all(r, (__u8 *)r->record + sizeof(header), header.size - sizeof(header));
	if (err == -ENODATA) {
		r->stats.cut = true;
		return 0;
	}
	if (r->left != ~0ULL)
		r->left -= header.size;
	*ret_size = header.size;
	return err ? err : 1;
}

/* Bytes of data that follow some records. */
static __u64 extra_of(const struct perf_reader *r, __u32 type, size_t size)
{
	const size_t body = size - sizeof(struct perf_event_header);

	if (type == PERF_USER_AUXTRACE && body >= sizeof(__u64))
		return r->record[1];
	if (type == PERF_USER_HEADER_TRACING_DATA && r->pipe && body >= sizeof(__u32))
		return (__u32)r->record[1];
	return 0;
}

ssize_t perf_reader__extra(struct perf_reader *r, void *buf, size_t size)
{
	int err;

	size = size < r->extra ? size : r->extra;
	if (!size)
		return 0;
	err = r->left < size ? -ENODATA : read_all(r, buf, size);
	if (err)
		return err;
	if (r->left != ~0ULL)
		r->left -= size;
	r->extra -= size;
	return (ssize_t)size;
}

/* Returns 1; 0: the file ends before; -errno. */
static int skip_extra(struct perf_reader *r)
{
	char buf[4096];
	ssize_t n;

	while ((n = perf_reader__extra(r, buf, sizeof(buf))) > 0)
		;
	if (n != -ENODATA)
		return n ? (int)n : 1;
	r->stats.cut = true;
	return 0;
}

void perf_reader__take_all(struct perf_reader *r)
{
	r->takes_all = true;
}

const struct perf_file_header *perf_reader__header(const struct perf_reader *r)
{
	return r->pipe ? NULL : &r->header;
}

/* Returns 1: the record has been taken; 0: it is too short; -ENOMEM. */
static int take_compressed(struct perf_reader *r, __u32 type, size_t size)
{
	const __u64 declared = r->facts.expands_to;
	const __u8 *data = (const __u8 *)r->record;
	size_t start = sizeof(struct perf_event_header), has = size - start;

	if (type == PERF_USER_COMPRESSED2) {
		/* Its size without the padding comes first. */
		if (has < sizeof(__u64) || r->record[1] > has - sizeof(__u64))
			return 0;
		start += sizeof(__u64);
		has = r->record[1];
	}
	if (!r->unpacker && unpacker__new(&r->unpacker))
		return -ENOMEM;
	unpacker__feed(r->unpacker, data + start, has,
		       declared && declared < PERF_READER_EXPANDS_TO ? declared :
								       PERF_READER_EXPANDS_TO);
	return 1;
}

/* Returns 1: *ret is the next record, of the file or from a compressed one; 0: the end; -errno. */
static int next_record(struct perf_reader *r, const __u8 **ret, size_t *ret_size)
{
	int result = r->unpacker ? unpacker__next(r->unpacker, ret, ret_size) : 0;

	if (result < 0) {
		/* What follows depends on it. */
		r->stats.skipped++;
		r->stats.cut = true;
		return 0;
	}
	if (result)
		return 1;
	*ret = (const __u8 *)r->record;
	return read_record(r, ret_size);
}

/*
 * Returns 1: *ret is filled; 0: it is nothing for the caller. packed: it was in a compressed record, which what
 * precedes other data never is.
 */
static int take_record(struct perf_reader *r, const __u8 *record, size_t size, bool packed,
		       struct perf_read *ret)
{
	const struct decoder decoder = { r->attrs.events, r->attrs.cnt ? r->attrs.cnt : 1,
					 perf_attrs_by_id, &r->attrs };
	__u32 type;
	int result;

	memcpy(&type, record, sizeof(type));
	r->extra = packed ? 0 : extra_of(r, type, size);
	result = take_description(r, record, size);
	if (result > 0 || r->extra) {
		*ret = (struct perf_read){ .kind = PERF_READ_OTHER };
		result = r->takes_all;
	} else if (!result) {
		result = perf_decode(&decoder, record, size, ret);
		if (!result)
			ret->kind = PERF_READ_OTHER;
		result = result < 0 ? result : 1;
	}
	if (result < 0 && r->takes_all) {
		*ret = (struct perf_read){ .kind = PERF_READ_OTHER };
		result = 1;
	}
	r->stats.skipped += result < 0;
	ret->raw = record;
	ret->raw_size = size;
	ret->extra = r->extra;
	return result > 0;
}

/* Says something about the bytes that follow it in the file, or holds records. */
static bool is_outer(__u32 type)
{
	return type == PERF_USER_COMPRESSED || type == PERF_USER_COMPRESSED2 ||
	       type == PERF_USER_AUXTRACE || type == PERF_USER_HEADER_TRACING_DATA;
}

static int next_in_file(struct perf_reader *r, struct perf_read *ret)
{
	const __u8 *record;
	size_t size;
	__u32 type;

	for (;;) {
		int result = r->extra ? skip_extra(r) : 1;
		bool packed;

		if (result > 0)
			result = next_record(r, &record, &size);
		if (result <= 0)
			return result;
		packed = record != (const __u8 *)r->record;
		memcpy(&type, record, sizeof(type));
		/* Nobody compresses these, and in a copy they would mean what follows them. */
		if (packed && is_outer(type)) {
			r->stats.records++;
			r->stats.skipped++;
			continue;
		}
		if (type == PERF_USER_COMPRESSED || type == PERF_USER_COMPRESSED2) {
			result = take_compressed(r, type, size);
			if (result < 0)
				return result;
			r->stats.skipped += !result;
			continue;
		}
		r->stats.records++;
		if (take_record(r, record, size, packed, ret)) {
			ret->at = packed ? 0 : r->at;
			return 1;
		}
	}
}

void perf_reader__by_time(struct perf_reader *r)
{
	r->by_time = true;
}

/*
 * krait's own records are in the order in which they mean something, also in a file that it has not finished: it has a
 * size and no features, as no file of perf's. Those without a time (0; perf: ~0) are of all times.
 */
static bool has_to_wait(const struct perf_reader *r, const struct perf_read *read)
{
	const struct perf_file_header *h = &r->header;
	const bool unfinished = !r->pipe && h->data.size && !(h->features[0] | h->features[1]);

	return !unfinished && read->time_ns + 1 > 1 && read->kind != PERF_READ_OTHER &&
	       strncmp(r->facts.version, "krait", 5) != 0;
}

int perf_reader__next(struct perf_reader *r, struct perf_read *ret)
{
	for (;;) {
		size_t size;
		const __u8 *record = read_order_take(&r->order, &size);
		int result;

		if (record && take_record(r, record, size, true, ret))
			return 1;
		if (record)
			continue;
		if (r->order.ended)
			return 0;
		result = next_in_file(r, ret);
		if (!r->by_time || result < 0 || (!result && !r->order.cnt))
			return result;
		if (!result)
			read_order_end(&r->order);
		else if (ret->kind == PERF_READ_ROUND)
			read_order_round(&r->order);
		else if (!has_to_wait(r, ret))
			return 1;
		else if (read_order_put(&r->order, ret->raw, ret->raw_size, ret->time_ns))
			return -ENOMEM;
	}
}

const struct perf_read_event *perf_reader__events(const struct perf_reader *r, unsigned *ret_cnt)
{
	*ret_cnt = r->attrs.cnt;
	return r->attrs.events;
}

const struct perf_read_facts *perf_reader__facts(const struct perf_reader *r)
{
	return &r->facts;
}

const struct perf_read_stats *perf_reader__stats(const struct perf_reader *r)
{
	return &r->stats;
}

struct event_spec perf_read_event_spec(const struct perf_read_event *e)
{
	struct event_spec spec = {
		.type = e->type,
		.config = e->config,
		.frequency = e->is_frequency ? e->value : 0,
		.period = e->is_frequency ? 0 : e->value,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.precise = e->precise,
		.joined = e->joined,
	};

	snprintf(spec.name, sizeof(spec.name), "%s", e->name);
	return spec;
}
