/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * setup.h - what the exporter is told about its destinations: the configuration, with the contents
 * of the files that it names, as bytes in a memfd.
 *
 * Must hold: tokens and keys exist only in the memory of krait and the exporter; never in an
 * argument or the environment. A token file that others could have written is refused.
 */
#ifndef KRAIT_AGENT_EXPORT_SETUP_H
#define KRAIT_AGENT_EXPORT_SETUP_H

#include "agent/export/exporter.h"
#include "base/data/bytes.h"

struct error;

struct setup_destination {
	char *url; /* complete */
	char *name; /* without secrets */
	enum export_kind kind;
	enum export_protocol protocol;
	enum export_compression compression;
	__u32 timeout_ms;
	char *headers; /* "Name: value", one per line */
	char *token, *proxy;
	char *ca, *cert, *key; /* PEM */
	__u64 key_of_cursor;
};

struct setup {
	unsigned destination_cnt;
	struct setup_destination destinations[EXPORT_DESTINATIONS_MAX];
	__u64 disk_limit, memory_limit;
};

/* Reads the files named in the configuration. Returns 0, or negative with *err filled. */
int setup_make(struct setup *s, const struct exporter_config *config, struct error *err)
	__attribute__((warn_unused_result, nonnull));
void setup_free(struct setup *s);

/* b->failed says whether memory ran out. */
void setup_pack(const struct setup *s, struct bytes *b) __attribute__((nonnull));
/* Returns 0, -EPROTO or -ENOMEM; then *s is empty. */
int setup_unpack(struct setup *s, const void *data, size_t len)
	__attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_AGENT_EXPORT_SETUP_H */
