/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp.h - a window as OpenTelemetry's profiles: bodies of ExportProfilesServiceRequest (otlp.proto).
 *
 * A body has one dictionary, and for each process that was sampled a resource with its profiles: CPU (one for each rate
 * there was), time off the CPU, and waits for the GIL. A window that is too much for one body becomes several, each
 * whole by itself.
 *
 * Must hold: every sample of the window is in exactly one body; texts are valid UTF-8 and printable.
 */
#ifndef KRAIT_EMIT_OTLP_H
#define KRAIT_EMIT_OTLP_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/window.h"
#include "util/bytes.h"

/* Of opentelemetry-proto: what otlp.proto is written from. */
#define OTLP_PROTO_VERSION "1.10.0"
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
	__s64 number; /* also of a truth */
	double fraction;
	const char *const *texts;
	unsigned text_cnt;
};

struct otlp_attributes {
	const struct otlp_attribute *list;
	unsigned cnt;
};

struct otlp_options {
	/* What is known of a process; good until the next call. */
	struct otlp_attributes (*resource)(void *ctx, int pid, __u32 image);
	/* The build ID of that file with native code, in hex; NULL, or false: not known. */
	bool (*build_id)(void *ctx, const char *file, char *buf, size_t size);
	void *resource_ctx; /* of both */
	struct otlp_attributes profile; /* of each profile */
	size_t bytes_max; /* of a body, as far as one sample's stack allows */
};

struct otlp_body {
	struct bytes bytes; /* the caller frees it */
	__u8 id[OTLP_ID_SIZE]; /* profile_id of its first profile */
	__u64 samples;
	unsigned profiles;
};

/*
 * The samples of a sorted window from number *at on, as many as fit in; *at is behind them then. 0 or -errno, when *at
 * stays as it is.
 */
int otlp_encode(struct otlp_body *ret, const struct window *w, __u32 *at,
		const struct otlp_options *options) __attribute__((warn_unused_result));

/*
 * The same of a window without samples: one profile of that resource, for what is said of the window. What it counts is
 * the window, windows/count, since Collectors drop requests in which nothing is counted.
 */
int otlp_encode_empty(struct otlp_body *ret, const struct window *w,
		      const struct otlp_attributes *resource, const struct otlp_options *options)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_OTLP_H */
