/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/spool_format.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static __u32 crc_of(const void *data, size_t len)
{
	return (__u32)crc32_z(crc32_z(0, NULL, 0), data, len);
}

__u32 spool_record_size(const struct spool_record_header *h)
{
	return (__u32)((sizeof(*h) + h->query_len + h->body_len + 7) & ~7UL);
}

/* ---- seals ------------------------------------------------------------------------------------- */

void spool_segment_seal(struct spool_segment_header *h)
{
	memcpy(h->magic, SPOOL_MAGIC, sizeof(h->magic));
	h->pad = 0;
	h->crc = crc_of(h, offsetof(struct spool_segment_header, crc));
}

bool spool_segment_is_good(const struct spool_segment_header *h)
{
	return !memcmp(h->magic, SPOOL_MAGIC, sizeof(h->magic)) &&
	       h->crc == crc_of(h, offsetof(struct spool_segment_header, crc));
}

static __u32 header_crc(const struct spool_record_header *h)
{
	size_t from = offsetof(struct spool_record_header, body_crc);

	return crc_of((const char *)h + from, sizeof(*h) - from);
}

void spool_record_seal(struct spool_record_header *h, const char *query, const void *body)
{
	__u32 crc = crc_of(query, h->query_len);

	h->pad = 0;
	h->body_crc = (__u32)crc32_z(crc, body, h->body_len);
	h->header_crc = header_crc(h);
}

bool spool_record_is_good(const struct spool_record_header *h, __u64 mark)
{
	return h->mark == mark && h->header_crc == header_crc(h) && h->seq &&
	       h->kind < EXPORT_KIND_CNT && h->query_len <= EXPORT_QUERY_MAX &&
	       h->raw_len <= EXPORT_BODY_MAX && h->body_len <= EXPORT_BODY_MAX + 4096;
}

bool spool_body_is_good(const struct spool_record_header *h, const void *query_and_body)
{
	return h->body_crc == crc_of(query_and_body, (size_t)h->query_len + h->body_len);
}

void spool_slot_seal(struct spool_cursor_slot *slot)
{
	slot->pad = 0;
	slot->crc = crc_of(slot, offsetof(struct spool_cursor_slot, crc));
}

bool spool_slot_is_good(const struct spool_cursor_slot *slot)
{
	return slot->key && slot->crc == crc_of(slot, offsetof(struct spool_cursor_slot, crc));
}

/* ---- files ------------------------------------------------------------------------------------- */

int spool_pread(int fd, void *buf, size_t len, __u64 at)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (char *)buf + n;
		len -= (size_t)n;
		at += (__u64)n;
	}
	return 0;
}

int spool_pwrite(int fd, const void *buf, size_t len, __u64 at)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		buf = (const char *)buf + n;
		len -= (size_t)n;
		at += (__u64)n;
	}
	return 0;
}
