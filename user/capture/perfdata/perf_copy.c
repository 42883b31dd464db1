/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/perfdata/perf_copy.h"
#include "capture/perfdata/compressed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/bytes.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/stream.h"
#include "base/data/vec.h"

/* What precedes the records: 128 events, each with an id for each of 4,096 CPUs, take 4 MiB. */
#define FRONT_MAX (64U << 20)
/* Of a list that is edited: build IDs, the index of trace data. Others are copied in pieces. */
#define LIST_MAX (64U << 20)

/* Where trace data was and is. */
struct moved {
	__u64 from, to;
};

struct copy {
	FILE *in, *out;
	const struct perf_copy_editor *editor;
	struct perf_reader *reader;
	struct packer *packer; /* NULL: nothing is compressed */
	bool announced; /* readers know that something is */
	__u64 written; /* bytes of records, but for what the packer has given */
	struct moved *moved; /* in the file's order */
	unsigned moved_cnt, moved_cap;
	struct bytes record; /* an edited one */
	struct bytes announcement;
};

static int put(struct copy *c, const void *data, size_t size)
{
	errno = 0;
	return fwrite_unlocked(data, 1, size, c->out) == size ? 0 : stream_cause();
}

/* Of all records that went to *out. */
static __u64 records_size(const struct copy *c)
{
	return c->written + (c->packer ? packer__given(c->packer) : 0);
}

static int flush_packer(struct copy *c)
{
	return c->packer ? packer__flush(c->packer, c->out) : 0;
}

/* The payload of the feature. */
static void put_compression(const struct copy *c, struct bytes *to, __u32 ratio)
{
	bytes_u32(to, 0);
	bytes_u32(to, PERF_COMPRESSED_ZSTD);
	bytes_u32(to, (__u32)c->editor->compression);
	bytes_u32(to, ratio);
	bytes_u32(to, COMPRESSED_EXPANDS_TO);
}

/* As in a recording's file: the feature also precedes what depends on it. */
static int announce(struct copy *c)
{
	struct bytes *b = &c->announcement;

	c->announced = true;
	bytes_u32(b, PERF_USER_HEADER_FEATURE);
	bytes_u32(b, 0);
	bytes_u64(b, PERF_FEATURE_COMPRESSED);
	put_compression(c, b, 0);
	bytes_align(b, 8);
	if (b->failed)
		return -ENOMEM;
	bytes_patch_u16(b, offsetof(struct perf_event_header, size), (__u16)b->len);
	c->written += b->len;
	return put(c, b->data, b->len);
}

/* What describes the file, or precedes other data, is never compressed. */
static int put_record(struct copy *c, const void *data, size_t size)
{
	__u32 type;
	int err = 0;

	memcpy(&type, data, sizeof(type));
	if (c->packer && type < PERF_USER_HEADER_ATTR) {
		if (!c->announced)
			err = announce(c);
		if (!err)
			err = packer__reserve(c->packer, c->out, size);
		return err ? err : packer__put(c->packer, c->out, data, size);
	}
	err = flush_packer(c);
	c->written += size;
	return err ? err : put(c, data, size);
}

