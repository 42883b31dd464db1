/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_cursors.h - the file of cursors: two slots for each, written in turn, so that one is always whole.
 */
#ifndef KRAIT_EXPORT_SPOOL_CURSORS_H
#define KRAIT_EXPORT_SPOOL_CURSORS_H

#include "export/spool.h"

struct spool_cursors {
	int fd;
	struct spool_cursor list[SPOOL_CURSORS_MAX]; /* key 0: free */
};

/* What is in the file; slots that are spoilt are free. */
void spool_cursors_load(struct spool_cursors *c, int fd) __attribute__((nonnull));
/* One of them, as it is now. 0 or -errno. */
int spool_cursors_save(struct spool_cursors *c, unsigned i) __attribute__((nonnull));
/* By its key, or -1. */
int spool_cursors_find(const struct spool_cursors *c, __u64 key) __attribute__((nonnull));
/* One that is in no use; -1: there is none. */
int spool_cursors_free(const struct spool_cursors *c) __attribute__((nonnull));
/* The slowest that has none of these keys; -1: there is none. */
int spool_cursors_abandoned(const struct spool_cursors *c, const __u64 *keys, unsigned key_cnt)
	__attribute__((nonnull(1)));
/* None of them is below that. */
__u64 spool_cursors_last(const struct spool_cursors *c) __attribute__((nonnull));

#endif /* KRAIT_EXPORT_SPOOL_CURSORS_H */
