/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp.h - a window in OpenTelemetry's profiles format: bodies of ExportProfilesServiceRequest
 * (otlp.proto).
 *
 * A body has one dictionary and, for each sampled process, a resource with its profiles: CPU (one
 * for each rate), off-CPU time, and waits for the GIL. A window too large for one body becomes
 * several, each complete in itself.
 *
 * Must hold: every sample of the window is in exactly one body; texts are valid UTF-8 and
 * printable.
 */
#ifndef KRAIT_OUTPUT_OTLP_OTLP_H
#define KRAIT_OUTPUT_OTLP_OTLP_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/window.h"
#include "base/data/bytes.h"

#define OTLP_ID_SIZE 16

enum otlp_value {
	OTLP_TEXT,
	OTLP_NUMBER,
	OTLP_FRACTION,
	OTLP_TRUTH,
	OTLP_TEXTS,
};

struct otlp_attribute {
	const char *key;
	enum otlp_value kind;
	const char *text;
	__s64 number; /* also a boolean */
	double fraction;
	const char *const *texts;
	unsigned text_cnt;
};

struct otlp_attributes {
	const struct otlp_attribute *list;
	unsigned cnt;
};

struct otlp_options {
	/* Returns what is known of a process; valid until the next call. */
	struct otlp_attributes (*resource)(void *ctx, int pid, __u32 image);
	/* Stores the hex build ID of a native file. NULL, or returns false: unknown. */
	bool (*build_id)(void *ctx, const char *file, char *buf, size_t size);
	void *resource_ctx; /* for both callbacks */
	struct otlp_attributes profile; /* of every profile */
	size_t bytes_max; /* of a body; a sample with a large stack may exceed it */
};

struct otlp_body {
	struct bytes bytes; /* the caller frees it */
	__u8 id[OTLP_ID_SIZE]; /* profile_id of its first profile */
	__u64 samples;
	unsigned profiles;
};

/*
 * Encodes as many samples of a sorted window as fit, from index *at on, and advances *at. Returns
 * 0, or -errno with *at unchanged.
 */
int otlp_encode(struct otlp_body *ret, const struct window *w, __u32 *at,
		const struct otlp_options *options) __attribute__((warn_unused_result));

/*
 * Encodes a window without samples: one profile of that resource, to carry attributes. It counts
 * the window itself (windows/count), since Collectors drop requests that count nothing.
 */
int otlp_encode_empty(struct otlp_body *ret, const struct window *w,
		      const struct otlp_attributes *resource, const struct otlp_options *options)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_OTLP_OTLP_H */
