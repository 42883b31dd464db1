/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool_scan.h - scans a segment that somebody else has left, in whatever state.
 */
#ifndef KRAIT_AGENT_EXPORT_SPOOL_SCAN_H
#define KRAIT_AGENT_EXPORT_SPOOL_SCAN_H

#include "agent/export/spool_format.h"

struct spool_scan {
	struct spool_segment_header header;
	__u64 size; /* up to the end of the last good record */
	bool torn; /* something follows it */
	__u64 spoilt; /* bad pieces between good records */
	/* Called for each good header, in order; only the last record's body is checked. */
	void (*found)(void *ctx, const struct spool_record_header *h, __u64 offset);
	void *ctx;
};

/*
 * found and ctx are inputs, the rest outputs. Returns 0; -ENOENT: not a segment; -errno: it cannot
 * be read.
 */
int spool_scan_segment(struct spool_scan *scan, int fd)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_AGENT_EXPORT_SPOOL_SCAN_H */
