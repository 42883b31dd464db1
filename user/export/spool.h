/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.h - batches that wait to be sent, in files that outlive whoever writes them.
 *
 * Two groups of segments, each a file: those on a disk and those in memory (memfd). A record goes to
 * the disk; where that fails (it is full, or broken) or where there is none, to memory. Records are numbered in the
 * order in which they come, over both groups. When a group is full, its oldest segment is dropped. A cursor
 * says for one destination which record is next, and lives in a file of its own.
 *
 * A segment begins with a header and a random mark; each record begins with the mark, so that no body can
 * be taken for a record. Header and body have a crc32 each. What a crash has left half written at the
 * end is cut; a spoilt header is skipped up to the next good one; a spoilt body is left out when it is read.
 *
 * Power cuts: spool__sync() (fdatasync); without it the kernel's own time, about 30 s. A kill loses nothing that
 * spool__append() has taken. Cursors are not synced: what is sent twice has the same id.
 *
 * Must hold: no more bytes in a group than its limit. Descriptors are all that is needed; no file is
 * opened, none is removed.
 */
#ifndef KRAIT_EXPORT_SPOOL_H
#define KRAIT_EXPORT_SPOOL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "export/exporter.h"

struct spool;

#define SPOOL_SEGMENTS 32U
#define SPOOL_CURSORS_MAX 16U

/* Open for reading and writing; borrowed. */
struct spool_files {
	int disk[SPOOL_SEGMENTS]; /* all -1: there is none */
	int memory[SPOOL_SEGMENTS];
	int cursors;
	__u64 disk_limit, memory_limit;
};

struct spool_batch {
	struct export_batch batch; /* body as it is stored */
	__u32 raw_len; /* of the body when it is not compressed */
	bool gzip; /* it is */
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
	bool in_use; /* some destination's: what it has not been sent is kept */
	enum export_kind kind;
	__u64 pending, pending_samples, pending_bytes;
	__u64 dropped, dropped_samples; /* before they could be sent */
};

struct spool_counts {
	__u64 bytes, memory_bytes; /* in both groups, in memory */
	__u64 torn, spoilt; /* pieces cut off the end; records and pieces left out */
	__u64 errors; /* of writing */
	bool disk_full; /* the last record went to memory for want of disk */
};

/* Reads what is there. NULL: out of memory. */
struct spool *spool__open(const struct spool_files *files)
	__attribute__((warn_unused_result, nonnull));
/* With a sync. NULL: nothing. */
void spool__close(struct spool *s);

/*
 * The cursor of a destination, by a key that stays the same. One that is new takes over the slowest of those that nobody
 * asks for any longer (the destination has moved), else it begins behind the last record, or where no cursor is known before the
 * first. To be called for each destination, with all keys, before anything is appended. -ENOSPC: too many.
 */
int spool__cursor(struct spool *s, __u64 key, enum export_kind kind, const __u64 *all_keys,
		  unsigned key_cnt) __attribute__((warn_unused_result, nonnull));
const struct spool_cursor *spool__cursor_at(const struct spool *s, int cursor)
	__attribute__((nonnull));

/*
 * 0 also where a batch of that id was among the last ones: it is the same one. -ENOSPC: larger than the group, or neither
 * group could be written: counted as dropped for each cursor of its kind.
 */
int spool__append(struct spool *s, const struct spool_batch *b) __attribute__((nonnull));

/* Of what is pending, that which goes with krait's end. */
void spool__in_memory(const struct spool *s, int cursor, __u64 *ret_batches, __u64 *ret_samples)
	__attribute__((nonnull));

/* The next record for a cursor, or NULL. Good until the spool changes. */
const struct spool_entry *spool__next(const struct spool *s, int cursor) __attribute__((nonnull));

/*
 * Into *ret; the pointers in it point into *buffer, which is malloc'ed. -EBADMSG: spoilt; the caller says spool__spoilt(). -ENOMEM: later.
 */
int spool__read(struct spool *s, const struct spool_entry *e, struct spool_batch *ret,
		void **buffer) __attribute__((warn_unused_result, nonnull));

/* The record is delivered, or rejected: the cursor goes on. It may have been dropped meanwhile. */
void spool__done(struct spool *s, int cursor, const struct spool_entry *e) __attribute__((nonnull));
/* It cannot be read: dropped for that cursor. */
void spool__spoilt(struct spool *s, int cursor, const struct spool_entry *e)
	__attribute__((nonnull));

/* What has been appended since the last time reaches the disk. */
void spool__sync(struct spool *s) __attribute__((nonnull));
void spool__counts(const struct spool *s, struct spool_counts *ret) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_SPOOL_H */