static int get_at(struct copy *c, __u64 offset, void *data, size_t size)
{
	if (offset > 1ULL << 62 || fseeko(c->in, (off_t)offset, SEEK_SET))
		return -EINVAL;
	errno = 0;
	if (fread(data, 1, size, c->in) == size)
		return 0;
	return ferror(c->in) ? stream_cause() : -ENODATA;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* A mapping with another path: what is before and behind it stays. */
static int put_renamed(struct copy *c, const struct perf_read *r, const char *path)
{
	const __u8 *raw = r->raw;
	const size_t at = (size_t)((const __u8 *)r->text - raw);
	const size_t behind = at + (strlen(r->text) + 8) / 8 * 8;
	struct bytes *b = &c->record;

	if (behind > r->raw_size || at % 8)
		return put_record(c, raw, r->raw_size);
	b->len = 0;
	bytes_put(b, raw, at);
	bytes_text(b, path);
	bytes_align(b, 8);
	bytes_put(b, raw + behind, r->raw_size - behind);
	if (b->failed)
		return -ENOMEM;
	if (b->len > 0xfff8)
		return put_record(c, raw, r->raw_size);
	bytes_patch_u16(b, offsetof(struct perf_event_header, size), (__u16)b->len);
	return put_record(c, b->data, b->len);
}

static const char *new_path(const struct copy *c, const char *path, const __u8 *build_id,
			    unsigned build_id_size)
{
	return c->editor->rename ?
		       c->editor->rename(c->editor->ctx, path, build_id, build_id_size) :
		       NULL;
}

static int put_extra(struct copy *c)
{
	char buf[65536];
	ssize_t n;

	while ((n = perf_reader__extra(c->reader, buf, sizeof(buf))) > 0) {
		int err = put(c, buf, (size_t)n);

		if (err)
			return err;
		c->written += (size_t)n;
	}
	/* A file that ends there: the reader says so at the next record. */
	return n == -ENODATA ? 0 : (int)n;
}

/* Several records, as the editor has put them together. */
static int put_records(struct copy *c, const struct bytes *b)
{
	int err = b->failed ? -ENOMEM : 0;

	for (size_t at = 0; at < b->len && !err;) {
		struct perf_event_header header;

		memcpy(&header, b->data + at, sizeof(header));
		err = put_record(c, b->data + at, header.size);
		at += header.size;
	}
	return err;
}

/* Returns 1: the record is replaced; 0; -errno. */
static int edit(struct copy *c, const struct perf_read *r)
{
	int result;

	if (!c->editor->edit || r->extra)
		return 0;
	c->record.len = 0;
	result = c->editor->edit(c->editor->ctx, c->reader, r, &c->record);
	if (result <= 0)
		return result;
	result = put_records(c, &c->record);
	return result ? result : 1;
}

/* In a copy nothing is compressed. */
static bool is_dropped(const struct perf_read *r)
{
	__u32 type;
	__u64 feature;

	memcpy(&type, r->raw, sizeof(type));
	if (type != PERF_USER_HEADER_FEATURE ||
	    r->raw_size < sizeof(struct perf_event_header) + sizeof(feature))
		return false;
	memcpy(&feature, (const __u8 *)r->raw + sizeof(struct perf_event_header), sizeof(feature));
	return feature == PERF_FEATURE_COMPRESSED;
}

static int note_moved(struct copy *c, const struct perf_read *r, __u64 data_offset)
{
	if (vec_reserve(c->moved, c->moved_cap, c->moved_cnt + 1))
		return -ENOMEM;
	c->moved[c->moved_cnt++] = (struct moved){ r->at, data_offset + records_size(c) };
	return 0;
}

static int copy_record(struct copy *c, const struct perf_read *r, __u64 data_offset)
{
	const char *path = r->kind == PERF_READ_MAPPING && !r->in_kernel ?
				   new_path(c, r->text, r->build_id, r->build_id_size) :
				   NULL;
	int err = 0;

	if (r->extra)
		err = flush_packer(c);
	if (!err && r->extra && r->at)
		err = note_moved(c, r, data_offset);
	if (!err)
		err = path ? put_renamed(c, r, path) : put_record(c, r->raw, r->raw_size);
	return err || !r->extra ? err : put_extra(c);
}

static int copy_records(struct copy *c, __u64 data_offset)
{
	struct perf_read r;
	int result, err = 0;

	perf_reader__take_all(c->reader);
	while (err >= 0 && (result = perf_reader__next(c->reader, &r)) > 0) {
		if (is_dropped(&r))
			continue;
		err = edit(c, &r);
		if (!err)
			err = copy_record(c, &r, data_offset);
	}
	if (err >= 0)
		err = result;
	return err ? err : flush_packer(c);
}

/* ---- features --------------------------------------------------------------------------------- */

/* Entries of variable length: a header, pid, build ID in 24 bytes, path. */
#define BUILD_ID_AT (sizeof(struct perf_event_header) + sizeof(__s32))
#define BUILD_ID_PATH_AT (BUILD_ID_AT + 24)

static void put_build_ids(struct copy *c, struct bytes *to, const __u8 *data, size_t size)
{
	while (size) {
		const __u8 *id = data + BUILD_ID_AT;
		struct perf_event_header header;
		const char *path = NULL;
		size_t start = to->len;

		if (size < sizeof(header))
			break;
		memcpy(&header, data, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			break;
		if (header.size > BUILD_ID_PATH_AT &&
		    memchr(data + BUILD_ID_PATH_AT, 0, header.size - BUILD_ID_PATH_AT))
			path = new_path(c, (const char *)data + BUILD_ID_PATH_AT, id,
					id[20] && id[20] <= 20 ? id[20] : 20);
		if (path && strlen(path) < 4096) {
			bytes_put(to, data, BUILD_ID_PATH_AT);
			bytes_text(to, path);
			bytes_align(to, 8);
			bytes_patch_u16(to, start + offsetof(struct perf_event_header, size),
					(__u16)(to->len - start));
		} else {
			bytes_put(to, data, header.size);
		}
		data += header.size;
		size -= header.size;
	}
	bytes_put(to, data, size);
}

/* A number, and for each piece of trace data its offset and size. */
static void put_trace_index(struct copy *c, struct bytes *to, const __u8 *data, size_t size)
{
	unsigned next = 0;

	bytes_put(to, data, size);
	for (size_t at = sizeof(__u64); at + 16 <= size && !to->failed; at += 16) {
		__u64 from;

		memcpy(&from, to->data + at, sizeof(from));
		while (next < c->moved_cnt && c->moved[next].from < from)
			next++;
		if (next < c->moved_cnt && c->moved[next].from == from)
			memcpy(to->data + at, &c->moved[next].to, sizeof(__u64));
	}
}

/* Appends one that must be edited. */
static int put_list(struct copy *c, struct bytes *to, unsigned feature,
		    const struct perf_section *from)
{
	cleanup_free __u8 *data = NULL;
	int err;

	if (from->size > LIST_MAX)
		return -E2BIG;
	data = malloc(from->size + 1);
	if (!data)
		return -ENOMEM;
	err = get_at(c, from->offset, data, from->size);
	if (err)
		return err;
	if (feature == PERF_FEATURE_BUILD_ID) {
		put_build_ids(c, to, data, from->size);
		if (c->editor->add_build_ids)
			c->editor->add_build_ids(c->editor->ctx, to);
	} else {
		put_trace_index(c, to, data, from->size);
	}
	return to->failed ? -ENOMEM : 0;
}

static int copy_bytes(struct copy *c, __u64 offset, __u64 size)
{
	char buf[65536];
	int err = 0;

	while (size && !err) {
		size_t step = size < sizeof(buf) ? size : sizeof(buf);

		err = get_at(c, offset, buf, step);
		if (!err)
			err = put(c, buf, step);
		offset += step;
		size -= step;
	}
	return err;
}

#define FEATURES 256

struct feature {
	unsigned number;
	struct perf_section from;
	struct bytes edited; /* empty: it is copied */
};

struct features {
	struct feature list[FEATURES];
	unsigned cnt;
};

static void cleanup_features_(struct features *f)
{
	for (unsigned i = 0; i < f->cnt; i++)
		bytes_free(&f->list[i].edited);
}

static __u32 ratio_of(const struct copy *c)
{
	const __u64 given = packer__given(c->packer);

	return given ? (__u32)((packer__taken(c->packer) + given / 2) / given) : 0;
}

/* Which there are, with those that are edited. */
static int list_features(struct copy *c, struct features *f, const struct perf_file_header *h)
{
	__u64 table = h->data.offset + h->data.size;
	int err = 0;

	for (unsigned i = 0; i < FEATURES && !err && h->data.size; i++) {
		struct feature *new = &f->list[f->cnt];
		const bool has = h->features[i / 64] & 1ULL << i % 64;

		*new = (struct feature){ .number = i };
		if (has)
			err = get_at(c, table, &new->from, sizeof(new->from));
		table += has ? sizeof(new->from) : 0;
		if (err || !(i == PERF_FEATURE_COMPRESSED ? c->announced : has))
			continue;
		f->cnt++;
		if (i == PERF_FEATURE_COMPRESSED)
			put_compression(c, &new->edited, ratio_of(c));
		else if (i == PERF_FEATURE_BUILD_ID || i == PERF_FEATURE_AUXTRACE)
			err = put_list(c, &new->edited, i, &new->from);
	}
	/* A file that was cut off has no readable end. */
	if (err == -ENODATA && !f->cnt)
		return 0;
	return err;
}

static int write_features(struct copy *c, struct features *f, __u64 at)
{
	int err = 0;

	at += f->cnt * sizeof(struct perf_section);
	for (unsigned i = 0; i < f->cnt && !err; i++) {
		const struct feature *x = &f->list[i];
		const struct perf_section to = { at, x->edited.len ? x->edited.len : x->from.size };

		err = put(c, &to, sizeof(to));
		at += to.size;
	}
	for (unsigned i = 0; i < f->cnt && !err; i++) {
		const struct feature *x = &f->list[i];

		err = x->edited.len ? put(c, x->edited.data, x->edited.len) :
				      copy_bytes(c, x->from.offset, x->from.size);
	}
	return err;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static bool is_in_front(const struct perf_file_header *h, const struct perf_section *s)
{
	return s->offset <= h->data.offset && s->size <= h->data.offset - s->offset;
}

/* Everything that the header refers to, but for data and features, precedes the records. */
static bool has_usual_layout(struct copy *c, const struct perf_file_header *h)
{
	if (h->data.offset > FRONT_MAX || !is_in_front(h, &h->attrs))
		return false;
	for (__u64 end = h->attr_size; end <= h->attrs.size; end += h->attr_size) {
		struct perf_section ids;

		if (get_at(c, h->attrs.offset + end - sizeof(ids), &ids, sizeof(ids)) ||
		    (ids.size && !is_in_front(h, &ids)))
			return false;
	}
	return true;
}

static int copy_file(struct copy *c, const struct perf_file_header *in)
{
	cleanup_free struct features *f = calloc(1, sizeof(*f));
	struct perf_file_header out = *in;
	int err = f ? 0 : -ENOMEM;

	if (!err)
		err = copy_bytes(c, 0, in->data.offset);
	if (!err && fseeko(c->in, (off_t)in->data.offset, SEEK_SET))
		err = -errno;
	if (!err)
		err = copy_records(c, in->data.offset);
	/* Without records the size in the header would mean that there is no end. */
	if (!err && !perf_reader__stats(c->reader)->cut && records_size(c))
		err = list_features(c, f, in);
	if (!err)
		err = write_features(c, f, in->data.offset + records_size(c));
	out.data.size = records_size(c);
	memset(out.features, 0, sizeof(out.features));
	for (unsigned i = 0; f && i < f->cnt; i++)
		out.features[f->list[i].number / 64] |= 1ULL << f->list[i].number % 64;
	if (f)
		cleanup_features_(f);
	errno = 0;
	if (!err && (fflush(c->out) || pwrite(fileno(c->out), &out, sizeof(out), 0) != sizeof(out)))
		err = stream_cause();
	return err;
}

static int copy_pipe(struct copy *c)
{
	const __u64 front[] = { PERF_MAGIC, PERF_PIPE_HEADER_SIZE };
	int err = put(c, front, sizeof(front));

	if (!err)
		err = copy_records(c, 0);
	errno = 0;
	return err ? err : fflush(c->out) ? stream_cause() : 0;
}

static int copy_all(struct copy *c, const char *name, struct error *err)
{
	const struct perf_file_header *header = perf_reader__header(c->reader);
	struct stat st;
	int result;

	if (header && (fstat(fileno(c->out), &st) || !S_ISREG(st.st_mode)))
		return error_set(err, ESPIPE, EXIT_CODE_USAGE,
				 "%s: a copy of it cannot go into a pipe; name a file", name);
	if (header && !has_usual_layout(c, header))
		return error_set(err, EINVAL, EXIT_CODE_OUTPUT,
				 "%s: its header is malformed (damaged?)", name);
	result = header ? copy_file(c, header) : copy_pipe(c);
	return result ? error_set(err, -result, EXIT_CODE_OUTPUT,
				  ferror(c->out) ? "cannot write what is made of %s: %s" : "%s: %s",
				  name, strerror(-result)) :
			0;
}

int perf_copy(FILE *out, FILE *in, const char *name, const struct perf_copy_editor *editor,
	      struct perf_read_stats *ret_stats, struct error *err)
{
	struct copy c = { .in = in, .out = out, .editor = editor };
	int result = perf_reader__open(&c.reader, in, name, err);

	if (result)
		return result;
	if (editor->compression && packer__new(&c.packer, editor->compression))
		result = error_set(err, ENOMEM, EXIT_CODE_OUTPUT, "out of memory");
	else
		result = copy_all(&c, name, err);
	*ret_stats = *perf_reader__stats(c.reader);
	packer__free(c.packer);
	bytes_free(&c.announcement);
	perf_reader__free(c.reader);
	bytes_free(&c.record);
	free(c.moved);
	return result;
}
