/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_cursors.h - the file of cursors: two slots for each, written alternately, so that one is
 * always intact.
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_CURSORS_H
#define KRAIT_AGENT_EXPORT_SPOOL_CURSORS_H

#include "agent/export/spool.h"

struct spool_cursors {
	int fd;
	struct spool_cursor list[SPOOL_CURSORS_MAX]; /* key 0: free */
};

/* Loads the file; corrupt slots are free. */
void spool_cursors_load(struct spool_cursors *c, int fd) __attribute__((nonnull));
/* Saves one cursor. Returns 0 or -errno. */
int spool_cursors_save(struct spool_cursors *c, unsigned i) __attribute__((nonnull));
/* By its key, or -1. */
int spool_cursors_find(const struct spool_cursors *c, __u64 key) __attribute__((nonnull));
/* An unused one; -1: there is none. */
int spool_cursors_free(const struct spool_cursors *c) __attribute__((nonnull));
/* The slowest one with none of these keys; -1: there is none. */
int spool_cursors_abandoned(const struct spool_cursors *c, const __u64 *keys, unsigned key_cnt)
	__attribute__((nonnull(1)));
/* The largest position of all. */
__u64 spool_cursors_last(const struct spool_cursors *c) __attribute__((nonnull));

#endif /* KRAIT_AGENT_EXPORT_SPOOL_CURSORS_H */
