/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_protocol.h - the messages between krait and the exporter over their channel
 * (base/worker/channel.h).
 */
#ifndef KRAIT_AGENT_EXPORT_EXPORT_PROTOCOL_H
#define KRAIT_AGENT_EXPORT_EXPORT_PROTOCOL_H

#include "agent/export/exporter.h"
#include "agent/export/spool.h"

/* Segments on disk, segments in memory, and the file of cursors. */
#define EXPORT_FILES (2 * SPOOL_SEGMENTS + 1)

enum export_order {
	EXPORT_SETUP, /* with a memfd: setup_pack(); sent again when tokens have changed */
	EXPORT_FILE, /* with descriptors: from number on; without a disk, its files are omitted */
	EXPORT_BATCH, /* with a memfd: the body */
	EXPORT_STOP, /* timeout_ns; answered by an EXPORT_REPORT with last set */
};

struct export_order_message {
	__u32 order;
	__u32 kind;
	__u64 number; /* of the batch or file */
	__u64 timeout_ns;
	__u64 from_unix_ns, to_unix_ns, samples, len;
	__u8 id[EXPORT_ID_SIZE];
	char query[EXPORT_QUERY_MAX + 1]; /* "": none */
};

enum export_word {
	EXPORT_READY, /* err: why not */
	EXPORT_TAKEN, /* number is in the spool */
	EXPORT_REPORT,
	EXPORT_SAID,
};

struct export_word_message {
	__u32 word;
	__s32 err;
	__u64 number;
	__u32 level; /* enum log_level */
	bool last;
	union {
		struct exporter_stats stats; /* as far as the exporter knows */
		char text[512];
	};
};

#endif /* KRAIT_AGENT_EXPORT_EXPORT_PROTOCOL_H */
