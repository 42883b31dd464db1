/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.h - batches waiting to be sent, in files that outlive their writer.
 *
 * There are two groups of segments, each segment a file: on disk and in memory (memfd). A record
 * goes to disk; if that fails (full, or broken) or there is none, to memory. Records are numbered
 * in order of arrival, over both groups. When a group is full, its oldest segment is dropped. A
 * cursor says which record is next for one destination, and is kept in a separate file.
 *
 * A segment begins with a header that has a random mark; each record begins with the mark, so that
 * no body can be mistaken for a record. Header and body each have a crc32. What a crash has left
 * half written at the end is cut off; a corrupt header is skipped up to the next good one; a
 * corrupt body is left out when it is read.
 *
 * Power cuts: spool__sync() (fdatasync) limits the loss; otherwise the kernel writes after about 30
 * s. If the worker is killed, nothing is lost that spool__append() has accepted. Cursors are not
 * synced: a batch that is sent twice has the same id.
 *
 * Must hold: a group never exceeds its limit. Descriptors are all that is needed; no file is opened
 * or removed.
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_H
#define KRAIT_AGENT_EXPORT_SPOOL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/export/exporter.h"

struct spool;

#define SPOOL_SEGMENTS 32U
#define SPOOL_CURSORS_MAX 16U

/* Open for reading and writing; borrowed. */
struct spool_files {
	int disk[SPOOL_SEGMENTS]; /* all -1: none */
	int memory[SPOOL_SEGMENTS];
	int cursors;
	__u64 disk_limit, memory_limit;
};

struct spool_batch {
	struct export_batch batch; /* body as stored */
	__u32 raw_len; /* length of the uncompressed body */
	bool gzip; /* the body is compressed */
};

/* A record, until it is dropped or done. */
struct spool_entry {
	__u64 seq;
	__u64 from_unix_ns, samples;
	__u64 offset; /* in its segment */
	__u32 len; /* with its header */
	__u16 segment;
	__u16 kind;
};

struct spool_cursor {
	__u64 key;
	__u64 next_seq;
	__u64 generation;
	bool in_use; /* belongs to a destination: keep what it has not been sent */
	enum export_kind kind;
	__u64 pending, pending_samples, pending_bytes;
	__u64 dropped, dropped_samples; /* before they could be sent */
};

struct spool_counts {
	__u64 bytes, memory_bytes; /* in both groups together, and in memory */
	__u64 torn, spoilt; /* pieces cut off the end; records and pieces skipped */
	__u64 errors; /* failed writes */
	bool disk_full; /* the last record went to memory because the disk is full */
};

/* Reads what is there. NULL: out of memory. */
struct spool *spool__open(const struct spool_files *files)
	__attribute__((warn_unused_result, nonnull));
/* Syncs and closes. NULL: does nothing. */
void spool__close(struct spool *s);

/*
 * The cursor of a destination, by a key that never changes. A new cursor takes over the slowest one
 * that no destination uses any longer (the destination has moved); otherwise it begins after the
 * last record, or before the first if no cursor exists. Call for each destination, with all keys,
 * before anything is appended. -ENOSPC: too many.
 */
int spool__cursor(struct spool *s, __u64 key, enum export_kind kind, const __u64 *all_keys,
		  unsigned key_cnt) __attribute__((warn_unused_result, nonnull));
const struct spool_cursor *spool__cursor_at(const struct spool *s, int cursor)
	__attribute__((nonnull));

/*
 * Returns 0 also if a recent batch has the same id: it is the same batch. -ENOSPC: larger than the
 * group, or neither group could be written: counted as dropped for each cursor of its kind.
 */
int spool__append(struct spool *s, const struct spool_batch *b) __attribute__((nonnull));

/* The part of what is pending that is lost when krait ends. */
void spool__in_memory(const struct spool *s, int cursor, __u64 *ret_batches, __u64 *ret_samples)
	__attribute__((nonnull));

/* The next record for a cursor, or NULL. Valid until the spool changes. */
const struct spool_entry *spool__next(const struct spool *s, int cursor) __attribute__((nonnull));

/*
 * Reads into *ret; its pointers point into *buffer, which is malloc'ed. -EBADMSG: corrupt; the
 * caller must call spool__spoilt(). -ENOMEM: try later.
 */
int spool__read(struct spool *s, const struct spool_entry *e, struct spool_batch *ret,
		void **buffer) __attribute__((warn_unused_result, nonnull));

/*
 * The record was delivered, or rejected: advances the cursor. The record may have been dropped
 * meanwhile.
 */
void spool__done(struct spool *s, int cursor, const struct spool_entry *e) __attribute__((nonnull));
/* It cannot be read: dropped for that cursor. */
void spool__spoilt(struct spool *s, int cursor, const struct spool_entry *e)
	__attribute__((nonnull));

/* Writes everything appended since the last call to disk. */
void spool__sync(struct spool *s) __attribute__((nonnull));
void spool__counts(const struct spool *s, struct spool_counts *ret) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_SPOOL_H */
