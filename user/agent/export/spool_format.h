/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_format.h - the bytes of a segment and of the file of cursors, written and checked.
 *
 * In the machine's byte order, because a spool stays on its machine. A segment is a
 * spool_segment_header and records, each at a multiple of 8: a spool_record_header, the query, the
 * body, zeroes.
 *
 * Must hold: nothing is believed unless its checksum covers it.
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_FORMAT_H
#define KRAIT_AGENT_EXPORT_SPOOL_FORMAT_H

#include <linux/types.h>
#include <stdbool.h>

#include "agent/export/spool.h"

#define SPOOL_MAGIC "KRAITSP1"

struct spool_segment_header {
	char magic[8];
	__u64 number; /* orders the segments */
	__u64 mark;
	__u32 crc; /* of everything before it */
	__u32 pad;
};

struct spool_record_header {
	__u64 mark; /* its segment's */
	__u32 header_crc; /* from body_crc to the end */
	__u32 body_crc; /* of query and body */
	__u64 seq;
	__u8 id[EXPORT_ID_SIZE];
	__u64 from_unix_ns, to_unix_ns, samples;
	__u32 body_len, raw_len;
	__u16 query_len;
	__u8 kind, gzip;
	__u32 pad;
};

struct spool_cursor_slot {
	__u64 key, next_seq, generation;
	__u32 crc;
	__u32 pad;
};

_Static_assert(sizeof(struct spool_segment_header) == 32, "spool format");
_Static_assert(sizeof(struct spool_record_header) == 80, "spool format");
_Static_assert(sizeof(struct spool_cursor_slot) == 32, "spool format");

/* For a record with that header. */
__u32 spool_record_size(const struct spool_record_header *h);

void spool_segment_seal(struct spool_segment_header *h);
bool spool_segment_is_good(const struct spool_segment_header *h);
/* Includes the body's crc. */
void spool_record_seal(struct spool_record_header *h, const char *query, const void *body);
bool spool_record_is_good(const struct spool_record_header *h, __u64 mark);
bool spool_body_is_good(const struct spool_record_header *h, const void *query_and_body);
void spool_slot_seal(struct spool_cursor_slot *slot);
bool spool_slot_is_good(const struct spool_cursor_slot *slot);

/* Reads or writes all of it. Returns 0 or -errno; a short result is -EIO, or -ENOSPC when writing. */
int spool_pread(int fd, void *buf, size_t len, __u64 at) __attribute__((warn_unused_result));
int spool_pwrite(int fd, const void *buf, size_t len, __u64 at) __attribute__((warn_unused_result));

#endif /* KRAIT_AGENT_EXPORT_SPOOL_FORMAT_H */
